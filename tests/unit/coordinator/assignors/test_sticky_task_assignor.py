"""The sticky task assignor (KIP-1071)."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.coordinator.assignors.partition_assignor import TaskId, Tasks
from millstream.coordinator.assignors.sticky_task_assignor import (
    SubtopologyTasks,
    TaskMember,
    assign_tasks,
)


def tasks(*names: str) -> frozenset[TaskId]:
    """`0_1` is partition 1 of sub-topology 0."""
    split = (name.split("_") for name in names)
    return frozenset(TaskId(subtopology, int(partition)) for subtopology, partition in split)


def member(process: str, active: str = "", standby: str = "") -> TaskMember:
    return TaskMember(process, Tasks(tasks(*active.split()), tasks(*standby.split())))


def stateless(count: int, name: str = "0") -> SubtopologyTasks:
    return SubtopologyTasks(name, count, is_stateful=False)


def stateful(count: int, name: str = "0") -> SubtopologyTasks:
    return SubtopologyTasks(name, count, is_stateful=True)


def counts(assignment: Mapping[str, Tasks]) -> dict[str, tuple[int, int]]:
    return {name: (len(part.active), len(part.standby)) for name, part in assignment.items()}


def test_one_member_gets_everything() -> None:
    assignment = assign_tasks({"a": member("p")}, [stateless(2), stateless(1, "1")], 0)
    assert assignment == {"a": Tasks(tasks("0_0", "0_1", "1_0"))}


def test_nobody_gets_anything_when_there_is_nobody() -> None:
    assert assign_tasks({}, [stateless(2)], 1) == {}


def test_tasks_are_even_over_members_of_equal_processes() -> None:
    members = {"a": member("p"), "b": member("q"), "c": member("r")}
    assert counts(assign_tasks(members, [stateless(7)], 0)) == {
        "a": (3, 0),
        "b": (2, 0),
        "c": (2, 0),
    }


def test_a_process_with_more_threads_gets_more_tasks() -> None:
    members = {"a1": member("p"), "a2": member("p"), "b": member("q")}
    assert counts(assign_tasks(members, [stateless(6)], 0)) == {
        "a1": (2, 0),
        "a2": (2, 0),
        "b": (2, 0),
    }


def test_tasks_stay_where_they_were() -> None:
    members = {"a": member("p", active="0_1 0_3"), "b": member("q", active="0_0 0_2")}
    assignment = assign_tasks(members, [stateless(4)], 0)
    assert assignment == {"a": Tasks(tasks("0_1", "0_3")), "b": Tasks(tasks("0_0", "0_2"))}


def test_a_new_member_takes_no_more_than_its_share() -> None:
    members = {"a": member("p", active="0_0 0_1 0_2 0_3"), "b": member("q")}
    assignment = assign_tasks(members, [stateless(4)], 0)
    assert assignment == {"a": Tasks(tasks("0_0", "0_1")), "b": Tasks(tasks("0_2", "0_3"))}


def test_a_member_with_one_task_too_many_keeps_it_when_the_number_is_odd() -> None:
    members = {"a": member("p", active="0_0 0_1"), "b": member("q", active="0_2")}
    assignment = assign_tasks(members, [stateless(3)], 0)
    assert assignment["a"] == Tasks(tasks("0_0", "0_1"))


def test_whoever_kept_a_standby_becomes_active_when_the_active_member_is_gone() -> None:
    members = {"a": member("p", active="0_0"), "b": member("q", standby="0_1")}
    assignment = assign_tasks(members, [stateful(2)], 0)
    assert assignment == {"a": Tasks(tasks("0_0")), "b": Tasks(tasks("0_1"))}


def test_standbys_are_kept_by_another_process() -> None:
    members = {"a": member("p"), "b": member("q")}
    assignment = assign_tasks(members, [stateful(2)], 1)
    assert assignment["a"].standby == assignment["b"].active
    assert assignment["b"].standby == assignment["a"].active


def test_threads_of_one_process_keep_no_standbys_for_each_other() -> None:
    members = {"a1": member("p"), "a2": member("p")}
    assert counts(assign_tasks(members, [stateful(4)], 1)) == {"a1": (2, 0), "a2": (2, 0)}


def test_stateless_tasks_have_no_standbys() -> None:
    members = {"a": member("p"), "b": member("q")}
    assignment = assign_tasks(members, [stateless(2, "0"), stateful(2, "1")], 1)
    assert assignment["a"].standby | assignment["b"].standby == tasks("1_0", "1_1")


def test_fewer_standbys_than_wanted_when_there_are_too_few_processes() -> None:
    members = {"a": member("p"), "b": member("q")}
    assignment = assign_tasks(members, [stateful(1)], 2)
    assert sorted(counts(assignment).values()) == [(0, 1), (1, 0)]


def test_standbys_stay_where_they_were() -> None:
    members = {
        "a": member("p", active="0_0", standby="0_1"),
        "b": member("q", active="0_1", standby="0_2"),
        "c": member("r", active="0_2", standby="0_0"),
    }
    assignment = assign_tasks(members, [stateful(3)], 1)
    assert {name: part.standby for name, part in assignment.items()} == {
        "a": tasks("0_1"),
        "b": tasks("0_2"),
        "c": tasks("0_0"),
    }


def test_a_member_that_loses_an_active_task_keeps_its_state_as_a_standby() -> None:
    members = {"a": member("p", active="0_0 0_1"), "b": member("q")}
    assignment = assign_tasks(members, [stateful(2)], 1)
    assert assignment == {
        "a": Tasks(tasks("0_0"), tasks("0_1")),
        "b": Tasks(tasks("0_1"), tasks("0_0")),
    }
