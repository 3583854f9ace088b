"""map_async, map_values_async, process_async: many calls at a time, in order, all answered when a batch is through."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from millstream.streams import KStream, Record, StreamsBuilder, StreamsConfig
from millstream.streams.errors import AsyncCallTimedOut, ProcessingError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores
from millstream.testing import TopologyTestDriver

Build = Callable[[KStream[str, str]], KStream[str, str]]
Row = tuple[str, str]


def _task(build: Build) -> StreamTask:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=string(), value=string())
    build(stream).to("out", key=string(), value=string())
    return StreamTask(builder.build(), 0, 0, in_memory_stores(), StreamsConfig("app"))


def _add(task: StreamTask, rows: list[Row]) -> None:
    keys, values = [k.encode() for k, _ in rows], [v.encode() for _, v in rows]
    task.add("in", RawBatch(keys, values, [0] * len(rows), range(len(rows))))


def _run(build: Build, rows: list[Row]) -> list[Row]:
    task = _task(build)
    try:
        _add(task, rows)
        sink = task.process(0).sinks["out"]
        pairs = zip(sink.keys, sink.values, strict=True)
        return [((k or b"").decode(), (v or b"").decode()) for k, v in pairs]
    finally:
        task.close()


class _Gate:
    """Lets nobody pass until so many are there, so that a test needs no clock. Notes the most there ever were."""

    def __init__(self, least: int) -> None:
        self._least = least
        self._waiting: asyncio.Event | None = None
        self.inside = self.most = 0
        self.begun: list[str] = []

    async def __call__(self, value: str) -> str:
        self._waiting = self._waiting or asyncio.Event()
        self.begun.append(value)
        self.inside += 1
        self.most = max(self.most, self.inside)
        if self.inside == self._least:
            self._waiting.set()
        await self._waiting.wait()
        self.inside -= 1
        return value.upper()


def _each_key(rows: int) -> list[Row]:
    return [(f"k{row}", f"v{row}") for row in range(rows)]


def test_as_many_calls_run_at_a_time_as_allowed_and_no_more() -> None:
    gate = _Gate(least=10)
    _run(lambda s: s.map_values_async(gate, max_in_flight=10), _each_key(35))
    assert gate.most == 10


def test_answers_go_on_in_the_order_of_the_records_whoever_is_first() -> None:
    later: list[asyncio.Event] = []

    async def last_first(value: str) -> str:
        if value != "v2":
            event = asyncio.Event()
            later.append(event)
            await event.wait()
        if later:
            later.pop().set()
        return value.upper()

    given = _run(lambda s: s.map_values_async(last_first), _each_key(3))
    assert given == [("k0", "V0"), ("k1", "V1"), ("k2", "V2")]


def test_records_of_one_key_follow_each_other() -> None:
    inside = set[str]()
    order: list[str] = []

    async def alone(key: str, value: str) -> str:
        assert key not in inside
        inside.add(key)
        await asyncio.sleep(0)
        inside.remove(key)
        order.append(value)
        return value

    rows = [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4"), ("a", "5")]
    assert _run(lambda s: s.map_values_async(alone, with_key=True), rows) == rows
    assert [each for each in order if each in "135"] == ["1", "3", "5"]


def test_map_async_gives_new_keys() -> None:
    async def swap(key: str, value: str) -> tuple[str, str]:
        return value, key

    assert _run(lambda s: s.map_async(swap), [("a", "1")]) == [("1", "a")]


def test_process_async_gives_any_number_of_records() -> None:
    async def letters(record: Record[str, str]) -> list[Record[str, str]]:
        return [Record(each, record.value, record.timestamp) for each in record.key]

    assert _run(lambda s: s.process_async(letters), [("ab", "1"), ("c", "2")]) == [
        ("a", "1"),
        ("b", "1"),
        ("c", "2"),
    ]


def test_a_failure_names_the_record_and_nothing_is_called_twice() -> None:
    calls: list[str] = []

    async def fail_once(value: str) -> str:
        calls.append(value)
        if value == "v1":
            raise KeyError(value)
        return value

    with pytest.raises(ProcessingError, match=r"in-0 offset 1: KeyError\('v1'\)"):
        _run(lambda s: s.map_values_async(fail_once, max_in_flight=1), _each_key(4))
    assert calls == ["v0", "v1"]


def test_a_task_goes_on_after_a_rollback() -> None:
    failures = [KeyError("once")]

    async def fail_once(value: str) -> str:
        if failures:
            raise failures.pop()
        return value

    task = _task(lambda s: s.map_values_async(fail_once))
    _add(task, _each_key(2))
    with pytest.raises(ProcessingError):
        task.process(0)
    task.rollback()
    _add(task, _each_key(2))
    assert list(task.process(0).sinks["out"].values) == [b"v0", b"v1"]
    task.close()


def test_a_call_that_is_not_answered_in_time_is_an_error_that_names_its_record() -> None:
    async def never(value: str) -> str:
        await asyncio.Event().wait()
        return value

    with pytest.raises(AsyncCallTimedOut, match="in-0 offset 0 was not answered in 1 ms"):
        _run(lambda s: s.map_values_async(never, timeout_ms=1), _each_key(1))


def test_the_test_driver_has_the_answer_when_a_record_is_piped() -> None:
    async def upper(value: str) -> str:
        await asyncio.sleep(0)
        return value.upper()

    builder = StreamsBuilder()
    stream = builder.stream("in", key=string(), value=string()).map_values_async(upper)
    stream.to("out", key=string(), value=string())
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", key=string(), value=string()).pipe("k", "v")
        given = driver.output_topic("out", key=string(), value=string()).read_record()
    assert given.value == "V"


def test_the_driver_works_inside_an_event_loop() -> None:
    async def upper(value: str) -> str:
        return value.upper()

    async def program() -> list[Row]:
        return _run(lambda s: s.map_values_async(upper), [("k", "v")])

    assert asyncio.run(program()) == [("k", "V")]


def test_the_node_is_in_the_description() -> None:
    async def upper(value: str) -> str:
        return value.upper()

    builder = StreamsBuilder()
    builder.stream("in", key=string(), value=string()).map_values_async(upper).to("out")
    assert "KSTREAM-MAPVALUESASYNC-0000000001" in str(builder.build().describe())


def _plain(value: str) -> Awaitable[str]:
    raise NotImplementedError(value)


def test_a_function_that_is_not_async_is_refused() -> None:
    stream = StreamsBuilder().stream("in", key=string(), value=string())
    with pytest.raises(TypeError, match="map_values_async: mapper must be an async function"):
        stream.map_values_async(_plain)


def test_no_calls_at_a_time_are_refused() -> None:
    async def same(value: str) -> str:
        return value

    stream = StreamsBuilder().stream("in", key=string(), value=string())
    with pytest.raises(ValueError, match="max_in_flight must be at least 1, not 0"):
        stream.map_values_async(same, max_in_flight=0)
