"""What the leader of a classic group tells its members: no task has two owners, and the group comes to rest evenly spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from hypothesis import example, given, settings
from hypothesis import strategies as st

from millstream.clients.group.assignors.assignment import MemberSubscription
from millstream.model import TopicPartition
from millstream.streams.application.group.classic.group_assignment import (
    AT_ONCE,
    GroupMemberInfo,
    MemberAssignment,
    Work,
    assign,
)
from millstream.streams.application.group.classic.task_placement import PlacementPolicy
from millstream.streams.application.group.classic.user_data import (
    NO_REBALANCE,
    RUNNING,
    AssignmentError,
    SubscriptionInfo,
)
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.host_info import HostInfo

PROBE_AT_MS = 5_000
JOINED = {StreamsTaskId(0, number) for number in range(4)}
COUNTED = {StreamsTaskId(1, number) for number in range(4)}


def work(offsets: int) -> Work:
    """Tasks that join two topics, and tasks that keep a store whose changelogs have so many offsets."""
    partitions = {
        task: frozenset(TopicPartition(topic, task.partition) for topic in ("left", "right"))
        for task in JOINED
    }
    partitions |= {task: frozenset({TopicPartition("words", task.partition)}) for task in COUNTED}
    return Work(partitions, dict.fromkeys(COUNTED, offsets))


@dataclass
class _Member:
    process: int
    active: set[StreamsTaskId] = field(default_factory=set)
    copies: dict[StreamsTaskId, int] = field(default_factory=dict)
    endpoint: str | None = None
    next_rebalance_ms: int = NO_REBALANCE

    def told(self, there_is: Work) -> GroupMemberInfo:
        owned = frozenset(tp for task in self.active for tp in there_is.partitions[task])
        sums = {**self.copies, **dict.fromkeys(self.active, RUNNING)}
        info = SubscriptionInfo(UUID(int=self.process), sums, self.endpoint)
        return GroupMemberInfo(MemberSubscription(frozenset(), owned), info)

    def take(self, assigned: MemberAssignment) -> bool:
        """Returns whether the group has to share out again at once."""
        wanted = set(assigned.info.active)
        gives_up = bool(self.active - wanted)
        self.active = wanted
        self.copies = dict.fromkeys(assigned.info.standby, 0)
        self.next_rebalance_ms = assigned.info.next_rebalance_ms
        return gives_up or self.next_rebalance_ms == AT_ONCE


def rebalance(members: Mapping[str, _Member], there_is: Work, policy: PlacementPolicy) -> int:
    """Shares out until the group rests, as one leader does. Returns how often it did."""
    told: dict[str, MemberAssignment] = {}
    for rounds in range(1, 20):
        told = assign(
            there_is,
            {name: each.told(there_is) for name, each in members.items()},
            policy,
            PROBE_AT_MS,
            {name: each.awaited for name, each in told.items()},
        )
        held = [tp for each in told.values() for tp in each.partitions]
        assert len(held) == len(set(held)), "a partition has two owners"
        for name, assigned in told.items():
            mine = set(assigned.info.active)
            others = [each.active for other, each in members.items() if other != name]
            assert not any(mine & theirs for theirs in others), "given before it was given up"
        again = [members[name].take(assigned) for name, assigned in told.items()]
        if not any(again):
            return rounds
    raise AssertionError("the group never rests")


def all_active(members: Mapping[str, _Member]) -> list[StreamsTaskId]:
    return sorted(task for each in members.values() for task in each.active)


@settings(max_examples=100)
@example([[1, 2], [3, 2, 1, 1, 1]], 1_000_000, 0)
@example([[1], [4, 4, 2], [4, 4], [1, 4, 1, 2, 3, 2]], 1_000_000, 2)
@example([[2, 4], [2, 4, 1, 4, 4]], 1_000_000, 0)
@given(
    st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=6), min_size=1, max_size=5),
    st.sampled_from([0, 100, 1_000_000]),
    st.integers(0, 2),
)
def test_groups_that_members_join_and_leave_come_to_rest(
    history: list[list[int]], offsets: int, standbys: int
) -> None:
    there_is, policy = work(offsets), PlacementPolicy(standby_replicas=standbys)
    members: dict[str, _Member] = {}
    for processes in history:
        members = {
            f"{process}-{number}": members.get(f"{process}-{number}", _Member(process))
            for number, process in enumerate(processes)
        }
        rebalance(members, there_is, policy)
        assert all_active(members) == sorted(JOINED | COUNTED), "a task has no owner"
        for _ in range(5):  # copies get warm
            if all(each.next_rebalance_ms == NO_REBALANCE for each in members.values()):
                break
            for each in members.values():
                each.copies = {
                    task: there_is.changelog_offsets.get(task, 0) for task in each.copies
                }
            rebalance(members, there_is, policy)
        sizes = [len(each.active) for each in members.values()]
        assert max(sizes) - min(sizes) <= 2
        before = {name: set(each.active) for name, each in members.items()}
        if all(each.next_rebalance_ms == NO_REBALANCE for each in members.values()):
            assert rebalance(members, there_is, policy) == 1
            assert before == {name: each.active for name, each in members.items()}, "it moved"


def test_partitions_go_with_tasks_in_order() -> None:
    members = {"m": _Member(1)}
    told = assign(work(0), {"m": members["m"].told(work(0))}, PlacementPolicy(), PROBE_AT_MS)["m"]
    assert told.partitions == sorted(told.partitions)
    assert len(told.partitions) == len(told.info.active) == 12
    pairs = set(zip(told.info.active, told.partitions, strict=True))
    assert (StreamsTaskId(0, 2), TopicPartition("right", 2)) in pairs
    assert (StreamsTaskId(1, 3), TopicPartition("words", 3)) in pairs


def test_what_is_on_its_way_to_a_member_goes_on_to_it() -> None:
    """Nobody runs it once its owner has let go, which would else be as good a reason to give it to anybody."""
    there_is, moved = work(0), StreamsTaskId(1, 3)
    first = _Member(1, active=(JOINED | COUNTED) - {moved})
    members = {
        "a": first.told(there_is),
        "b": _Member(2).told(there_is),
        "c": _Member(3).told(there_is),
    }
    for name in "bc":
        told = assign(there_is, members, PlacementPolicy(), PROBE_AT_MS, {name: frozenset({moved})})
        assert moved in told[name].info.active


def test_what_another_still_runs_is_given_to_nobody_yet() -> None:
    first, second = _Member(1, active=set(JOINED | COUNTED)), _Member(2)
    there_is = work(0)
    told = assign(
        there_is,
        {"a": first.told(there_is), "b": second.told(there_is)},
        PlacementPolicy(),
        PROBE_AT_MS,
    )
    assert len(set(told["a"].info.active)) == 4
    assert told["b"].partitions == []
    assert told["b"].info.next_rebalance_ms == AT_ONCE
    assert told["a"].info.next_rebalance_ms == NO_REBALANCE


def test_one_member_asks_again_while_copies_warm_up() -> None:
    there_is = work(1_000_000)
    members = {"a": _Member(1, active=set(JOINED | COUNTED)), "b": _Member(2)}
    rebalance(members, there_is, PlacementPolicy())
    assert members["a"].next_rebalance_ms == PROBE_AT_MS
    assert members["b"].next_rebalance_ms == NO_REBALANCE
    assert len(members["b"].copies) == 2


def test_all_are_told_of_hosts_and_of_a_shutdown() -> None:
    there_is = work(0)
    one = _Member(1, endpoint="one:7001").told(there_is)
    two = _Member(2).told(there_is)
    told = assign(there_is, {"a": one, "b": two}, PlacementPolicy(), PROBE_AT_MS)
    mine = frozenset(told["a"].partitions)
    assert told["b"].info.hosts == {HostInfo("one", 7001): mine}
    ends = replace(two, info=replace(two.info, error=AssignmentError.SHUTDOWN_REQUESTED))
    told = assign(there_is, {"a": one, "b": ends}, PlacementPolicy(), PROBE_AT_MS)
    assert {each.info.error for each in told.values()} == {AssignmentError.SHUTDOWN_REQUESTED}
    assert not any(each.partitions for each in told.values())


def versions(members: Mapping[str, GroupMemberInfo]) -> dict[str, tuple[int, int]]:
    told = assign(work(0), members, PlacementPolicy(), PROBE_AT_MS)
    return {name: (each.info.version, each.info.common_version) for name, each in told.items()}


def speaking(process: int, version: int, version_max: int) -> GroupMemberInfo:
    told = _Member(process).told(work(0))
    return replace(told, info=replace(told.info, version=version, version_max=version_max))


def test_all_are_answered_in_the_version_of_the_member_with_the_earliest() -> None:
    """KIP-268: they speak the latest that all know the next time."""
    now, soon, old = speaking(1, 11, 11), speaking(2, 9, 11), speaking(3, 8, 8)
    assert versions({"now": now}) == {"now": (11, 11)}
    assert versions({"now": now, "soon": soon}) == dict.fromkeys(("now", "soon"), (9, 11))
    assert set(versions({"now": now, "soon": soon, "old": old}).values()) == {(8, 8)}


def test_a_member_of_a_later_version_gets_nothing_and_keeps_what_it_has_until_it_joins_again() -> (
    None
):
    there_is = work(0)
    held = replace(
        _Member(1, {StreamsTaskId(0, 0)}).told(there_is),
        info=SubscriptionInfo(UUID(int=0), version=12, version_max=12),
    )
    told = assign(
        there_is, {"later": held, "now": speaking(2, 11, 11)}, PlacementPolicy(), PROBE_AT_MS
    )
    assert told["later"].info.active == ()
    assert (told["later"].info.version, told["later"].info.common_version) == (11, 11)
    assert set(told["now"].info.active) == (JOINED | COUNTED) - {StreamsTaskId(0, 0)}
    assert told["now"].info.next_rebalance_ms == AT_ONCE


def test_a_shutdown_is_told_in_the_version_that_all_understand() -> None:
    ends = speaking(1, 9, 9)
    ends = replace(ends, info=replace(ends.info, error=AssignmentError.SHUTDOWN_REQUESTED))
    assert set(versions({"ends": ends, "now": speaking(2, 11, 11)}).values()) == {(9, 9)}


def test_of_the_stores_on_a_disk_the_furthest_that_a_member_tells_of_count() -> None:
    """Each thread of an instance tells of what lies there and nobody has; one of them may keep a copy that goes on meanwhile."""
    task = StreamsTaskId(1, 3)
    members = {
        "a": _Member(1, copies={task: 100}).told(work(100)),
        "b": _Member(1, copies={task: 20}).told(work(100)),
        "c": _Member(2).told(work(100)),
    }
    told = assign(work(100), members, PlacementPolicy(acceptable_lag=0), PROBE_AT_MS)
    assert task in {*told["a"].info.active, *told["b"].info.active}
