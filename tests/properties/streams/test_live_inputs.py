"""Live, a task that reads a repartition topic and another one takes no record by a look that was begun before it was read, and each
record by the next but one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.kernel import RawBatch, StreamTask, TaskTopics
from millstream.streams.kernel.columns.origins import OriginBatch
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.upstreams import watch as watch_module
from millstream.streams.runtime.upstreams.followed_tasks import FollowedTasks
from millstream.streams.runtime.upstreams.progress import Look, TaskFlow, TaskKey, TaskProgress
from millstream.streams.runtime.upstreams.watch import UpstreamWatch
from millstream.streams.serdes import long, string
from millstream.streams.state import in_memory_stores
from millstream.streams.topology.topology import Topology

UPSTREAMS = range(2)
R0 = TopicPartition("app-r-repartition", 0)
CONFIG = StreamsConfig("app", string(), long())
ACTIONS = [
    "arrive",
    "work",
    "commit",
    "read aligned",
    "arrive beside",
    "read beside",
    "one beside",
    "process",
    "go on looking",
    "look",
    "live",
]
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 3)), min_size=40, max_size=60)


@dataclass
class Record:
    time: int
    upstream: int
    arrived: int
    """In its source topic."""
    number: int
    read: int = 0
    """When the task has read it."""


def topology(beside: str) -> Topology:
    builder = StreamsBuilder()
    aligned = builder.stream("x").repartition(name="r")
    aligned.merge(builder.stream(beside)).to("out")
    return builder.build()


@dataclass
class World:
    """A task here, which reads what upstream tasks elsewhere write, and the topic `beside`."""

    beside: str
    now: int = 0
    sources: list[list[Record]] = field(default_factory=lambda: [[] for _ in UPSTREAMS])
    done: list[int] = field(default_factory=lambda: [0 for _ in UPSTREAMS])
    committed: list[int] = field(default_factory=lambda: [0 for _ in UPSTREAMS])
    taken: list[int] = field(default_factory=list)
    records: dict[int, Record] = field(default_factory=dict)
    steps_of_look: list[asyncio.Future[None]] = field(default_factory=list)
    looks: int = 0

    def __post_init__(self) -> None:
        made = topology(self.beside)
        spec = TaskSpec(topology=made, sub_topology=1, config=CONFIG, state_directory="")
        aligned = spec.alignment.of(1)
        assert aligned.read == {R0.topic}
        self.logs: dict[str, list[Record]] = {R0.topic: [], self.beside: []}
        self.read_to = dict.fromkeys(self.logs, 0)
        topics = TaskTopics(aligned=aligned)
        self.task = StreamTask(made, 1, 0, in_memory_stores(), CONFIG, topics=topics)
        self.watch, self.scope = UpstreamWatch(), TaskScope("looks")
        self.watch.join("1", dict, self.look, self.scope)
        tasks: dict[int, dict[int, tuple[str, ...]]] = {
            0: dict.fromkeys(UPSTREAMS, ("x",)),
            1: {0: (R0.topic, self.beside)},
        }
        self.watch.follow(TaskFlow(spec.alignment, tasks))
        self.others = FollowedTasks("1_0", 0, spec, aligned.read, self.watch)

    # The task, as those see it that follow for it.

    @property
    def position(self) -> Mapping[str, int]:
        return self.read_to

    def has_read(self, topic: str) -> int:
        return self.read_to[topic]

    def newest_origin_time(self, topic: str) -> int:
        return self.task.inputs.group.queues[topic].newest_origin_time

    # What happens.

    async def step(self, action: str, number: int) -> None:
        self.now += 1
        match action.split():
            case ["arrive", *beside]:
                self.arrive(number, is_beside=bool(beside))
            case ["one", "beside"]:  # which is read at once
                self.arrive(number, is_beside=True)
                self.read(self.beside, 0)
                self.process()
            case ["work"]:
                self.work(number % len(UPSTREAMS))
            case ["commit"]:
                upstream = number % len(UPSTREAMS)
                self.committed[upstream] = self.done[upstream]
            case ["read", which]:
                self.read(R0.topic if which == "aligned" else self.beside, number)
            case ["process"]:
                self.process()
            case ["go", *_]:
                self.go_on_looking()
            case ["look"]:  # the one that is under way, wholly
                for _ in range(len(UPSTREAMS) + 2):
                    await self.step("go on looking", 0)
            case _:  # upstream tasks have nothing left to do, as they mostly have
                self.settle()
                await self.step("process", 0)
                await self.step("look", 0)
        for _ in range(6):
            await asyncio.sleep(0)

    def arrive(self, number: int, *, is_beside: bool) -> None:
        """The clock of those who write beside may be ahead of that of the others."""
        upstream = 0 if is_beside else number % len(UPSTREAMS)
        log = self.logs[self.beside] if is_beside else self.sources[upstream]
        time = max(self.now + is_beside * number, log[-1].time if log else 0)
        log.append(Record(time, upstream, self.now, len(self.records)))
        self.records[len(self.records)] = log[-1]

    def work(self, upstream: int) -> None:
        if self.done[upstream] < len(self.sources[upstream]):
            self.logs[R0.topic].append(self.sources[upstream][self.done[upstream]])
            self.done[upstream] += 1

    def read(self, topic: str, number: int) -> None:
        first = self.read_to[topic]
        rows = self.logs[topic][first:][: number or None]
        if rows:
            for each in rows:
                each.read = self.now
            self.task.add(topic, batch_of(rows, first, is_aligned=topic == R0.topic))
            self.read_to[topic] += len(rows)
            self.others.note_read(self)

    def process(self) -> None:
        reached, for_others = self.others.reached(self, 0)
        self.task.inputs.upstreams_of(R0.topic).expect(reached[R0.topic], for_others.get(R0.topic))
        lags = {topic: len(log) - self.read_to[topic] for topic, log in self.logs.items()}
        output = self.task.process(0, 1_000, lags=lags).sinks.get("out")
        self.taken += [int.from_bytes(value or b"") for value in output.values] if output else []

    async def look(self, _flow: TaskFlow, _known: Callable[[], object]) -> Look:
        self.looks += 1
        tasks: dict[TaskKey, TaskProgress] = {}
        for upstream in UPSTREAMS:
            await self.pause()
            done = self.committed[upstream]
            time = self.sources[upstream][done - 1].time if done else -1
            tasks[0, upstream] = TaskProgress({"x": done}, time)
        await self.pause()
        ends = {TopicPartition("x", each): len(self.sources[each]) for each in UPSTREAMS}
        await self.pause()
        return Look(tasks, {**ends, R0: len(self.logs[R0.topic])})

    async def pause(self) -> None:
        self.steps_of_look.append(asyncio.get_running_loop().create_future())
        await self.steps_of_look[-1]

    def go_on_looking(self) -> None:
        for each in self.steps_of_look:
            if not each.done():
                each.set_result(None)

    def settle(self) -> None:
        """Upstream tasks do and commit all there is, which the task reads."""
        for upstream in UPSTREAMS:
            while self.done[upstream] < len(self.sources[upstream]):
                self.work(upstream)
            self.committed[upstream] = self.done[upstream]
        for topic in self.logs:
            self.read(topic, 0)

    def place(self, record: Record) -> tuple[int, str, int]:
        is_beside = any(record is each for each in self.logs[self.beside])
        return record.time, self.beside if is_beside else R0.topic, record.upstream

    def assert_in_order(self) -> None:
        """What comes after another record although it belongs before it had not arrived when that one was read."""
        taken = [self.records[number] for number in self.taken]
        for at, record in enumerate(taken):
            for later in taken[at + 1 :]:
                assert self.place(record) <= self.place(later) or later.arrived > record.read


def batch_of(rows: list[Record], first: int, *, is_aligned: bool) -> RawBatch | OriginBatch:
    times = [each.time for each in rows]
    values: list[bytes | None] = [each.number.to_bytes(8) for each in rows]
    offsets = list(range(first, first + len(rows)))
    if not is_aligned:
        return RawBatch([None] * len(rows), values, times, offsets)
    return OriginBatch(
        [None] * len(rows),
        values,
        timestamps=np.array(times, np.int64),
        offsets=np.array(offsets, np.int64),
        upstreams=np.array([each.upstream for each in rows], np.int64),
        origin_times=np.array(times, np.int64),
    )


async def run(world: World, steps: list[tuple[str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(watch_module, "LOOK_INTERVAL_S", 0)
        for action, number in steps:
            await world.step(action, number)
        world.settle()
        # One look that was begun before, and as many as there are levels.
        for _ in range(3):
            for action in ("process", "look"):
                await world.step(action, 0)
        world.process()
        await world.scope.close()
    assert sorted(world.taken) == sorted(world.records)
    world.assert_in_order()


@pytest.mark.parametrize("beside", ["a", "y"])
@given(steps=STEPS)
@example(steps=[("live", 0), ("arrive", 0), ("one beside", 0)])
def test_no_record_goes_on_by_a_look_that_was_begun_before_it_was_read(
    beside: str, steps: list[tuple[str, int]]
) -> None:
    asyncio.run(run(World(beside), steps))


@pytest.mark.parametrize("beside", ["a", "y"])
async def test_where_records_come_all_the_time_each_waits_for_two_looks_at_most(
    beside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One may be under way when it is read, and holds for what was read before."""
    monkeypatch.setattr(watch_module, "LOOK_INTERVAL_S", 0)
    world = World(beside)
    for _ in range(30):
        before_look = len(world.records)
        for _ in range(2):
            for action in ("arrive", "work", "commit", "read aligned", "one beside"):
                await world.step(action, 0)
            await world.step("look", 0)
            await world.step("one beside", 0)
        assert {*range(before_look)} <= {*world.taken}
    assert world.looks <= 61, "one for all that has come until then"
    await world.scope.close()
