"""One member of a consumer group: what it asked for, and how far it has come towards its target.

Values, replaced as a whole when a record says so. A member may speak the classic protocol; then it has `classic`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.model import Uuid

JOINING_EPOCH: Final = 0
LEAVING_EPOCH: Final = -1
STATIC_LEAVING_EPOCH: Final = -2
"""A static member that has gone and will be back within its session."""

PartitionEpochs = Mapping[Uuid, Mapping[int, int]]
"""By topic id and partition: the epoch in which the partition was assigned. Topics without partitions are absent."""


class ConsumerGroupMemberState(IntEnum):
    """As record 8 has it."""

    STABLE = 0
    """Has reached its epoch."""
    UNREVOKED_PARTITIONS = 1
    """Has been told to give partitions up, and has not said that it did."""
    UNRELEASED_PARTITIONS = 2
    """Waits for partitions that others still own."""
    UNKNOWN = 127
    """Written by a newer release."""


@dataclass(frozen=True, slots=True)
class ClassicMemberMetadata:
    """The session time-out and protocols of a member that joined with JoinGroup."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Name and metadata, its favourite first."""

    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.protocols)


@dataclass(frozen=True, slots=True)
class ConsumerGroupMember:
    """`member_epoch` is the one it has been told; 0 before it has been told any."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topic_names: frozenset[str] = frozenset()
    topic_regex: str = ""
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    member_epoch: int = JOINING_EPOCH
    previous_member_epoch: int = JOINING_EPOCH
    state: ConsumerGroupMemberState = ConsumerGroupMemberState.STABLE
    assigned: PartitionEpochs = field(default_factory=dict)
    pending_revocation: PartitionEpochs = field(default_factory=dict)

    @property
    def is_classic(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is ConsumerGroupMemberState.STABLE and self.member_epoch == epoch

    def owned(self) -> Partitions:
        """Returns the partitions it is assigned, and those it has still to give up."""
        return {
            topic_id: frozenset(self.assigned.get(topic_id, {}))
            | frozenset(self.pending_revocation.get(topic_id, {}))
            for topic_id in {**self.assigned, **self.pending_revocation}
        }

    def owned_epoch(self, topic_id: Uuid, partition: int) -> int | None:
        """Returns the epoch in which it was given a partition that it owns, or has still to give up."""
        for owned in (self.assigned, self.pending_revocation):
            epoch = owned.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


def partitions_of(owned: PartitionEpochs) -> Partitions:
    return {topic_id: frozenset(partitions) for topic_id, partitions in owned.items()}


def with_epoch(partitions: Partitions, epoch: int) -> PartitionEpochs:
    return {topic_id: dict.fromkeys(sorted(ps), epoch) for topic_id, ps in partitions.items()}


def has_all(partitions: Partitions, owned: Iterable[tuple[Uuid, Iterable[int]]]) -> bool:
    """Whether nothing in `owned` lies outside `partitions`."""
    return all(partitions.get(topic_id, frozenset()).issuperset(ps) for topic_id, ps in owned)
