"""Retries of a task: batches, the wall clock without records, rollbacks, restores."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.streams import OnError, Retry, StreamsBuilder, StreamsConfig, Topology
from millstream.streams.application.processing_rounds import records_min
from millstream.streams.errors import SerializationError, StreamsError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.queries import KeyQuery, StateQueryRequest
from millstream.streams.serdes import integer, string
from millstream.streams.state import StoreFactory, in_memory_stores, rocksdb_stores
from tests.unit.streams.kernel.retrying import (
    CHANGELOG,
    Build,
    Service,
    awaited,
    plain,
    retry,
    topology,
)


@pytest.fixture(params=[plain, awaited])
def build(request: pytest.FixtureRequest) -> Callable[[Service], Build]:
    """A rule holds whichever kind the function is of."""
    made: Callable[[Service], Build] = request.param
    return made


def task_of(given: Topology, stores: StoreFactory | None = None, **settings: Any) -> StreamTask:
    config = StreamsConfig("app", **settings)
    return StreamTask(given, 0, 0, stores or in_memory_stores(), config)


def add(task: StreamTask, first: int, *rows: tuple[str, str]) -> None:
    keys, values = [key.encode() for key, _ in rows], [value.encode() for _, value in rows]
    task.add("in", RawBatch(keys, values, [0] * len(rows), range(first, first + len(rows))))


def written(task: StreamTask, now_ms: int, *, records_max: int | None = None) -> list[bytes]:
    sink = task.process(now_ms, records_max).sinks.get("out")
    return [] if sink is None else [value or b"" for value in sink.values]


ROWS = [("a", "a1"), ("b", "b1"), ("a", "a2"), ("b", "b2"), ("c", "c1")]


def test_a_batch_gives_what_its_records_give_one_by_one(build: Callable[[Service], Build]) -> None:
    task = task_of(topology(build(Service(a=1))))
    add(task, 0, *ROWS)
    assert written(task, 5) == [b"B1", b"B2", b"C1"]
    assert task.schedule.next_due_ms == 15
    assert written(task, 15, records_max=0) == [b"A1", b"A2"]
    assert task.schedule.next_due_ms is None


def test_a_rolled_back_retry_is_made_again(build: Callable[[Service], Build]) -> None:
    task = task_of(topology(build(Service(a=1))))
    add(task, 0, *ROWS)
    written(task, 5)
    task.prepare_commit()
    task.commit()
    assert written(task, 15) == [b"A1", b"A2"]
    task.rollback()
    assert task.schedule.next_due_ms == 15
    assert written(task, 15, records_max=0) == [b"A1", b"A2"]


def test_a_rolled_back_failure_is_forgotten(build: Callable[[Service], Build]) -> None:
    task = task_of(topology(build(Service(a=1))))
    add(task, 0, *ROWS)
    written(task, 5)
    task.rollback()
    assert task.schedule.next_due_ms is None
    add(task, 0, *ROWS)
    assert written(task, 6) == [b"A1", b"B1", b"A2", b"B2", b"C1"]


def test_a_store_that_is_restored_from_its_changelog_goes_on_where_the_last_one_stopped(
    build: Callable[[Service], Build],
) -> None:
    service = Service(a=2)
    given = topology(build(service))
    task = task_of(given)
    add(task, 0, *ROWS)
    output = task.process(5)
    (log,) = output.changelogs.values()
    assert log.topic == CHANGELOG
    assert written(task, 15, records_max=0) == []
    log_of_retry = task.prepare_commit().output.changelogs
    again = task_of(given)
    first_offset = 0
    for each in (log, log_of_retry.get(CHANGELOG)):
        if each is not None:
            offsets = range(first_offset, first_offset + len(each))
            again.state.restore(
                CHANGELOG, RawBatch(each.keys, each.values, each.timestamps, offsets)
            )
            first_offset += len(each)
    again.resume({})
    assert again.schedule.next_due_ms is not None
    add(again, 5, ("a", "a3"))
    assert written(again, 5) == []
    assert written(again, 10_000, records_max=0) == [b"A1", b"A2", b"A3"]


def test_a_task_that_is_opened_again_on_its_stores_retries_without_a_record(
    build: Callable[[Service], Build], tmp_path: Path
) -> None:
    given, stores = topology(build(Service(a=1))), rocksdb_stores(tmp_path)
    task = task_of(given, stores)
    add(task, 0, *ROWS)
    written(task, 5)
    task.prepare_commit()
    task.commit()
    task.close()
    again = task_of(given, stores)
    assert again.schedule.next_due_ms == 15
    assert written(again, 15, records_max=0) == [b"A1", b"A2"]
    again.close()


def test_records_of_a_store_whose_serde_has_changed_stop_the_task(tmp_path: Path) -> None:
    stores = rocksdb_stores(tmp_path)
    task = task_of(topology(plain(Service(a=1))), stores)
    add(task, 0, ("a", "no integer"))
    written(task, 5)
    task.prepare_commit()
    task.commit()
    task.close()
    changed: Any = retry(value=integer())
    again = task_of(
        topology(plain(Service()), changed), stores, on_processing_error=OnError.CONTINUE
    )
    add(again, 2, ("b", "b1"))
    with pytest.raises(SerializationError, match="store retries cannot be read with serde"):
        again.process(15, 0)
    again.close()


def test_retries_end_after_a_round_and_go_on_with_the_next() -> None:
    time = iter(range(0, 100_000, 60))
    task = task_of(topology(plain(Service(a=1))))
    add(task, 0, *(("a", f"a{number}") for number in range(5)))
    written(task, 5)
    task.measure_with(lambda: next(time))
    rounds = []
    while task.schedule.next_due_ms is not None:
        rounds.append(len(written(task, 15, records_max=0)))
    assert sum(rounds) == 5
    assert max(rounds) == 2


def test_calls_for_keys_that_are_due_together_run_side_by_side() -> None:
    keys = [f"k{number}" for number in range(6)]
    failures = Counter(dict.fromkeys(keys, 1))
    inside: Counter[str] = Counter()

    async def ask(key: str, value: str) -> str:
        if failures[key]:
            failures[key] -= 1
            raise ConnectionError
        inside["now"] += 1
        inside["most"] = max(inside["most"], inside["now"])
        await asyncio.sleep(0)
        inside["now"] -= 1
        return value

    task = task_of(
        topology(
            lambda stream, options: stream.map_values_async(
                ask, with_key=True, retry=options, max_in_flight=4
            )
        )
    )
    add(task, 0, *((key, "v") for key in keys))
    written(task, 0)
    assert len(written(task, 10)) == 6
    assert inside["most"] == 4
    task.close()


def test_a_call_that_takes_too_long_is_retried_and_others_go_on() -> None:
    hangs = [True]

    async def ask(key: str, value: str) -> str:
        if key == "a" and hangs and hangs.pop():
            await asyncio.Event().wait()
        return value

    given = topology(
        lambda stream, options: stream.map_values_async(
            ask, with_key=True, retry=options, timeout_ms=20
        )
    )
    task = task_of(given)
    add(task, 0, *ROWS)
    assert written(task, 0) == [b"b1", b"b2", b"c1"]
    (first, _) = task.query(StateQueryRequest("retries", KeyQuery("a"))).value
    assert "the call was not answered in 20 ms" in first.error
    assert written(task, 10) == [b"a1", b"a2"]
    task.close()


def test_records_behind_one_that_is_given_up_are_not_lost() -> None:
    """An async function is not called for them any more in that batch: they wait, and are called by the clock."""

    async def ask(value: str) -> str:
        if value == "a1":
            raise KeyError(value)
        return value

    task = task_of(
        topology(
            lambda stream, options: stream.map_values_async(ask, retry=options),
            retry(retries_max=0, dead_letters="dead"),
        )
    )
    add(task, 0, *ROWS)
    output = task.process(3)
    assert list(output.sinks["dead"].values) == [b"a1"]
    assert list(output.sinks["out"].values) == [b"b1", b"b2", b"c1"]
    assert written(task, 3, records_max=0) == [b"a2"]
    task.close()


def test_rounds_are_large_enough_for_an_async_function_with_retries() -> None:
    assert records_min(topology(awaited(Service(), max_in_flight=10)), 0) == 40
    assert records_min(topology(plain(Service())), 0) == 1


def test_values_of_an_unknown_type_need_a_serde() -> None:
    builder = StreamsBuilder()
    lengths = builder.stream("in", key=string(), value=string()).map_values(len)
    lengths.map_values(abs, retry=Retry("retries"))
    with pytest.raises(StreamsError, match="the value of store retries has no serde"):
        task_of(builder.build())


def test_a_value_that_the_serde_cannot_write_stops_the_task() -> None:
    wrong: Any = retry(value=integer())
    task = task_of(topology(plain(Service(a=1)), wrong))
    add(task, 0, ("a", "x"))
    with pytest.raises(SerializationError, match="store retries cannot write key str"):
        task.process(0)
