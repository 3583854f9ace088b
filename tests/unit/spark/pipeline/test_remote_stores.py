"""Stores of tasks elsewhere: what is asked of which partition, and how answers travel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from millstream.spark.pipeline.queries import questions as store_questions
from millstream.spark.pipeline.queries.questions import (
    Refused,
    StoreCall,
    answered,
    pickled,
    value_of,
)
from millstream.streams import (
    Materialized,
    SessionWindows,
    StoreSupplier,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    queries,
)
from millstream.streams.errors import InvalidStoreError
from millstream.streams.queries import (
    KeyQuery,
    QueryableStoreType,
    QueryFailed,
    RangeQuery,
    StateQueryRequest,
    VersionedRecord,
)
from millstream.streams.queries.remote_stores import remote_store
from millstream.streams.serdes import Windowed, string
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

TEN_MS = timedelta(milliseconds=10)


def driver() -> TopologyTestDriver:
    builder = StreamsBuilder()
    rows = builder.stream("in")
    rows.to_table(materialized=Materialized("rows"))
    grouped = rows.group_by_key()
    windows = TimeWindows.tumbling(TEN_MS, grace=timedelta(seconds=1))
    grouped.windowed_by(windows).count(materialized=Materialized("windows"))
    sessions = SessionWindows.of(TEN_MS, grace=timedelta(seconds=1))
    grouped.windowed_by(sessions).count(materialized=Materialized("sessions"))
    history = StoreSupplier("history", history=timedelta(milliseconds=100))
    builder.table("versions", materialized=Materialized(supplier=history))
    return TopologyTestDriver(
        builder.build(), StreamsConfig("app", default_key=string(), default_value=string())
    )


class Tasks:
    """Two tasks that answer as task hosts do. Key `a` is asked of the second one first."""

    def __init__(self) -> None:
        self.drivers = [driver(), driver()]
        self.asked: list[int] = []
        for number, records in enumerate(
            [[("b", "2", 6), ("ab", "5", 7)], [("a", "1", 5), ("a", "3", 12)]]
        ):
            for key, value, at in records:
                self.drivers[number].input_topic("in").pipe(key, value, at=at)
        versions = self.drivers[0].input_topic("versions")
        for value, at in (("old", 10), ("new", 30)):
            versions.pipe("k", value, at=at)

    def seen_as(self, store: str, type_: QueryableStoreType[Any]) -> Any:
        return remote_store(type_.name, _Seen(self, store, type_.name))


class _Seen:
    def __init__(self, tasks: Tasks, store: str, seen_as: str) -> None:
        self.tasks, self.store, self.type = tasks, store, seen_as

    def of_key(self, key: object, method: str, *arguments: object, **named: object) -> Any:
        for number in (1, 0) if key == "a" else (0, 1):
            found = self.ask(number, method, arguments, named)
            if found is not None and found != []:
                return found
        return None

    def of_all(self, method: str, *arguments: object, **named: object) -> Iterator[Any]:
        return (self.ask(number, method, arguments, named) for number in (0, 1))

    def ask(self, number: int, method: str, arguments: Any, named: Any) -> Any:
        self.tasks.asked.append(number)
        call = StoreCall(self.store, self.type, method, arguments, named)
        reply = answered(pickled(call), self.tasks.drivers[number]._task)
        assert not isinstance(reply, store_questions.NotHere)
        return value_of(reply)


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    made = Tasks()
    yield made
    for each in made.drivers:
        each.close()


@pytest.mark.parametrize(
    ("store", "type_", "ask", "expected"),
    [
        ("rows", queries.key_value_store(), lambda s: s.get("a"), "3"),
        ("rows", queries.timestamped_key_value_store(), lambda s: s.get("a"), ("3", 12)),
        ("rows", queries.key_value_store(), lambda s: s.get("absent"), None),
        ("rows", queries.key_value_store(), lambda s: list(s.all()),
         [("ab", "5"), ("b", "2"), ("a", "3")]),
        ("rows", queries.key_value_store(), lambda s: list(s.reverse_range("a", "b")),
         [("b", "2"), ("ab", "5"), ("a", "3")]),
        ("rows", queries.key_value_store(), lambda s: list(s.prefix_scan("a", string())),
         [("ab", "5"), ("a", "3")]),
        ("rows", queries.key_value_store(), lambda s: s.approximate_num_entries(), 3),
        ("windows", queries.window_store(), lambda s: s.fetch("a", 0), 1),
        ("windows", queries.window_store(), lambda s: s.fetch("a", 0, 100), [(0, 1), (10, 1)]),
        ("windows", queries.window_store(), lambda s: s.backward_fetch("a", 0, 100),
         [(10, 1), (0, 1)]),
        ("windows", queries.window_store(), lambda s: s.fetch("absent", 0, 100), []),
        ("windows", queries.window_store(), lambda s: list(s.fetch_all(0, 5, key_from="a", key_to="a")),
         [(Windowed("a", 0, 10), 1)]),
        ("sessions", queries.session_store(), lambda s: s.fetch("a"), [(Windowed("a", 5, 12), 2)]),
        ("sessions", queries.session_store(), lambda s: s.fetch_session("a", 5, 12), 2),
        ("sessions", queries.session_store(), lambda s: len(list(s.find_all_sessions())), 3),
        ("history", queries.versioned_key_value_store(), lambda s: s.get("k"),
         VersionedRecord("new", 30)),
        ("history", queries.versioned_key_value_store(), lambda s: s.get("k", 15),
         VersionedRecord("old", 10, 30)),
    ],
)  # fmt: skip
def test_a_store_over_several_tasks_reads_like_one(
    tasks: Tasks,
    store: str,
    type_: QueryableStoreType[Any],
    ask: Callable[[Any], Any],
    expected: Any,
) -> None:
    assert ask(tasks.seen_as(store, type_)) == expected


def test_other_partitions_are_asked_only_for_a_key_that_its_own_does_not_have(tasks: Tasks) -> None:
    rows = tasks.seen_as("rows", queries.key_value_store())
    assert rows.get("a") == "3"
    assert tasks.asked == [1]
    rows.get("absent")
    assert tasks.asked == [1, 0, 1]


def test_a_range_asks_a_task_when_it_comes_to_it(tasks: Tasks) -> None:
    rows = tasks.seen_as("rows", queries.key_value_store()).all()
    assert tasks.asked == []
    assert next(rows) == ("ab", "5")
    assert tasks.asked == [0]


def test_what_a_store_cannot_answer_is_said_with_the_kind_of_the_error(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidStoreError, match="no window store"):
        tasks.seen_as("rows", queries.window_store()).fetch("a", 0)
    with pytest.raises(InvalidStoreError, match=r"there is no store gone; there are \['history'"):
        tasks.seen_as("gone", queries.key_value_store()).get("a")
    with pytest.raises(QueryFailed, match="cannot be asked for key int"):
        tasks.seen_as("rows", queries.key_value_store()).get(1)
    monkeypatch.setattr(store_questions, "ROWS_MAX", 1)
    with pytest.raises(InvalidStoreError, match="more than 1 rows of one partition would answer"):
        list(tasks.seen_as("rows", queries.key_value_store()).all())
    request = StateQueryRequest("rows", RangeQuery())
    refused = answered(pickled(request), tasks.drivers[0]._task)
    assert isinstance(refused, Refused)
    monkeypatch.setattr(store_questions, "ANSWER_BYTES_MAX", 5)
    with pytest.raises(InvalidStoreError, match="bytes, more than 5"):
        tasks.seen_as("rows", queries.key_value_store()).get("a")


def test_a_state_query_has_the_position_of_the_task(tasks: Tasks) -> None:
    reply = answered(pickled(StateQueryRequest("rows", KeyQuery("a"))), tasks.drivers[1]._task)
    assert not isinstance(reply, store_questions.NotHere)
    found = value_of(reply)
    assert isinstance(found, queries.QueryResult)
    assert (found.value, found.position) == ("3", {"in": {0: 1}})


def test_a_bound_is_held_against_what_the_last_commit_covers(tasks: Tasks) -> None:
    """A task that was started anew has taken no record itself."""
    request = StateQueryRequest("rows", KeyQuery("a"), position_bound={"in": {0: 7}})
    task = tasks.drivers[1]._task
    failures = []
    for covered in (6, 7):
        reply = answered(pickled(request), task, {"in": {0: covered}})
        assert not isinstance(reply, store_questions.NotHere)
        found = value_of(reply)
        assert isinstance(found, queries.QueryResult)
        assert found.position == {"in": {0: covered}}
        failures.append(found.failure)
    assert failures == [queries.FailureReason.NOT_UP_TO_BOUND, None]
