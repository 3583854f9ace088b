"""What every assignment of the sticky task assignor has in common."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from millstream.coordinator.assignors.partition_assignor import Tasks
from millstream.coordinator.assignors.sticky_task_assignor import (
    SubtopologyTasks,
    TaskMember,
    assign_tasks,
)

SUBTOPOLOGIES = st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=4).map(
    lambda given: [
        SubtopologyTasks(str(index), count, stateful)
        for index, (count, stateful) in enumerate(given)
    ]
)
PROCESSES = st.lists(st.sampled_from("pqrs"), min_size=1, max_size=6)
STANDBYS = st.integers(0, 2)


def group(processes: list[str], previous: dict[str, Tasks] | None = None) -> dict[str, TaskMember]:
    known = previous or {}
    return {
        f"m{index}": TaskMember(process, known.get(f"m{index}", Tasks()))
        for index, process in enumerate(processes)
    }


def check(
    members: dict[str, TaskMember],
    assignment: dict[str, Tasks],
    subtopologies: list[SubtopologyTasks],
    standbys: int,
) -> None:
    assert assignment.keys() == members.keys()
    active = Counter(task for part in assignment.values() for task in part.active)
    every_task = [task for sub in subtopologies for task in sub.task_ids()]
    assert active == Counter(every_task), "every task is active exactly once"
    copies = Counter(
        (members[name].process_id, task) for name, part in assignment.items() for task in part.all
    )
    assert all(count == 1 for count in copies.values()), "a process holds a task once"
    standby = Counter(task for part in assignment.values() for task in part.standby)
    processes = len({member.process_id for member in members.values()})
    stateful = {task for sub in subtopologies if sub.is_stateful for task in sub.task_ids()}
    expected = min(standbys, processes - 1)
    assert standby == Counter({task: expected for task in stateful if expected})


@given(SUBTOPOLOGIES, PROCESSES, STANDBYS)
def test_every_task_is_active_once_and_its_copies_are_in_other_processes(
    subtopologies: list[SubtopologyTasks], processes: list[str], standbys: int
) -> None:
    members = group(processes)
    check(members, assign_tasks(members, subtopologies, standbys), subtopologies, standbys)


@given(SUBTOPOLOGIES, PROCESSES, PROCESSES, STANDBYS)
def test_the_same_holds_after_members_have_come_and_gone(
    subtopologies: list[SubtopologyTasks],
    before: list[str],
    after: list[str],
    standbys: int,
) -> None:
    previous = assign_tasks(group(before), subtopologies, standbys)
    members = group(after, previous)
    check(members, assign_tasks(members, subtopologies, standbys), subtopologies, standbys)


@given(SUBTOPOLOGIES, PROCESSES)
def test_active_tasks_are_even_over_members_when_processes_are_equal(
    subtopologies: list[SubtopologyTasks], processes: list[str]
) -> None:
    members = {name: TaskMember(name, Tasks()) for name in group(processes)}
    sizes = [len(part.active) for part in assign_tasks(members, subtopologies, 0).values()]
    assert max(sizes) - min(sizes) <= 1


@given(SUBTOPOLOGIES, PROCESSES, STANDBYS)
def test_nothing_moves_when_nothing_has_changed(
    subtopologies: list[SubtopologyTasks], processes: list[str], standbys: int
) -> None:
    first = assign_tasks(group(processes), subtopologies, 0)
    again = assign_tasks(group(processes, first), subtopologies, 0)
    assert {n: p.active for n, p in first.items()} == {n: p.active for n, p in again.items()}


@given(SUBTOPOLOGIES, st.integers(1, 5))
def test_a_member_that_joins_takes_tasks_and_nobody_else_does(
    subtopologies: list[SubtopologyTasks], size: int
) -> None:
    before = assign_tasks(group([str(n) for n in range(size)]), subtopologies, 0)
    members = group([str(n) for n in range(size + 1)], before)
    after = assign_tasks(members, subtopologies, 0)
    for name, part in before.items():
        assert after[name].active <= part.active
