"""What `store()` gives over the partitions of an instance, and which error says that it cannot be asked now."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.streams import Materialized, SessionWindows, StreamsBuilder, TimeWindows
from millstream.streams.application.interactive.live_partitions import LivePartitions
from millstream.streams.application.interactive.live_stores import live_store
from millstream.streams.errors import (
    InvalidStoreError,
    InvalidStorePartition,
    StoreMigrated,
    StoreNotAvailable,
)
from millstream.streams.queries import (
    FailureReason,
    QueryResult,
    StateQueryRequest,
    StateQueryResult,
    StoreQueryParameters,
    key_value_store,
    session_store,
    window_store,
)
from millstream.streams.serdes import string
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

TEN_MS = timedelta(milliseconds=10)


@pytest.fixture
def drivers():
    """Two tasks: the first has a and b, the second c."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=string(), value=string()).group_by_key()
    kept = timedelta(seconds=1)
    grouped.count(materialized=Materialized("rows"))
    windows = TimeWindows.tumbling(TEN_MS)
    grouped.windowed_by(windows).count(materialized=Materialized("windows", retention=kept))
    sessions = SessionWindows.of(TEN_MS)
    grouped.windowed_by(sessions).count(materialized=Materialized("sessions", retention=kept))
    topology = builder.build()
    tasks = [TopologyTestDriver(topology), TopologyTestDriver(topology)]
    for task, keys in zip(tasks, ("aab", "c"), strict=True):
        for time, key in enumerate(keys):
            task.input_topic("in", key=string(), value=string()).pipe(key, "x", at=8 * time)
    yield tasks
    for task in tasks:
        task.close()


def shown(drivers, name, seen_as, *, partition=None, stale=False, is_restoring=False):
    async def ask(request: StateQueryRequest) -> StateQueryResult:
        wanted = range(len(drivers)) if request.partitions is None else request.partitions
        absent = QueryResult(failure=FailureReason.NOT_PRESENT, message="absent")
        return StateQueryResult(
            {
                number: drivers[number]
                .query(StateQueryRequest(request.store, request.query))
                .partitions[0]
                if number < len(drivers)
                else absent
                for number in wanted
            }
        )

    wanted = StoreQueryParameters(name, seen_as, partition, stale)
    return live_store(LivePartitions(wanted, ask, lambda: is_restoring))


async def test_rows_by_key_are_those_of_all_partitions(drivers) -> None:
    store = shown(drivers, "rows", key_value_store())
    assert [await store.get(key) for key in "abcd"] == [2, 1, 1, None]
    assert await store.all() == [("a", 2), ("b", 1), ("c", 1)]
    assert await store.reverse_all() == [("b", 1), ("a", 2), ("c", 1)]
    assert await store.range("b", None) == [("b", 1), ("c", 1)]
    assert await store.reverse_range("a", "b") == [("b", 1), ("a", 2)]
    assert await store.prefix_scan("c") == [("c", 1)]
    assert await store.approximate_num_entries() == 3


async def test_windows_are_shown(drivers) -> None:
    store = shown(drivers, "windows", window_store())
    assert await store.fetch("a", 0, 100) == [(0, 2)]
    assert await store.fetch("d", 0, 100) == []
    assert await store.backward_fetch("b", 0, 100) == [(10, 1)]
    assert await store.row_at("c", 0) == 1
    assert [(each.key, each.start_ms, row) for each, row in await store.all()] == [
        ("a", 0, 2),
        ("b", 10, 1),
        ("c", 0, 1),
    ]
    backwards = await store.backward_fetch_all(key_from="a", key_to="b")
    assert [each.key for each, _ in backwards] == ["b", "a"]


async def test_sessions_are_shown(drivers) -> None:
    store = shown(drivers, "sessions", session_store())
    assert [(each.start_ms, each.end_ms, row) for each, row in await store.fetch("a")] == [
        (0, 8, 2)
    ]
    assert await store.fetch_session("b", 16, 16) == 1
    assert await store.find_sessions("a", 9, 100) == []
    assert {each.key for each, _ in await store.find_all_sessions()} == {"a", "b", "c"}


async def test_one_partition_can_be_asked_alone(drivers) -> None:
    assert await shown(drivers, "rows", key_value_store(), partition=1).all() == [("c", 1)]
    with pytest.raises(InvalidStorePartition, match="does not have partition 2 of store rows"):
        await shown(drivers, "rows", key_value_store(), partition=2).all()


async def test_while_tasks_are_restored_only_stale_stores_answer(drivers) -> None:
    first = drivers[:1]
    with pytest.raises(StoreNotAvailable, match="stale_stores=True"):
        await shown(first, "rows", key_value_store(), is_restoring=True).get("a")
    stale = shown(first, "rows", key_value_store(), stale=True, is_restoring=True)
    assert await stale.get("a") == 2


async def test_a_task_that_has_just_been_restored_when_it_is_asked_is_not_left_out() -> None:
    """The first partition has answered before the second one ran: a key of the second one is not missing."""
    restoring = True

    async def ask(_: StateQueryRequest) -> StateQueryResult:
        nonlocal restoring
        restoring = False
        return StateQueryResult({0: QueryResult(None)})

    wanted = StoreQueryParameters("rows", key_value_store())
    with pytest.raises(StoreNotAvailable):
        await live_store(LivePartitions(wanted, ask, lambda: restoring)).get("a")


async def test_nor_is_one_that_has_failed_and_is_restored_anew() -> None:
    """Its thread finds out in its next turn."""

    async def ask(_: StateQueryRequest) -> StateQueryResult:
        failed = QueryResult(failure=FailureReason.NOT_ACTIVE, is_being_restored=True)
        return StateQueryResult({0: QueryResult(None), 1: failed})

    wanted = StoreQueryParameters("rows", key_value_store())
    with pytest.raises(StoreNotAvailable):
        await live_store(LivePartitions(wanted, ask, lambda: False)).get("a")


async def test_a_store_that_is_elsewhere_is_an_error_and_not_empty() -> None:
    with pytest.raises(StoreMigrated, match="query_metadata_for_key"):
        await shown([], "rows", key_value_store()).get("a")


async def test_a_store_of_another_type_is_refused(drivers) -> None:
    with pytest.raises(InvalidStoreError, match="TimestampedKeyValueStore, no window store"):
        await shown(drivers, "rows", window_store()).all()


async def test_copies_are_asked_only_for_stale_rows(drivers) -> None:
    """The first partition is active here, the second one is a copy."""

    def asking(wanted: StoreQueryParameters) -> LivePartitions:
        async def ask(request: StateQueryRequest) -> StateQueryResult:
            answers = [each.query(StateQueryRequest("rows", request.query)) for each in drivers]
            found = {number: each.partitions[0] for number, each in enumerate(answers)}
            if request.require_active:
                found[1] = QueryResult(failure=FailureReason.NOT_ACTIVE, message="a copy")
            only = found.keys() if request.partitions is None else request.partitions
            return StateQueryResult({number: found[number] for number in only})

        return LivePartitions(wanted, ask, lambda: False)

    def of(*, partition=None, stale=False):
        wanted = StoreQueryParameters("rows", key_value_store(), partition, stale)
        return live_store(asking(wanted))

    assert await of().all() == [("a", 2), ("b", 1)]
    assert await of(stale=True).all() == [("a", 2), ("b", 1), ("c", 1)]
    assert await of(partition=1, stale=True).all() == [("c", 1)]
    with pytest.raises(InvalidStorePartition, match="does not have partition 1 of store rows"):
        await of(partition=1).all()
