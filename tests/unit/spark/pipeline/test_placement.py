"""Where tasks are sent: they stay where they are, and even out when executors come and go."""

from __future__ import annotations

from collections import Counter

from millstream.spark.pipeline.placement import Slot, placed, standbys_of

TASKS = [(0, n) for n in range(4)]


def slots(**cores: int) -> list[Slot]:
    return [Slot(name, number) for name, count in cores.items() for number in range(count)]


A, B, C = slots(a=1, b=1, c=1)


def test_new_tasks_are_spread_over_the_executors() -> None:
    assert placed(TASKS, {}, [A, B]) == {(0, 0): A, (0, 1): B, (0, 2): A, (0, 3): B}


def test_executors_are_filled_before_their_cores() -> None:
    found = placed([(0, 0), (0, 1)], {}, slots(a=2, b=2))
    assert sorted(slot.executor or "" for slot in found.values()) == ["a", "b"]


def test_executors_get_tasks_by_their_cores() -> None:
    found = placed(TASKS, {}, slots(a=1, b=3))
    assert Counter(slot.executor for slot in found.values()) == {"a": 1, "b": 3}


def test_a_task_stays_where_it_is() -> None:
    places = {(0, 0): B, (0, 1): A, (0, 2): A, (0, 3): B}
    assert placed(TASKS, places, [A, B]) == places


def test_the_tasks_of_a_lost_executor_go_to_those_that_have_the_fewest() -> None:
    gone = Slot("gone", 0)
    places = {(0, 0): gone, (0, 1): A, (0, 2): gone, (0, 3): B, (1, 0): A}
    assert placed(TASKS, places, [A, B, C]) == {(0, 0): C, (0, 1): A, (0, 2): B, (0, 3): B}


def test_an_executor_that_is_added_takes_its_share_and_no_more() -> None:
    found = placed(TASKS, dict.fromkeys(TASKS, A), [A, B])
    assert Counter(found.values()) == {A: 2, B: 2}
    assert placed(TASKS, found, [A, B]) == found, "then they stay"


def test_an_executor_that_is_added_takes_from_those_that_have_two_sub_topologies() -> None:
    places = {(0, 0): A, (0, 1): B, (1, 0): A, (1, 1): B}
    moved = placed([(0, 0), (0, 1)], places, [A, B, C])
    assert Counter((places | moved).values()) == {A: 1, B: 2, C: 1}


def test_each_sub_topology_is_spread_not_only_the_whole() -> None:
    places = {(0, 0): A, (0, 1): A, (1, 0): B, (1, 1): B}
    places |= placed([(0, 0), (0, 1)], places, [A, B])
    places |= placed([(1, 0), (1, 1)], places, [A, B])
    assert places == {(0, 0): B, (0, 1): A, (1, 0): A, (1, 1): B}


def test_tasks_that_are_not_asked_for_count_where_they_are() -> None:
    assert placed([(1, 0)], {(0, 0): A, (0, 1): A}, [A, B]) == {(1, 0): B}


def test_a_task_whose_executor_is_gone_goes_to_its_standby() -> None:
    places, kept = {(0, 0): A, (0, 1): B, (0, 2): C}, {(0, 1): (C,)}
    assert placed([(0, 0), (0, 1), (0, 2)], places, [A, C], kept)[0, 1] == C
    assert placed([(0, 1)], {(0, 1): B, (0, 2): C}, [A, C])[0, 1] == A


def test_a_task_without_a_standby_that_is_ready_goes_where_there_is_room() -> None:
    assert placed([(0, 1)], {(0, 1): B, (0, 2): C}, [A, C], {(0, 1): ()}) == {(0, 1): A}
    assert placed([(0, 1)], {(0, 1): B, (0, 2): C}, [A, C], {(0, 1): (B,)}) == {(0, 1): A}


def test_a_task_stays_away_from_its_standby_while_its_executor_is_there() -> None:
    assert placed([(0, 0)], {(0, 0): A}, [A, B], {(0, 0): (B,)}) == {(0, 0): A}


def test_tasks_are_evened_out_to_where_their_stores_are_ready() -> None:
    crowded = dict.fromkeys(TASKS, A)
    assert set(placed(TASKS, crowded, [A, B], dict.fromkeys(TASKS, ())).values()) == {A}
    found = placed(TASKS, crowded, [A, B], {task: (B,) if task == (0, 2) else () for task in TASKS})
    assert found == crowded | {(0, 2): B}


def test_a_standby_is_on_another_executor_than_its_task_and_its_like() -> None:
    two_cores = slots(a=2, b=2, c=2)
    places = dict(zip(TASKS, two_cores, strict=False))
    for task, mine in standbys_of(set(TASKS), places, two_cores, {}, 2).items():
        assert len({slot.executor for slot in (*mine, places[task])}) == 3


def test_standbys_are_spread_and_stay_where_they_are() -> None:
    places = dict.fromkeys(TASKS, A)
    first = standbys_of(set(TASKS), places, [A, B, C], {}, 1)
    assert Counter(slot for mine in first.values() for slot in mine) == {B: 2, C: 2}
    turned = {task: (C,) if mine == (B,) else (B,) for task, mine in first.items()}
    assert standbys_of(set(TASKS), places, [A, B, C], turned, 1) == turned


def test_there_is_no_standby_without_another_executor() -> None:
    one = Slot(None, 0)
    assert standbys_of({(0, 0)}, {(0, 0): one}, [one, Slot(None, 1)], {}, 1) == {(0, 0): ()}
    assert standbys_of({(0, 0)}, {}, [A, B], {}, 1) == {}
