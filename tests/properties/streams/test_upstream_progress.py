"""What looks tell of upstream tasks is true of all that was there to read, and nobody is waited for who has nothing to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.model import TopicPartition
from millstream.streams.kernel.task.upstreams import AT_ITS_END, NOT_BEGUN
from millstream.streams.runtime.upstreams.progress import (
    Look,
    TaskFlow,
    TaskKey,
    TaskProgress,
    UpstreamProgress,
)
from millstream.streams.topology.alignment import Alignment

PARTITIONS = range(2)


def flow(
    writers: Mapping[str, int],
    read: Mapping[int, tuple[str, ...]],
    circular: Mapping[str, int] | None = None,
) -> TaskFlow:
    """`read`: by sub-topology, its topics; those that nobody writes are external."""
    aligned = {
        number: frozenset(topic for topic in topics if topic in writers)
        for number, topics in read.items()
    }
    tasks = {number: dict.fromkeys(PARTITIONS, topics) for number, topics in read.items()}
    return TaskFlow(
        Alignment(
            writers,
            {number: topics for number, topics in aligned.items() if topics},
            circular or {},
        ),
        tasks,
    )


FLOWS = {
    "one level": flow({"r": 0}, {0: ("x",), 1: ("r",)}),
    "three levels": flow({"r": 0, "s": 1, "t": 2}, {0: ("x",), 1: ("r",), 2: ("s",), 3: ("t",)}),
    "numbers against the order": flow(
        {"r": 3, "s": 2, "t": 1}, {0: ("t",), 1: ("s",), 2: ("r",), 3: ("x",)}
    ),
    "levels merge": flow({"r": 0, "s": 1, "q": 0}, {0: ("x",), 1: ("r",), 2: ("s", "q")}),
    "two sources are joined": flow(
        {"r": 0, "s": 1, "t": 2}, {0: ("x",), 1: ("y",), 2: ("r", "s"), 3: ("t",)}
    ),
    "external beside aligned": flow({"r": 0, "s": 1}, {0: ("x",), 1: ("r", "y"), 2: ("s", "z")}),
}
CIRCLE = flow(
    {"r": 0, "s": 2},
    {0: ("x", "answers"), 1: ("y", "questions"), 2: ("r",), 3: ("s",)},
    {"questions": 0, "answers": 1},
)
"""As of a join on a foreign key: one side asks the other, whose answers come back."""
ACTIONS = [
    "arrive",
    "process",
    "process and commit",
    "commit",
    "read",
    "look",
    "begin to look",
    "settle",
    "crash",
]
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1_000)), max_size=60)


@dataclass(frozen=True)
class Record:
    origin_time: int
    writer: TaskKey | None
    arrived: int
    """When that came which it was made of."""


@dataclass
class Told:
    """What a look has told, and when it went over from tasks to ends."""

    reached: Mapping[TaskKey, int]
    ends: Mapping[TopicPartition, int]
    at: int


@dataclass
class World:
    """Tasks that read, process, write and commit by chance."""

    flow: TaskFlow
    is_here: bool
    """All tasks are in one process, so that a look sees all of them at once, and what they have done without a commit."""
    is_exact: bool = False
    """What a task makes is written when it commits."""
    here: frozenset[int] = frozenset()
    """Partitions whose tasks are in this process where not all are."""
    read_to: dict[tuple[TaskKey, str], int] = field(default_factory=dict)
    logs: dict[TopicPartition, list[Record]] = field(default_factory=dict)
    done: dict[TaskKey, TaskProgress] = field(default_factory=dict)
    committed: dict[TaskKey, TaskProgress] = field(default_factory=dict)
    unwritten: dict[TaskKey, list[tuple[TopicPartition, Record]]] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    now: int = 0
    looking: tuple[dict[TaskKey, TaskProgress], list[TaskKey]] | None = None
    ends: dict[TopicPartition, int] | None = None
    switched_at: int = 0

    def __post_init__(self) -> None:
        self.progress = UpstreamProgress(self.flow)
        self.tasks = [
            (number, partition) for number, mine in self.flow.tasks.items() for partition in mine
        ]
        self.inputs = {
            task: [TopicPartition(topic, task[1]) for topic in self.flow.tasks[task[0]][task[1]]]
            for task in self.tasks
        }
        self.logs = {tp: [] for mine in self.inputs.values() for tp in mine}
        self.done = dict.fromkeys(self.tasks, TaskProgress())
        self.committed = dict(self.done)
        internal = {**self.flow.alignment.writers, **self.flow.alignment.circular}
        self.external = [tp for tp in self.logs if tp.topic not in internal]

    def step(self, action: str, number: int) -> None:
        self.now += 1
        task = self.tasks[number % len(self.tasks)]
        match action:
            case "arrive":
                self.arrive(self.external[number % len(self.external)], number // 7 % 20)
            case "process":
                self.process(task, number // len(self.tasks))
            case "process and commit":
                self.process(task, number // len(self.tasks))
                self.commit(task)
            case "commit":
                self.commit(task)
            case "read":
                self.read(task)
            case "settle":
                self.settle()
            case "look":
                self.look_wholly()
            case "begin to look":
                self.look(number)
            case _ if not (
                self.is_here or task[1] in self.here
            ):  # or what others have been told would come again
                self.done[task] = self.committed[task]
                self.unwritten.pop(task, None)

    def arrive(self, tp: TopicPartition, time: int) -> None:
        log = self.logs[tp]
        newest = log[-1].origin_time if log else 0
        log.append(Record(max(newest, time), None, self.now))

    def read(self, task: TaskKey) -> None:
        for tp in self.inputs[task]:
            self.read_to[task, tp.topic] = self.end(tp)
        self.queue(task)

    def queue(self, task: TaskKey) -> None:
        """Says from which time on a task has read records of source topics, and not done them."""
        queued = {}
        for tp in self.inputs[task]:
            done = self.done[task].position.get(tp.topic, 0)
            if tp in self.external and done < self.read_to.get((task, tp.topic), 0):
                queued[tp.topic] = self.logs[tp][done].origin_time
        self.done[task] = replace(self.done[task], queued=queued)

    def settle(self) -> None:
        """All tasks process and commit all there is."""
        while sum(self.process(task, 0) for task in self.tasks) or self.unwritten:
            for task in self.tasks:
                self.commit(task)
        self.committed = {task: replace(each, queued={}) for task, each in self.done.items()}

    def commit(self, task: TaskKey) -> None:
        for tp, record in self.unwritten.pop(task, ()):
            self.write(tp, record)
        self.done[task] = replace(self.done[task], unwritten=AT_ITS_END)
        self.committed[task] = replace(self.done[task], queued={})

    def process(self, task: TaskKey, choice: int) -> bool:
        """A task takes a record of one of its inputs, and writes it to one or none of the partitions of each topic."""
        progress = self.done[task]
        position = progress.position
        unread = [tp for tp in self.inputs[task] if position.get(tp.topic, 0) < self.end(tp)]
        if not unread:
            return False
        tp = unread[choice % len(unread)]
        record = self.logs[tp][position.get(tp.topic, 0)]
        before = progress.origin_time
        self.done[task] = progress = replace(
            progress,
            position={**position, tp.topic: position.get(tp.topic, 0) + 1},
            origin_time=max(before, record.origin_time),
        )
        self.queue(task)
        alignment, target = self.flow.alignment, choice // 3 % (len(PARTITIONS) + 1)
        made = Record(progress.origin_time, task, record.arrived)
        for topic in alignment.of(task[0]).written if target in PARTITIONS else ():
            self.make(TopicPartition(topic, target), made, progress.origin_time)
        for topic, writer in alignment.circular.items():
            if writer == task[0] and tp.topic != "answers":  # to these nothing is asked again
                to = TopicPartition(topic, choice // 9 % len(PARTITIONS))
                self.make(to, made, before)
        return True

    def make(self, tp: TopicPartition, record: Record, not_before: int) -> None:
        """Writes a record, or has the commit write it."""
        if not self.is_exact:
            self.write(tp, record)
            return
        task = record.writer
        assert task is not None
        self.unwritten.setdefault(task, []).append((tp, record))
        first = min(self.done[task].unwritten, not_before)
        self.done[task] = replace(self.done[task], unwritten=first)

    def write(self, tp: TopicPartition, record: Record) -> None:
        assert record.writer is not None
        if tp.topic in self.flow.alignment.circular:
            self.logs[tp].append(record)
            return
        offset = self.end(tp)
        for told in self.told:
            if told.ends[tp] <= offset and record.arrived <= told.at:
                assert record.origin_time >= told.reached[record.writer]
        self.logs[tp].append(record)

    def end(self, tp: TopicPartition) -> int:
        return len(self.logs[tp])

    def look(self, number: int = 0) -> None:
        """Goes on with a look: other things happen between its steps, unless all is here."""
        if self.is_here:
            ends = {tp: self.end(tp) for tp in self.logs}
            self.switched_at = self.now
            self.tell(Look(dict(self.done), ends, is_at_once=True))
            return
        tasks, left = self.looking or ({}, self.tasks[:])
        for _ in range(number % 3 + 1):
            if left:
                task = left.pop(number % len(left))
                tasks[task] = self.seen(task)
                self.switched_at = self.now
        self.looking = tasks, left
        if left:
            return
        if self.ends is None:
            self.ends = {}
            return
        for tp in self.logs:
            if tp not in self.ends:
                self.ends[tp] = self.end(tp)
                if number % 2:
                    return
        look = Look(tasks, self.ends)
        self.looking = self.ends = None
        self.tell(look)

    def seen(self, task: TaskKey) -> TaskProgress:
        return self.done[task] if self.is_here or task[1] in self.here else self.committed[task]

    def tell(self, look: Look) -> None:
        self.progress.take(look)
        self.told.append(Told(self.progress.reached, look.ends, self.switched_at))

    def look_wholly(self) -> None:
        before = len(self.told)
        while len(self.told) == before:
            self.look()

    def expected(self) -> dict[TaskKey, int]:
        """How far all tasks have come where nothing moves."""
        seen = {task: self.seen(task) for task in self.tasks}
        reached: dict[TaskKey, int] = {}

        def of(task: TaskKey) -> int:
            if task not in reached:
                ahead = [behind(tp, seen[task]) for tp in self.inputs[task]]
                to_come = max(seen[task].origin_time, min(ahead))
                reached[task] = min(seen[task].unwritten, to_come)
            return reached[task]

        def behind(tp: TopicPartition, progress: TaskProgress) -> int:
            if progress.position.get(tp.topic, 0) < self.end(tp):
                return progress.queued.get(tp.topic, NOT_BEGUN)
            writer = self.flow.alignment.writers.get(tp.topic)
            if writer is None:
                return AT_ITS_END
            return min(of((writer, partition)) for partition in PARTITIONS)

        return {task: of(task) for task in self.tasks}


def world_of(flow: TaskFlow, here: str, is_exact: bool) -> World:
    return World(flow, here == "all", is_exact, frozenset({0} if here == "some" else ()))


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("here", ["all", "none", "some"])
@pytest.mark.parametrize("shape", [*FLOWS, "circle"])
@given(steps=STEPS)
def test_nothing_that_was_there_at_a_look_comes_with_a_smaller_time_than_it_told(
    shape: str, here: str, is_exact: bool, steps: list[tuple[str, int]]
) -> None:
    world = world_of(FLOWS.get(shape, CIRCLE), here, is_exact)
    for action, number in steps:
        world.step(action, number)
    for number in range(40):  # all that is left
        for task in world.tasks:
            world.step("process and commit", world.tasks.index(task) + number * len(world.tasks))


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("here", ["all", "none"])
@pytest.mark.parametrize("shape", FLOWS)
@given(steps=STEPS)
def test_where_nothing_moves_as_many_looks_as_levels_tell_all_there_is(
    shape: str, here: str, is_exact: bool, steps: list[tuple[str, int]]
) -> None:
    world = world_of(FLOWS[shape], here, is_exact)
    for action, number in steps:
        world.step(action, number)
    world.looking = world.ends = None
    for _ in range(4):
        world.look_wholly()
    assert world.progress.reached == world.expected()


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("here", ["all", "none"])
@pytest.mark.parametrize("shape", [*FLOWS, "circle"])
@given(steps=STEPS)
def test_all_are_at_their_ends_once_all_is_done(
    shape: str, here: str, is_exact: bool, steps: list[tuple[str, int]]
) -> None:
    world = world_of(FLOWS.get(shape, CIRCLE), here, is_exact)
    for action, number in steps:
        world.step(action, number)
    world.settle()
    world.looking = world.ends = None
    world.look_wholly()
    assert set(world.progress.reached.values()) == {AT_ITS_END}
