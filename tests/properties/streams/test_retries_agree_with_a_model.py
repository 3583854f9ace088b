"""Retries give what a naive model of them gives, whatever fails, comes, is rolled back and is restored meanwhile."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.streams import Retry, StreamsBuilder, StreamsConfig, Topology
from millstream.streams.kernel import RawBatch, SinkBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores

CHANGELOG = "app-retries-changelog"
INITIAL_MS, MULTIPLIER, MAX_MS, RETRIES_MAX = 10, 2.0, 35, 3
DELAYS_MS = (10, 20, 35)
KEYS = ("", "a", "a\x00\x00\x00\x00\x00\x00\x00\x00", "b")

ROWS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, RETRIES_MAX + 1)), max_size=6)
"""(key, how often the function fails for the record)."""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("records"), ROWS),
        st.tuples(st.just("wait"), st.integers(1, 50)),
        st.tuples(st.just("restart"), st.none()),
        st.tuples(st.just("lose"), st.integers(1, 50)),
    ),
    max_size=12,
)


@dataclass
class Waiting:
    name: str
    fails: int
    failures: int = 0
    due_ms: int = 0


@dataclass
class Model:
    """A list of records for each key. `tried` has (record, time) of each call; `out` and `dead` have records by key."""

    now_ms: int = 0
    queues: dict[str, list[Waiting]] = field(default_factory=lambda: defaultdict(list))
    tried: list[tuple[str, int]] = field(default_factory=list)
    out: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    dead: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def record(self, key: str, name: str, fails: int) -> None:
        self.queues[key].append(Waiting(name, fails, due_ms=self.now_ms))
        if len(self.queues[key]) == 1:
            self._try(key)

    def wait(self, wait_ms: int) -> None:
        self.now_ms += wait_ms
        for key in KEYS:
            while self.queues[key] and self.queues[key][0].due_ms <= self.now_ms:
                self._try(key)

    def _try(self, key: str) -> None:
        first = self.queues[key][0]
        self.tried.append((first.name, self.now_ms))
        if first.failures < first.fails:
            first.failures += 1
            if first.failures <= RETRIES_MAX:
                first.due_ms = self.now_ms + DELAYS_MS[first.failures - 1]
                return
            self.dead[key].append(first.name)
        else:
            self.out[key].append(first.name)
        del self.queues[key][0]


class World:
    """A task, and the log of its store; what it gives is kept when it is committed."""

    def __init__(self, *, is_async: bool) -> None:
        self.now_ms = 0
        self.tried: list[tuple[str, int]] = []
        self.out: dict[str, list[str]] = defaultdict(list)
        self.dead: dict[str, list[str]] = defaultdict(list)
        self._failed: dict[str, int] = defaultdict(int)
        self._log: list[tuple[bytes | None, bytes | None, int]] = []
        self._offset = 0
        self._topology = self._built(is_async=is_async)
        self._task = self._opened()

    def records(self, rows: list[tuple[str, int]]) -> None:
        keys = [key.encode() for key, _ in rows]
        values = [f"{self._offset + row} {fails}".encode() for row, (_, fails) in enumerate(rows)]
        offsets = range(self._offset, self._offset + len(rows))
        self._task.add("in", RawBatch(keys, values, [0] * len(rows), offsets))
        self._offset += len(rows)
        self._commit([self._task.process(self.now_ms)])

    def wait(self, wait_ms: int) -> None:
        self.now_ms += wait_ms
        self._commit([self._task.process(self.now_ms, records_max=0)])

    def lose(self, wait_ms: int) -> None:
        """Retries as `wait` does, but the commit fails."""
        tried, failed = len(self.tried), dict(self._failed)
        self._task.process(self.now_ms + wait_ms, records_max=0)
        self._task.rollback()
        del self.tried[tried:]
        self._failed = defaultdict(int, failed)
        self.wait(wait_ms)

    def restart(self) -> None:
        """On another machine, whose store is restored."""
        self._task.close()
        self._task = self._opened()
        if self._log:
            keys, values, times = (list(column) for column in zip(*self._log, strict=True))
            self._task.state.restore(CHANGELOG, RawBatch(keys, values, times, range(len(keys))))

    def close(self) -> None:
        self._task.close()

    def _commit(self, outputs: list[Any]) -> None:
        for output in (*outputs, self._task.prepare_commit().output):
            for topic, kept in (("out", self.out), ("dead", self.dead)):
                self._keep(output.sinks.get(topic), kept)
            log = output.changelogs.get(CHANGELOG)
            if log is not None:
                self._log += zip(log.keys, log.values, log.timestamps, strict=True)
        self._task.commit()

    def _keep(self, batch: SinkBatch | None, kept: dict[str, list[str]]) -> None:
        if batch is not None:
            for key, value in zip(batch.keys, batch.values, strict=True):
                kept[(key or b"").decode()].append((value or b"").decode().split()[0])

    def _opened(self) -> StreamTask:
        task = StreamTask(self._topology, 0, 0, in_memory_stores(), StreamsConfig("app"))
        task.process(self.now_ms, records_max=0)
        return task

    def _built(self, *, is_async: bool) -> Topology:
        def ask(value: str) -> str:
            name, fails = value.split()
            self.tried.append((name, self.now_ms))
            if self._failed[name] < int(fails):
                self._failed[name] += 1
                raise ConnectionError(name)
            return value

        async def ask_async(value: str) -> str:
            await asyncio.sleep(0)
            return ask(value)

        retry = Retry(
            "retries",
            timedelta(milliseconds=INITIAL_MS),
            MULTIPLIER,
            timedelta(milliseconds=MAX_MS),
            retries_max=RETRIES_MAX,
            dead_letters="dead",
            key=string(),
            value=string(),
        )
        builder = StreamsBuilder()
        stream = builder.stream("in", key=string(), value=string())
        made = (
            stream.map_values_async(ask_async, retry=retry)
            if is_async
            else stream.map_values(ask, retry=retry)
        )
        made.to("out", value=string())
        return builder.build()


@pytest.mark.parametrize("is_async", [False, True])
@given(steps=STEPS)
def test_every_record_is_tried_given_out_and_given_up_when_the_model_says_so(
    is_async: bool, steps: list[tuple[str, Any]]
) -> None:
    model, world = Model(), World(is_async=is_async)
    try:
        offset = 0
        for step, given_with in [
            *steps,
            ("wait", 1_000),
            ("wait", 1_000),
            ("wait", 1_000),
            ("wait", 1_000),
        ]:
            match step:
                case "records":
                    world.records(given_with)
                    for key, fails in given_with:
                        model.record(key, str(offset), fails)
                        offset += 1
                case "restart":
                    world.restart()
                case "wait":
                    world.wait(given_with)
                    model.wait(given_with)
                case "lose":
                    world.lose(given_with)
                    model.wait(given_with)
        assert sorted(world.tried) == sorted(model.tried)
        assert (world.out, world.dead) == (model.out, model.dead)
    finally:
        world.close()
