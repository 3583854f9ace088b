"""The leader's work: from the subscriptions of all members to what each is told. Pure.

Owns the cooperative rule: a task that another member still runs is given to nobody until that one has let go of its
partitions, and the member that is to have it has the group share out again at once (KIP-429, KIP-441).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from millstream.clients.group.assignors.assignment import MemberSubscription
from millstream.model import TopicPartition
from millstream.streams.application.group.classic.shares import share_out
from millstream.streams.application.group.classic.task_placement import (
    Instance,
    Placement,
    PlacementPolicy,
    TaskRacks,
    place,
)
from millstream.streams.application.group.classic.user_data import (
    NO_REBALANCE,
    UNKNOWN_OFFSETS,
    VERSION_MAX,
    AssignmentError,
    AssignmentInfo,
    SubscriptionInfo,
)
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.host_info import HostInfo

AT_ONCE: Final = 0
Awaited = Mapping[str, frozenset[StreamsTaskId]]
"""Tasks by the member that is to have them."""
_NOTHING_AWAITED: Final[Awaited] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GroupMemberInfo:
    """A member of the group: its subscription, and what its user data says."""

    subscription: MemberSubscription
    info: SubscriptionInfo

    @classmethod
    def decode(cls, subscription: MemberSubscription) -> GroupMemberInfo:
        """Raises TaskAssignmentError and MalformedMessage for user data that is not Kafka Streams'."""
        return cls(subscription, SubscriptionInfo.decode(subscription.user_data or b""))


@dataclass(frozen=True, slots=True)
class Work:
    """The tasks that there are. `partitions`: by task, what it reads.

    `changelog_offsets`: by task with stores, how many offsets these have.

    `racks`: by task, for each partition that it reads or writes a changelog to, the racks that have a replica.
    """

    partitions: Mapping[StreamsTaskId, frozenset[TopicPartition]]
    changelog_offsets: Mapping[StreamsTaskId, int] = field(default_factory=dict)
    racks: TaskRacks = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgreedVersions:
    """The versions of the user data that a leader answers in (KIP-268).

    `used`: the lowest that a member has spoken. `common`: the latest that all know, which members speak the next time.
    """

    used: int = VERSION_MAX
    common: int = VERSION_MAX

    @classmethod
    def of(cls, members: Iterable[GroupMemberInfo]) -> AgreedVersions:
        infos = [each.info for each in members]
        return cls(
            min([VERSION_MAX, *(each.version for each in infos)]),
            min([VERSION_MAX, *(each.version_max for each in infos)]),
        )


@dataclass(frozen=True, slots=True)
class MemberAssignment:
    """An assignment to one member: its partitions in order, and the user data."""

    partitions: list[TopicPartition]
    info: AssignmentInfo
    awaited: frozenset[StreamsTaskId] = frozenset()
    """What it is to have besides, once others have let go of it."""


def assign(
    work: Work,
    members: Mapping[str, GroupMemberInfo],
    policy: PlacementPolicy,
    probe_at_ms: int,
    awaited: Awaited = _NOTHING_AWAITED,
) -> dict[str, MemberAssignment]:
    """Returns what each member is told.

    `probe_at_ms`: when to share out anew where tasks are to move once copies are warm.

    `awaited`: what members were to have besides when tasks were shared out last. A task that its owner has let go of
    since is nobody's, and still counts as that of the member that it is on its way to: if it did not, it would make
    another spread as good as the one that it was let go for, and the group might go to and fro for ever.

    A member of a later version than can be read gets nothing, and joins again at once with the
    version that it is answered in.
    """
    versions = AgreedVersions.of(members.values())
    if any(each.info.error == AssignmentError.SHUTDOWN_REQUESTED for each in members.values()):
        return refused(members, AssignmentError.SHUTDOWN_REQUESTED, versions)
    readable = {member: each for member, each in members.items() if each.info.is_readable}
    held_by = _held(readable, awaited)
    placement = place(
        work.partitions,
        work.changelog_offsets,
        _instances(work, readable, held_by),
        policy,
        work.racks,
    )
    active, standby = _shares_of_members(placement, members, readable, held_by)
    hosts = _hosts(work, readable, active), _hosts(work, readable, standby)
    prober = None if placement.is_final else min(readable)
    held = {
        tp: member for member, each in sorted(members.items()) for tp in each.subscription.owned
    }
    told = {}
    for member in members:
        free = {
            task
            for task in active[member]
            if all(held.get(tp, member) == member for tp in work.partitions[task])
        }
        when_ms = probe_at_ms if member == prober else NO_REBALANCE
        listed = sorted((tp, task) for task in free for tp in work.partitions[task])
        told[member] = MemberAssignment(
            [tp for tp, _ in listed],
            AssignmentInfo(
                tuple(task for _, task in listed),
                {task: work.partitions[task] for task in standby[member]},
                *hosts,
                next_rebalance_ms=when_ms if free == active[member] else AT_ONCE,
                version=versions.used,
                common_version=versions.common,
            ),
            frozenset(active[member] - free),
        )
    return told


def refused(
    members: Iterable[str], error: AssignmentError, versions: AgreedVersions
) -> dict[str, MemberAssignment]:
    """Returns what members are told that get no tasks."""
    told = AssignmentInfo(error=error, version=versions.used, common_version=versions.common)
    return {member: MemberAssignment([], told) for member in members}


def _held(
    members: Mapping[str, GroupMemberInfo], awaited: Awaited
) -> dict[str, frozenset[StreamsTaskId]]:
    """Returns the tasks that each member runs, and those on their way to it."""
    running = {task for each in members.values() for task in each.info.running}
    return {
        member: frozenset(each.info.running) | (awaited.get(member, frozenset()) - running)
        for member, each in members.items()
    }


def _shares_of_members(
    placement: Placement,
    members: Mapping[str, GroupMemberInfo],
    readable: Mapping[str, GroupMemberInfo],
    held: Mapping[str, frozenset[StreamsTaskId]],
) -> tuple[dict[str, set[StreamsTaskId]], dict[str, set[StreamsTaskId]]]:
    """Returns the active and the standby tasks of each member: the tasks of an instance are shared
    out to its threads.
    """
    active: dict[str, set[StreamsTaskId]] = {member: set() for member in members}
    standby: dict[str, set[StreamsTaskId]] = {member: set() for member in members}
    for process, ids in _by_process(readable).items():
        each_one = dict.fromkeys(ids, 1)
        before = {member: held[member] for member in ids}
        mine = share_out(placement.active[process], each_one, before)
        active |= mine
        loads = {member: len(tasks) for member, tasks in mine.items()}
        copies = {member: members[member].info.offset_sums for member in ids}
        standby |= share_out(placement.standby[process], each_one, copies, loads)
    return active, standby


def _by_process(members: Mapping[str, GroupMemberInfo]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for member, each in sorted(members.items()):
        found.setdefault(str(each.info.process_id), []).append(member)
    return found


def _instances(
    work: Work,
    members: Mapping[str, GroupMemberInfo],
    held: Mapping[str, frozenset[StreamsTaskId]],
) -> dict[str, Instance]:
    found = {}
    for process, ids in _by_process(members).items():
        infos = [members[member].info for member in ids]
        sums = _furthest(infos)
        running = frozenset(task for info in infos for task in info.running)
        lags = {task: _lag(work, task, offsets) for task, offsets in sums.items()}
        lags |= dict.fromkeys(running, 0)
        tags = {tag: text for info in infos for tag, text in info.client_tags.items()}
        racks = {members[member].subscription.rack for member in ids}
        rack = racks.pop() if len(racks) == 1 else None
        holds = frozenset(task for member in ids for task in held[member])
        found[process] = Instance(len(ids), running, lags, tags, rack, holds - running)
    return found


def _furthest(infos: Iterable[SubscriptionInfo]) -> dict[StreamsTaskId, int]:
    """Returns how far the stores of a process are: each of its members may tell of those that lie on its disk."""
    found: dict[StreamsTaskId, int] = {}
    for info in infos:
        for task, offsets in info.offset_sums.items():
            found[task] = max(offsets, found.get(task, offsets))
    return found


def _lag(work: Work, task: StreamsTaskId, offsets: int) -> int:
    """Returns how much of the changelogs a copy lacks; all of it where the changelog is shorter, as
    it was made anew.
    """
    end = work.changelog_offsets.get(task, 0)
    return end if offsets == UNKNOWN_OFFSETS or offsets > end else end - offsets


def _hosts(
    work: Work,
    members: Mapping[str, GroupMemberInfo],
    tasks: Mapping[str, Iterable[StreamsTaskId]],
) -> dict[HostInfo, frozenset[TopicPartition]]:
    found: dict[HostInfo, set[TopicPartition]] = {}
    for member, each in members.items():
        if each.info.endpoint is not None:
            mine = found.setdefault(HostInfo.parsed(each.info.endpoint), set())
            mine.update(tp for task in tasks[member] for tp in work.partitions[task])
    return {host: frozenset(partitions) for host, partitions in found.items()}
