"""Tasks are spread evenly, stay where they are as long as their new place has not caught up, and have copies elsewhere."""

from __future__ import annotations

import pytest

from millstream.streams.application.group.classic.shares import share_out
from millstream.streams.application.group.classic.task_placement import (
    Instance,
    Placement,
    PlacementPolicy,
    TaskRacks,
    place,
)
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.config import RackAwareStrategy

SIX = [StreamsTaskId(0, number) for number in range(6)]
LONG = dict.fromkeys(SIX, 1_000_000)
"""Changelogs that take long to restore."""


def running(*tasks: StreamsTaskId, threads: int = 1, **tags: str) -> Instance:
    return Instance(threads, frozenset(tasks), dict.fromkeys(tasks, 0), tags)


def sizes(shares: dict[str, set[StreamsTaskId]]) -> dict[str, int]:
    return {owner: len(mine) for owner, mine in shares.items()}


def placed(instances: dict[str, Instance], **policy: int | tuple[str, ...]) -> Placement:
    return place(SIX, LONG, instances, PlacementPolicy(**policy), {})  # type: ignore[arg-type]  # checked by the class


def test_shares_are_even_by_capacity_and_stay_where_they_are() -> None:
    first = share_out(SIX, {"a": 1, "b": 2}, {})
    assert sizes(first) == {"a": 2, "b": 4}
    assert share_out(SIX, {"a": 1, "b": 2}, first) == first
    less = share_out(SIX, {"a": 1, "b": 1, "c": 1}, {"a": SIX[:4], "b": SIX[4:]})
    assert less["a"] < set(SIX[:4])
    assert less["b"] == set(SIX[4:])
    assert sizes(less) == {"a": 2, "b": 2, "c": 2}


def test_each_sub_topology_is_spread_and_so_is_all_together() -> None:
    tasks = [StreamsTaskId(group, number) for group in range(3) for number in range(3)]
    shares = share_out(tasks, {"a": 1, "b": 1}, {})
    assert sorted(sizes(shares).values()) == [4, 5]
    for mine in shares.values():
        assert all(1 <= sum(task.sub_topology == group for task in mine) <= 2 for group in range(3))


def test_load_that_is_there_counts() -> None:
    assert sizes(share_out(SIX[:1], {"a": 1, "b": 1}, {}, {"a": 3})) == {"a": 0, "b": 1}


def test_what_nobody_has_goes_where_there_is_room() -> None:
    placement = placed({"a": Instance(1), "b": Instance(2)})
    assert {name: len(mine) for name, mine in placement.active.items()} == {"a": 2, "b": 4}
    assert placement.is_final


def test_stores_that_take_long_move_once_a_copy_is_warm() -> None:
    placement = placed({"a": running(*SIX), "b": Instance(1)})
    assert placement.active == {"a": frozenset(SIX), "b": frozenset()}
    assert len(placement.standby["b"]) == 2, "as many as may warm up at a time"
    assert not placement.is_final
    warm = Instance(1, lags=dict.fromkeys(placement.standby["b"], 10000))
    later = placed({"a": running(*SIX), "b": warm})
    assert later.active["b"] == placement.standby["b"]
    assert not later.is_final, "a third task is to move yet"
    cold = Instance(1, lags=dict.fromkeys(placement.standby["b"], 10001))
    assert placed({"a": running(*SIX), "b": cold}).active["b"] == frozenset()


def test_small_stores_and_tasks_without_move_at_once() -> None:
    for offsets in ({}, dict.fromkeys(SIX, 100)):
        placement = place(
            SIX, offsets, {"a": running(*SIX), "b": Instance(1)}, PlacementPolicy(), {}
        )
        assert len(placement.active["b"]) == 3
        assert placement.is_final


def test_who_has_a_copy_goes_on_when_the_owner_is_gone() -> None:
    behind = Instance(1, lags=dict.fromkeys(SIX[:3], 50000))
    ahead = Instance(1, lags=dict.fromkeys(SIX[:3], 5))
    placement = placed({"a": behind, "b": ahead})
    assert placement.active == {"a": set(SIX[3:]), "b": set(SIX[:3])}
    assert placement.is_final, "the others have no stores anywhere"


@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_copies_are_elsewhere_and_spread(replicas: int) -> None:
    instances = {name: Instance(1) for name in "abc"}
    placement = placed(instances, standby_replicas=replicas)
    for task in SIX:
        copies = [name for name in instances if task in placement.standby[name]]
        assert len(copies) == min(replicas, 2)
        assert all(task not in placement.active[name] for name in copies)
    assert {len(mine) for mine in placement.standby.values()} == {2 * min(replicas, 2)}


def test_a_copy_that_is_far_stays_a_copy_instead_of_warming_up_another() -> None:
    has_copies = Instance(1, lags=dict.fromkeys(SIX[:3], 0))
    placement = placed({"a": running(*SIX), "b": has_copies}, standby_replicas=1)
    assert placement.active["b"] == set(SIX[:3])
    assert placement.standby == {"a": set(SIX[:3]), "b": set(SIX[3:])}
    assert placement.is_final


def test_copies_differ_in_the_tags_that_count() -> None:
    instances = {
        "a1": Instance(1, tags={"zone": "a"}),
        "a2": Instance(1, tags={"zone": "a"}),
        "b1": Instance(1, tags={"zone": "b"}),
        "b2": Instance(1, tags={"zone": "b"}),
    }
    placement = placed(instances, standby_replicas=1, rack_aware_tags=("zone",))
    for name, mine in placement.active.items():
        for task in mine:
            (copy,) = (other for other in instances if task in placement.standby[other])
            assert copy[0] != name[0]


IN_A: TaskRacks = {task: [frozenset("a" if task.partition % 2 else "b")] for task in SIX}
"""Tasks of odd partitions read in rack a, the others in rack b."""
HEEDING = PlacementPolicy(rack_aware_strategy=RackAwareStrategy.MIN_TRAFFIC)


def on_racks(*racks: str | None, running: tuple[StreamsTaskId, ...] = ()) -> dict[str, Instance]:
    return {
        f"{number}-{rack}": Instance(1, frozenset(() if number else running), rack=rack)
        for number, rack in enumerate(racks)
    }


def across(placement: Placement, racks: TaskRacks) -> int:
    """The number of partitions that are read across racks."""
    return sum(
        name[-1] not in rack
        for name, mine in placement.active.items()
        for task in mine
        for rack in racks[task]
    )


@pytest.mark.parametrize("offsets", [{}, dict.fromkeys(SIX, 0)])
def test_tasks_go_to_the_racks_of_their_partitions(offsets: dict[StreamsTaskId, int]) -> None:
    placement = place(SIX, offsets, on_racks("a", "b", "b", "a"), HEEDING, IN_A)
    assert across(placement, IN_A) == 0
    assert sorted(len(mine) for mine in placement.active.values()) == [1, 1, 2, 2]
    plain = place(SIX, offsets, on_racks("a", "b", "b", "a"), PlacementPolicy(), IN_A)
    assert across(plain, IN_A) > 0


@pytest.mark.parametrize(
    ("instances", "racks"),
    [
        (on_racks("a", None), IN_A),
        (on_racks("a", "a"), IN_A),
        (on_racks("a", "b"), IN_A | {SIX[0]: [frozenset[str]()]}),
        (on_racks("a", "b"), {}),
    ],
)
def test_racks_that_are_not_known_or_one_alone_change_nothing(
    instances: dict[str, Instance], racks: TaskRacks
) -> None:
    assert place(SIX, {}, instances, HEEDING, racks) == place(
        SIX, {}, instances, PlacementPolicy(), {}
    )


def test_copies_go_to_other_racks_unless_tags_say_otherwise() -> None:
    tagged = {
        name: Instance(1, rack=each.rack, tags={"shelf": "odd" if name[0] in "13" else "even"})
        for name, each in on_racks("a", "b", "b", "a").items()
    }
    for tags in ((), ("shelf",)):
        policy = PlacementPolicy(
            standby_replicas=1,
            rack_aware_tags=tags,
            rack_aware_strategy=RackAwareStrategy.BALANCE_SUBTOPOLOGY,
        )
        placement = place(SIX, dict.fromkeys(SIX, 0), tagged, policy, IN_A)
        for name, mine in placement.active.items():
            for task in mine:
                (copy,) = (other for other in tagged if task in placement.standby[other])
                if tags:
                    assert tagged[copy].tags != tagged[name].tags
                else:
                    assert tagged[copy].rack != tagged[name].rack


def test_each_sub_topology_stays_spread_where_that_is_asked() -> None:
    tasks = [StreamsTaskId(group, number) for group in range(2) for number in range(2)]
    racks = {task: [frozenset("ab"[task.sub_topology])] for task in tasks}
    for strategy, crossing in (("min_traffic", 0), ("balance_subtopology", 2)):
        policy = PlacementPolicy(rack_aware_strategy=RackAwareStrategy(strategy))
        placement = place(tasks, {}, on_racks("a", "b"), policy, racks)
        assert across(placement, racks) == crossing


def test_an_instance_that_comes_back_gets_the_tasks_whose_stores_it_still_has() -> None:
    """And nothing is warmed up: what lies on its disk lacks little."""
    back = Instance(1, lags=dict.fromkeys(SIX[:3], 1_000))
    placement = placed({"a": running(*SIX), "b": back})
    assert placement.active == {"a": frozenset(SIX[3:]), "b": frozenset(SIX[:3])}
    assert placement.is_final


def test_an_instance_that_was_away_for_long_warms_up_what_it_has_the_most_of() -> None:
    back = Instance(1, lags=dict.fromkeys(SIX[:3], 500_000))
    placement = placed({"a": running(*SIX), "b": back}, warm_up_replicas_max=6)
    assert placement.active["a"] == frozenset(SIX)
    assert placement.standby["b"] == frozenset(SIX[:3])


def test_where_all_come_back_a_task_goes_to_whoever_lacks_the_least() -> None:
    far, near = dict.fromkeys(SIX, 900_000), dict.fromkeys(SIX[3:], 400_000)
    placement = placed({"a": Instance(1, lags=far), "b": Instance(1, lags={**far, **near})})
    assert placement.active == {"a": frozenset(SIX[:3]), "b": frozenset(SIX[3:])}


def test_stores_that_lack_everything_are_none() -> None:
    """Their changelog was made anew, or they are empty."""
    empty = Instance(1, lags=dict.fromkeys(SIX[:3], 1_000_000))
    placement = placed({"a": running(*SIX), "b": empty}, warm_up_replicas_max=6)
    assert placement.standby["b"] == frozenset(SIX[3:]), "as if it told of nothing"
