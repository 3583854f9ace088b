"""Builds the record of a changed partition: the one place that decides what a partition becomes.

Owns the order in which Kafka decides (its PartitionChangeBuilder): a reassignment that can be completed is,
then the eligible leader replicas follow from the in-sync ones (KIP-966), then a leader is elected, then its
epoch goes up where a replica leaves. What differs is written, nothing else. Knows neither topics nor
configuration: who asks gives the rules of the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple, final

from millstream.metadata.directory_ids import MIGRATING_DIRECTORY
from millstream.metadata.image import NO_LEADER, RECOVERING, PartitionImage
from millstream.metadata.topics_delta import NO_LEADER_CHANGE
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.metadata_records import PartitionChangeRecord

_NO_RECOVERY_CHANGE: Final = -1


class Election(Enum):
    """The kind of leader that is wanted."""

    ONLINE = auto()
    """The present one while it can lead, else any that is in sync."""
    PREFERRED = auto()
    """The first replica where it is in sync, else as ONLINE."""
    UNCLEAN = auto()
    """As ONLINE, and any replica at all rather than none."""


@dataclass(frozen=True, slots=True)
class PartitionRules:
    """The facts about a partition's brokers and configuration at the time of the change."""

    can_lead: Callable[[BrokerId], bool]
    """Whether a broker is active and has its directory of the partition online."""
    min_isr: int
    """Not more than there are replicas."""
    keeps_eligible_replicas: bool
    """Whether eligible.leader.replicas.version is 1: the ISR may become empty then."""
    default_directory: Callable[[BrokerId], Uuid]
    """The directory of a replica that is new to the partition."""
    keeps_directories: bool = True
    """Whether the level of the cluster has directories of replicas: without them a record cannot carry any."""
    shrinks_isr_within_epoch: bool = True
    """Whether a leader goes on in its epoch when a replica leaves the ISR; before 3.6-IV0
    every one that leaves raises it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTarget:
    """The state that is wanted.

    A field that is None stays as it is, before a reassignment is completed and a leader is elected.
    """

    isr: tuple[BrokerId, ...] | None = None
    replicas: tuple[BrokerId, ...] | None = None
    removing: tuple[BrokerId, ...] | None = None
    adding: tuple[BrokerId, ...] | None = None
    leader_recovery_state: int | None = None
    directories: Mapping[BrokerId, Uuid] = field(default_factory=dict)
    """Replicas that have moved, with their directories."""
    unclean_replicas: Collection[BrokerId] = ()
    """Replicas that may have lost acknowledged records: never eligible."""
    election: Election = Election.ONLINE


def changed_partition(
    topic_id: Uuid, before: PartitionImage, target: PartitionTarget, rules: PartitionRules
) -> PartitionChangeRecord | None:
    """Returns the record that makes the partition what it is to become; None where nothing differs."""
    change = _Change(before, target, rules)
    change.complete_reassignment()
    change.find_eligible_replicas()
    record = PartitionChangeRecord(partition_id=before.partition, topic_id=topic_id)
    change.elect(record)
    change.write_leader_epoch(record)
    change.write_replicas_in_sync(record)
    change.write_leader_epoch_of_shrunk_isr(record)
    change.write_last_known_leader(record)
    change.write_assignment(record)
    recovery = target.leader_recovery_state
    if recovery is not None and recovery != before.leader_recovery_state:
        record.leader_recovery_state = recovery
    return None if _is_empty(record) else record


class _Elected(NamedTuple):
    leader: BrokerId
    is_unclean: bool = False


_NOBODY: Final = _Elected(NO_LEADER)


@final
class _Change:
    """One change while it is decided, step by step."""

    def __init__(
        self, before: PartitionImage, target: PartitionTarget, rules: PartitionRules
    ) -> None:
        self._before = before
        self._target = target
        self._rules = rules
        self._isr = before.isr if target.isr is None else target.isr
        self._replicas = before.replicas if target.replicas is None else target.replicas
        self._removing = before.removing_replicas if target.removing is None else target.removing
        self._adding = before.adding_replicas if target.adding is None else target.adding
        self._eligible = before.eligible_leader_replicas

    def complete_reassignment(self) -> None:
        """Completes a reassignment once all replicas that it adds are in sync; all that stay, where
        it leaves fewer than there were.
        """
        adding, removing = self._adding, self._removing
        if not adding and not removing:
            return
        replicas = tuple(r for r in self._replicas if r not in removing)
        isr = tuple(r for r in self._isr if r not in removing)
        if removing and not (isr and replicas):
            return
        needed = {*adding, *replicas} if len(adding) < len(removing) else {*adding}
        if not needed <= set(isr):
            return
        self._replicas, self._isr = replicas, isr
        self._adding = self._removing = ()

    def find_eligible_replicas(self) -> None:
        """Below min.insync.replicas, whoever leaves the ISR has all that is committed and stays
        eligible, unless it lost data.

        Kafka keeps those eligible that a reassignment removes. One that is added again later would lead
        without what was written since.
        """
        if not self._rules.keeps_eligible_replicas:
            return  # those of a time when they were kept may still be elected, and are forgotten then
        if len(self._isr) >= self._rules.min_isr:
            self._eligible = ()
            return
        candidates = {*self._before.isr, *self._before.eligible_leader_replicas}
        without = {*self._isr, *self._target.unclean_replicas}
        self._eligible = tuple(sorted((candidates - without) & {*self._replicas}))

    def elect(self, record: PartitionChangeRecord) -> None:
        elected = self._elected()
        if elected.leader == self._before.leader:
            return
        record.leader = elected.leader
        if elected.leader in self._eligible:
            self._isr = (elected.leader,)
            self._eligible = tuple(r for r in self._eligible if r != elected.leader)
        if elected.is_unclean:
            record.isr = [elected.leader]
            self._eligible = ()
            if self._before.leader_recovery_state != RECOVERING:
                record.leader_recovery_state = RECOVERING

    def _elected(self) -> _Elected:
        present, wanted = self._before.leader, self._target.election
        if wanted is Election.PREFERRED and self._replicas and self._is_valid(self._replicas[0]):
            return _Elected(self._replicas[0])
        if self._is_valid(present):
            return _Elected(present)
        found = next(filter(self._is_valid, self._replicas), None)
        if found is not None:
            return _Elected(found)
        last = self._last_known_leader()
        if last is not None:
            return _Elected(last, is_unclean=True)
        if wanted is Election.UNCLEAN:
            any_replica = next(filter(self._rules.can_lead, self._replicas), None)
            if any_replica is not None:
                return _Elected(any_replica, is_unclean=True)
        return _NOBODY

    def _is_valid(self, replica: BrokerId) -> bool:
        """Whether a replica has all committed records and can lead: the eligible ones count where nobody is in sync."""
        has_all = replica in (self._isr or self._eligible)
        return has_all and self._rules.can_lead(replica)

    def _last_known_leader(self) -> BrokerId | None:
        """The last leader has the most there is, where nobody is known to have all."""
        known = self._before.last_known_eligible_leader_replicas
        if not self._rules.keeps_eligible_replicas or self._isr or self._eligible:
            return None
        return known[0] if len(known) == 1 and self._rules.can_lead(known[0]) else None

    def write_leader_epoch(self, record: PartitionChangeRecord) -> None:
        """Raises the leader epoch where a replica leaves: it must not be taken for one any more."""
        leaves = not set(self._before.replicas) <= set(self._replicas)
        if leaves and record.leader == NO_LEADER_CHANGE:
            record.leader = self._before.leader

    def write_replicas_in_sync(self, record: PartitionChangeRecord) -> None:
        before, may_be_empty = self._before, self._rules.keeps_eligible_replicas
        eligible = self._eligible if may_be_empty else ()
        if eligible != before.eligible_leader_replicas:
            record.eligible_leader_replicas = list(eligible)
        if record.isr is None and self._isr != before.isr and (self._isr or may_be_empty):
            record.isr = list(self._isr)

    def write_leader_epoch_of_shrunk_isr(self, record: PartitionChangeRecord) -> None:
        """Raises the leader epoch where a replica leaves the ISR, in clusters whose brokers may count on it."""
        if self._rules.shrinks_isr_within_epoch or record.isr is None:
            return
        if record.leader == NO_LEADER_CHANGE and not set(self._before.isr) <= set(record.isr):
            record.leader = self._before.leader

    def write_last_known_leader(self, record: PartitionChangeRecord) -> None:
        """The leader is remembered when the partition first loses it, and forgotten once there is one again."""
        if not self._rules.keeps_eligible_replicas:
            return
        known = self._before.last_known_eligible_leader_replicas
        if record.leader == NO_LEADER and not known:
            record.last_known_elr = [self._before.leader]
        elif record.leader >= 0 and known:
            record.last_known_elr = []

    def write_assignment(self, record: PartitionChangeRecord) -> None:
        before = self._before
        if self._rules.keeps_directories:
            self._write_directories(record)
        if self._replicas != before.replicas:
            record.replicas = list(self._replicas)
        if self._removing != before.removing_replicas:
            record.removing_replicas = list(self._removing)
        if self._adding != before.adding_replicas:
            record.adding_replicas = list(self._adding)

    def _write_directories(self, record: PartitionChangeRecord) -> None:
        before = self._before
        old = before.directories or (MIGRATING_DIRECTORY,) * len(before.replicas)
        known = {**dict(zip(before.replicas, old, strict=True)), **self._target.directories}
        directories = tuple(
            known[r] if r in known else self._rules.default_directory(r) for r in self._replicas
        )
        if directories != old:
            record.directories = list(directories)


def _is_empty(record: PartitionChangeRecord) -> bool:
    return (
        record.leader == NO_LEADER_CHANGE
        and not any(
            changed is not None
            for changed in (
                record.isr,
                record.replicas,
                record.removing_replicas,
                record.adding_replicas,
                record.directories,
                record.eligible_leader_replicas,
                record.last_known_elr,
            )
        )
        and record.leader_recovery_state == _NO_RECOVERY_CHANGE
    )
