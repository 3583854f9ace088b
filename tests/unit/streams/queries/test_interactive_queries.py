"""Stores answer while the application runs: every query on the stores it fits, and reasons where there is no answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from millstream.streams import (
    Materialized,
    SessionWindows,
    StoreFormat,
    StoreSupplier,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    queries,
)
from millstream.streams.errors import InvalidStoreError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.queries import (
    FailureReason,
    KeyQuery,
    MultiVersionedKeyQuery,
    Query,
    QueryFailed,
    QueryResult,
    RangeQuery,
    StateQueryRequest,
    StateQueryResult,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    VersionedKeyQuery,
    VersionedRecord,
    WindowKeyQuery,
    WindowRangeQuery,
)
from millstream.streams.serdes import Windowed, string
from millstream.streams.state import in_memory_stores
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

TEN_MS = timedelta(milliseconds=10)


@pytest.fixture(params=StoreFormat, ids=lambda store_format: store_format.value)
def driver(request) -> Iterator[TopologyTestDriver]:
    """Stores of all kinds over one topic: rows, counts by window and by session, history, and a global table.

    Stores with headers answer as others do; in Kafka Streams only from 4.4 on.
    """
    builder = StreamsBuilder(store_format=request.param)
    rows = builder.stream("in")
    rows.to_table(materialized=Materialized("rows"))
    grouped = rows.group_by_key()
    windows = TimeWindows.tumbling(TEN_MS, grace=timedelta(seconds=1))
    grouped.windowed_by(windows).count(materialized=Materialized("windows"))
    sessions = SessionWindows.of(TEN_MS, grace=timedelta(seconds=1))
    grouped.windowed_by(sessions).count(materialized=Materialized("sessions"))
    history = StoreSupplier("history", history=timedelta(milliseconds=100))
    builder.table("versions", materialized=Materialized(supplier=history))
    builder.global_table("everywhere", materialized=Materialized("global"))
    config = StreamsConfig("app", default_key=string(), default_value=string())
    with TopologyTestDriver(builder.build(), config) as running:
        given = running.input_topic("in")
        for key, value, at in (("a", "1", 5), ("b", "2", 6), ("a", "3", 12), ("c", "4", 40)):
            given.pipe(key, value, at=at)
        versions = running.input_topic("versions")
        for value, at in (("old", 10), ("new", 30), (None, 50), ("again", 60)):
            versions.pipe("k", value, at=at)
        running.input_topic("everywhere").pipe("x", "y", at=1)
        yield running


def ask(driver: TopologyTestDriver, store: str, query: Query) -> QueryResult:
    return driver.query(StateQueryRequest(store, query)).partitions[0]


@pytest.mark.parametrize(
    ("store", "query", "expected"),
    [
        ("rows", KeyQuery("a"), "3"),
        ("rows", KeyQuery("absent"), None),
        ("rows", RangeQuery(), [("a", "3"), ("b", "2"), ("c", "4")]),
        ("rows", RangeQuery("b", "c", descending=True), [("c", "4"), ("b", "2")]),
        ("rows", RangeQuery(upper="a"), [("a", "3")]),
        ("rows", TimestampedKeyQuery("a"), ("3", 12)),
        ("rows", TimestampedRangeQuery("b", "b"), [("b", ("2", 6))]),
        ("windows", WindowKeyQuery("a", 0, 100), [(0, (1, 5)), (10, (1, 12))]),
        ("windows", WindowKeyQuery("a", 1, 9), []),
        (
            "windows",
            WindowRangeQuery(time_from=0, time_to=9),
            [(Windowed("a", 0, 10), (1, 5)), (Windowed("b", 0, 10), (1, 6))],
        ),
        ("sessions", WindowRangeQuery("a"), [(Windowed("a", 5, 12), 2)]),
        ("history", VersionedKeyQuery("k"), VersionedRecord("again", 60)),
        ("history", VersionedKeyQuery("k", 35), VersionedRecord("new", 30, 50)),
        ("history", VersionedKeyQuery("k", 55), None),
        (
            "history",
            MultiVersionedKeyQuery("k"),
            [
                VersionedRecord("again", 60),
                VersionedRecord("new", 30, 50),
                VersionedRecord("old", 10, 30),
            ],
        ),
        (
            "history",
            MultiVersionedKeyQuery("k", 30, 59, ascending=True),
            [VersionedRecord("new", 30, 50)],
        ),
    ],
)
def test_a_store_answers(driver: TopologyTestDriver, store: str, query: Query, expected) -> None:
    result = ask(driver, store, query)
    assert result.is_success, result.message
    assert result.value == expected


@pytest.mark.parametrize(
    ("store", "query"),
    [
        ("windows", KeyQuery("a")),
        ("rows", WindowKeyQuery("a", 0, 1)),
        ("sessions", WindowRangeQuery(time_from=0, time_to=1)),
        ("rows", VersionedKeyQuery("a")),
        ("history", KeyQuery("k")),
    ],
)
def test_a_query_that_does_not_fit_the_store_is_said_to_be_unknown(
    driver: TopologyTestDriver, store: str, query: Query
) -> None:
    result = ask(driver, store, query)
    assert result.failure is FailureReason.UNKNOWN_QUERY_TYPE
    with pytest.raises(QueryFailed, match="does not answer"):
        _ = result.value


def test_an_error_of_the_store_is_a_result(driver: TopologyTestDriver) -> None:
    result = ask(driver, "rows", KeyQuery(5))  # the keys are text
    assert result.failure is FailureReason.STORE_EXCEPTION


def test_a_global_store_has_one_result_without_partition(driver: TopologyTestDriver) -> None:
    result = driver.query(StateQueryRequest("global", KeyQuery("x")))
    assert result.partitions == {}
    assert result.global_result is not None
    assert result.global_result.value == "y"


def test_a_bound_that_is_not_reached_yet_is_said(driver: TopologyTestDriver) -> None:
    position = ask(driver, "rows", KeyQuery("a")).position
    assert position["in"] == {0: 3}
    ahead = StateQueryRequest("rows", KeyQuery("a"), position_bound={"in": {0: 4}})
    assert driver.query(ahead).partitions[0].failure is FailureReason.NOT_UP_TO_BOUND
    driver.input_topic("in").pipe("z", "5", at=50)
    assert driver.query(ahead).partitions[0].value == "3"


def test_partitions_that_do_not_exist_are_said(driver: TopologyTestDriver) -> None:
    result = driver.query(StateQueryRequest("rows", KeyQuery("a"), partitions=(0, 7)))
    assert result.partitions[0].value == "3"
    assert result.partitions[7].failure is FailureReason.DOES_NOT_EXIST


def test_an_unknown_store_is_an_error_that_names_those_there_are(
    driver: TopologyTestDriver,
) -> None:
    with pytest.raises(InvalidStoreError, match=r"no store nothing; there are \['history', 'rows'"):
        driver.query(StateQueryRequest("nothing", KeyQuery("a")))


def test_the_only_result_is_the_one_with_an_answer() -> None:
    none, some = QueryResult(None), QueryResult("x")
    assert StateQueryResult({0: none, 1: some}).only_partition_result() is some
    assert StateQueryResult({0: none}).only_partition_result() is None
    with pytest.raises(ValueError, match="2 partitions answered"):
        StateQueryResult({0: some, 1: some}).only_partition_result()


def test_positions_of_several_partitions_are_one_bound() -> None:
    results = {
        0: QueryResult("x", position={"in": {0: 5}}),
        1: QueryResult("y", position={"in": {1: 7}, "other": {1: 2}}),
    }
    assert StateQueryResult(results).position == {"in": {0: 5, 1: 7}, "other": {1: 2}}


def test_a_range_of_windows_needs_a_key_or_two_times() -> None:
    for wrong in ({}, {"key": "a", "time_from": 1, "time_to": 2}, {"time_from": 1}):
        with pytest.raises(ValueError, match="takes a key, or time_from and time_to"):
            WindowRangeQuery(**wrong)


def test_views_show_stores_as_kafka_streams_does(driver: TopologyTestDriver) -> None:
    rows = driver.key_value_store("rows")
    assert rows.get("a") == "3"
    assert list(rows.all()) == [("a", "3"), ("b", "2"), ("c", "4")]
    assert list(rows.reverse_range("a", "b")) == [("b", "2"), ("a", "3")]
    assert rows.approximate_num_entries() == 3
    windows = driver.window_store("windows")
    assert windows.fetch("a", 0, 100) == [(0, 1), (10, 1)]
    assert windows.backward_fetch("a", 0, 100) == [(10, 1), (0, 1)]
    assert windows.fetch("a", 10) == 1
    assert [window.start_ms for window, _ in windows.all()] == [0, 10, 0, 40]
    sessions = driver.session_store("sessions")
    assert sessions.fetch("a") == [(Windowed("a", 5, 12), 2)]
    assert sessions.fetch_session("a", 5, 12) == 2
    with pytest.raises(InvalidStoreError, match=r"rows is a \w+, no session store"):
        driver.session_store("rows")


SEEN_AS = {
    "rows": {queries.key_value_store, queries.timestamped_key_value_store},
    "global": {queries.key_value_store, queries.timestamped_key_value_store},
    "windows": {queries.window_store, queries.timestamped_window_store},
    "sessions": {queries.session_store},
    "history": {queries.versioned_key_value_store},
}
WITH_HEADERS = {
    "rows": {queries.timestamped_key_value_store_with_headers},
    "global": {queries.timestamped_key_value_store_with_headers},
    "windows": {queries.timestamped_window_store_with_headers},
    "sessions": {queries.session_store_with_headers},
}


def can_be_seen(
    driver: TopologyTestDriver, store: str, seen_as: queries.QueryableStoreType
) -> bool:
    try:
        driver.store(queries.StoreQueryParameters(store, seen_as))
    except InvalidStoreError:
        return False
    return True


@pytest.mark.parametrize("store", ["rows", "global", "windows", "sessions", "history"])
def test_a_store_is_seen_as_less_than_it_is_never_as_more(
    driver: TopologyTestDriver, store: str
) -> None:
    """What QueryableStoreTypes of 4.3.1 accept."""
    expected = set(SEEN_AS[store])
    if driver.stores()[store].spec.with_headers:
        expected |= WITH_HEADERS[store]
    every_type = set().union(*SEEN_AS.values(), *WITH_HEADERS.values())
    assert {each for each in every_type if can_be_seen(driver, store, each())} == expected


def test_rows_are_shown_whole_where_their_timestamps_are_asked_for(
    driver: TopologyTestDriver,
) -> None:
    assert driver.timestamped_key_value_store("rows").get("a") == ("3", 12)
    assert driver.timestamped_window_store("windows").fetch("a", 10) == (1, 12)
    assert driver.versioned_key_value_store("history").get("k", 35) == ("new", 30, 50)


def test_a_partition_that_the_driver_does_not_have_is_said(driver: TopologyTestDriver) -> None:
    parameters = queries.StoreQueryParameters("rows", queries.key_value_store(), partition=1)
    with pytest.raises(InvalidStoreError, match="partition 1 of store rows is not here"):
        driver.store(parameters)


def test_a_query_may_skip_what_the_cache_holds_back() -> None:
    builder = StreamsBuilder()
    builder.table("in", materialized=Materialized("rows"))
    config = StreamsConfig(
        "app", default_key=string(), default_value=string(), cache_max_bytes=100_000
    )
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)

    def value(query: Query) -> object:
        return task.query(StateQueryRequest("rows", query)).value

    task.add("in", RawBatch([b"a", b"b"], [b"1", b"2"], [1, 2], range(2)))
    task.process(0)
    assert value(KeyQuery("a")) == "1"
    assert value(KeyQuery("a", skip_cache=True)) is None
    task.prepare_commit()
    task.commit()
    task.add("in", RawBatch([b"a"], [b"3"], [3], range(2, 3)))
    task.process(0)
    assert value(TimestampedKeyQuery("a")) == ("3", 3)
    assert value(TimestampedKeyQuery("a", skip_cache=True)) == ("1", 1)
    assert value(KeyQuery("b", skip_cache=True)) == "2"
    task.close()


def test_versions_are_asked_from_an_earlier_to_a_later_time() -> None:
    """Kafka Streams refuses it too, but only when the store is asked."""
    with pytest.raises(ValueError, match="from 2 to 1: time_from must not be after time_to"):
        MultiVersionedKeyQuery("k", 2, 1)
    assert MultiVersionedKeyQuery("k", 1, 1).time_to == 1


def test_an_answer_tells_who_gave_it_if_that_is_asked_for(driver: TopologyTestDriver) -> None:
    """The driver's task is active, so that asking for an active one changes nothing."""
    silent = driver.query(StateQueryRequest("rows", KeyQuery("a"), require_active=True))
    assert silent.partitions[0].execution_info == ()
    asked = driver.query(StateQueryRequest("rows", KeyQuery("a"), execution_info=True))
    (line,) = asked.partitions[0].execution_info
    assert line.startswith("task 0_0: ")
    assert asked.partitions[0].value == silent.partitions[0].value == "3"


def test_a_bound_on_what_the_store_does_not_read_is_never_reached(
    driver: TopologyTestDriver,
) -> None:
    asked = StateQueryRequest("rows", KeyQuery("a"), position_bound={"elsewhere": {0: 0}})
    assert driver.query(asked).partitions[0].failure is FailureReason.NOT_UP_TO_BOUND
    other_partition = StateQueryRequest("rows", KeyQuery("a"), position_bound={"in": {1: 0}})
    assert driver.query(other_partition).partitions[0].failure is FailureReason.NOT_UP_TO_BOUND
