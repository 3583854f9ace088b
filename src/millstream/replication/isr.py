"""The in-sync replicas of a partition as its leader has them: what the controller has said, and what it is asked for.

Pure.

    committed --ask--> committed + pending --answer or image--> committed

Until the controller has answered, nobody knows which of both it has: the *maximal* ISR is both together.
Records are committed once all of it has them. So a replica that is to join is waited for at once, one that is
to leave until it has left (KIP-497).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from millstream.errors import (
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    NewLeaderElected,
    OperationNotAttempted,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import RECOVERED, PartitionImage
from millstream.model import NO_LEADER_EPOCH, BrokerId, LeaderEpoch, Uuid
from millstream.protocol.generated.alter_partition import AlterPartitionResponsePartitionData
from millstream.replication.replica_progress import ANY_BROKER_EPOCH, FollowerProgress

NO_PARTITION_EPOCH: Final = -1

_NOT_DONE: Final = frozenset((IneligibleReplica.code, OperationNotAttempted.code))
"""The controller has said that it knows this partition as we do, and has not done it; nor
can one before or after it have."""
_UNKNOWN: Final = frozenset(
    error.code
    for error in (
        FencedLeaderEpoch,
        InvalidRequest,
        InvalidUpdateVersion,
        NewLeaderElected,
        UnknownTopicId,
        UnknownTopicOrPartition,
    )
)
"""The partition is not as this broker knows it. Whether it was done, by another request or
none, is for the metadata to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """The state that a leader wants for its partition, and the epochs of the one that it has seen."""

    topic_id: Uuid
    partition: int
    leader_epoch: LeaderEpoch
    partition_epoch: int
    isr: tuple[tuple[BrokerId, int], ...]
    """Replicas with the broker epochs that they fetched with."""
    leader_recovery_state: int

    @property
    def key(self) -> tuple[Uuid, int]:
        return self.topic_id, self.partition


class AlterationOutcome(Enum):
    """The meaning of an answer for the partition that asked for an alteration."""

    ALTERED = "its state is the answer's"
    NOT_DONE = "its state is the committed one"
    UNKNOWN = "it waits for the metadata"
    AGAIN = "it asks again"
    STALE = "nothing: it has learnt of another state since"


@final
class InSyncReplicas:
    """Owns which replicas are in sync, and that at most one alteration is on its way."""

    def __init__(self) -> None:
        self.committed: tuple[BrokerId, ...] = ()
        self.maximal: tuple[BrokerId, ...] = ()
        """The committed ones and those that were asked for."""
        self.leader_epoch: LeaderEpoch = NO_LEADER_EPOCH
        self.partition_epoch = NO_PARTITION_EPOCH
        self.recovery_state = RECOVERED
        self.pending: Alteration | None = None

    def adopt(self, image: PartitionImage) -> bool:
        """Takes over what the metadata say. False for an older state than an answer of the controller has told already.

        An image of the same state as such an answer ends no alteration that was asked for since, unless that names
        replicas that are none any more, which the image tells and the answer did not. (Kafka's does: its leader forgets
        a follower that it waits for.)
        """
        if image.partition_epoch < self.partition_epoch:
            return False
        is_same = (
            image.partition_epoch == self.partition_epoch
            and image.leader_epoch == self.leader_epoch
            and image.isr == self.committed
        )
        if not (is_same and self._asks_only_for(image.replicas)):
            self.pending = None
        self.leader_epoch = image.leader_epoch
        self._commit(image.isr, image.partition_epoch, image.leader_recovery_state)
        return True

    def ask(self, alteration: Alteration) -> None:
        """Takes note that the controller is asked for `alteration`."""
        assert self.pending is None, "one alteration of a partition at a time"
        self.pending = alteration
        self._set_maximal()

    def take(
        self, asked: Alteration, answer: AlterPartitionResponsePartitionData
    ) -> AlterationOutcome:
        """Takes the controller's answer to `asked`."""
        if self.pending != asked:
            return AlterationOutcome.STALE
        code = answer.error_code
        if code in _UNKNOWN:
            return AlterationOutcome.UNKNOWN
        if code in _NOT_DONE:
            self.give_up()
            return AlterationOutcome.NOT_DONE
        if code:
            return AlterationOutcome.AGAIN
        if (
            answer.leader_epoch != self.leader_epoch
            or answer.partition_epoch < self.partition_epoch
        ):
            return AlterationOutcome.UNKNOWN
        self.pending = None
        isr = tuple(BrokerId(each) for each in answer.isr)
        self._commit(isr, answer.partition_epoch, answer.leader_recovery_state)
        return AlterationOutcome.ALTERED

    def give_up(self) -> None:
        """Forgets what was asked for: the controller has not got it, or has not done it."""
        self.pending = None
        self._set_maximal()

    def _asks_only_for(self, replicas: tuple[BrokerId, ...]) -> bool:
        return self.pending is not None and all(each in replicas for each, _ in self.pending.isr)

    def _commit(self, isr: tuple[BrokerId, ...], partition_epoch: int, recovery_state: int) -> None:
        self.committed, self.partition_epoch = isr, partition_epoch
        self.recovery_state = recovery_state
        self._set_maximal()

    def _set_maximal(self) -> None:
        pending = self.pending
        if pending is None:
            self.maximal = self.committed
        else:
            asked = (each for each, _ in pending.isr if each not in self.committed)
            self.maximal = (*self.committed, *asked)


def is_eligible(follower: FollowerProgress, broker: BrokerRegistration | None) -> bool:
    """Whether a follower may be in sync: it runs, and is the incarnation that the metadata have (KIP-841, KIP-903)."""
    if broker is None or not broker.is_active:
        return False
    return follower.broker_epoch in (ANY_BROKER_EPOCH, broker.broker_epoch)


def may_join(
    follower: FollowerProgress,
    broker: BrokerRegistration | None,
    high_watermark: int,
    epoch_start_offset: int,
) -> bool:
    """Whether a follower outside of the ISR may join it.

    It has all that is committed; and all with which the leader began, some of which may be committed although the
    leader does not know it yet.
    """
    needed = max(high_watermark, epoch_start_offset)
    return follower.end_offset >= needed and is_eligible(follower, broker)
