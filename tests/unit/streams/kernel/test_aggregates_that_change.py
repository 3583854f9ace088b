"""Aggregates that functions change in place: a batch gives what its records give one by one, in topics, changelog and store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from millstream.streams import Materialized, StreamsBuilder, StreamsConfig, TimeWindows
from millstream.streams.errors import SerializationError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import Serde, json, string
from millstream.streams.state import in_memory_stores
from millstream.streams.topology import Topology

Aggregate = Any  # JSON
SHARED: dict[str, Any] = {"texts": []}  # Any: JSON
"""One object for all keys, which functions must not be able to spoil."""
VALUES: Serde[Aggregate] = json()
WINDOWS = {
    "no windows": None,
    "tumbling": TimeWindows.tumbling(timedelta(milliseconds=10), grace=timedelta(seconds=1)),
    "hopping": TimeWindows.hopping(
        timedelta(milliseconds=10), advance=timedelta(milliseconds=5), grace=timedelta(seconds=1)
    ),
}
RECORDS = [
    ("a", '"x"', 1),
    ("b", '"x"', 2),
    ("a", '"y"', 14),
    ("a", '"gone"', 3),
    ("b", '"z"', 7),
    ("a", '"x"', 12),
    ("a", '"y"', 4),
]


def appended(_key: str, value: str, aggregate: Aggregate) -> Aggregate:
    aggregate["texts"].append(value)
    return None if value == "gone" else aggregate


def as_tuple(_key: str, value: str, aggregate: Aggregate) -> Aggregate:
    """JSON gives a list back for a tuple."""
    texts = aggregate["texts"] if isinstance(aggregate["texts"], list) else ["still a tuple"]
    return {"texts": (*texts, value)}


def another(_key: str, value: str, aggregate: Aggregate) -> Aggregate:
    return None if value == "gone" else {"texts": [*aggregate["texts"], value]}


def topology(
    windows: TimeWindows | None,
    aggregator: Callable[..., Aggregate],
    values: Serde[Aggregate] = VALUES,
) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=string(), value=json()).group_by_key()
    if windows is None:
        table = grouped.aggregate(
            lambda: {"texts": []}, aggregator, materialized=Materialized("texts", value=values)
        )
    else:
        table = grouped.windowed_by(windows).aggregate(
            lambda: {"texts": []}, aggregator, materialized=Materialized("texts", value=values)
        )
    table.to_stream().to("out", value=json())
    return builder.build()


def batch(records: list[tuple[str, str, int]], first: int = 0) -> RawBatch:
    return RawBatch(
        [key.encode() for key, _, _ in records],
        [value.encode() for _, value, _ in records],
        [at for _, _, at in records],
        range(first, first + len(records)),
    )


def results(given: Topology, cache_bytes: int, batches: list[RawBatch]) -> dict[str, list[object]]:
    """What is written to topics and changelogs, in their order, and what the store holds in the end."""
    config = StreamsConfig("app", default_key=string(), cache_max_bytes=cache_bytes)
    task = StreamTask(given, 0, 0, in_memory_stores(), config)
    found: dict[str, list[object]] = {}
    for each in batches:
        task.add("in", each)
        collect(found, task.process(0))
    collect(found, task.prepare_commit().output)
    task.commit()
    found["store"] = list(task.stores["texts"].rows.scan(b"", None))
    task.close()
    return found


def collect(found: dict[str, list[object]], output: Any) -> None:  # Any: a TaskOutput
    for topic, rows in (*output.sinks.items(), *output.changelogs.items()):
        columns = zip(rows.keys, rows.values, rows.timestamps, strict=True)
        found.setdefault(topic, []).extend(columns)


@pytest.mark.parametrize("aggregator", [appended, as_tuple])
@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("cache_bytes", [0, 1_000_000])
def test_a_batch_gives_what_its_records_give_one_by_one(
    aggregator: Callable[..., Aggregate], windows: str, cache_bytes: int
) -> None:
    given = topology(WINDOWS[windows], aggregator)
    together = results(given, cache_bytes, [batch(RECORDS)])
    alone = [batch([record], number) for number, record in enumerate(RECORDS)]
    assert together == results(given, cache_bytes, alone)
    assert together["app-texts-changelog"]
    assert b"still a tuple" not in repr(together).encode()


@pytest.mark.parametrize("windows", WINDOWS)
def test_values_that_nobody_changes_are_written_and_not_read_again(windows: str) -> None:
    def refuse(data: bytes) -> Aggregate:
        raise AssertionError(f"{data!r} is read")

    kept = replace(json(immutable=True), decode=refuse)
    batches = [batch(RECORDS[:3]), batch(RECORDS[3:], 3)]
    expected = results(topology(WINDOWS[windows], another), 0, batches)
    assert results(topology(WINDOWS[windows], another, kept), 0, batches) == expected


@pytest.mark.parametrize("windows", WINDOWS)
def test_a_cache_gives_the_same_of_values_that_nobody_changes(windows: str) -> None:
    batches = [batch(RECORDS[:3]), batch(RECORDS[3:], 3)]
    expected = results(topology(WINDOWS[windows], another), 1_000_000, batches)
    kept = topology(WINDOWS[windows], another, json(immutable=True))
    assert results(kept, 1_000_000, batches) == expected


def test_a_first_aggregate_that_all_keys_share_is_logged_as_it_was_then() -> None:
    """What the function does to it later is seen by the next key that begins with it, and by nobody else."""

    def shared_first(_key: str, value: str, aggregate: Aggregate) -> Aggregate:
        aggregate["texts"].append(value)
        return aggregate

    SHARED["texts"] = []
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=string(), value=json()).group_by_key()
    grouped.aggregate(
        lambda: SHARED, shared_first, materialized=Materialized("texts", value=json())
    )
    found = results(builder.build(), 0, [batch([("a", '"x"', 1), ("b", '"y"', 2)])])
    logged = [value for _, value, _ in found["app-texts-changelog"]]  # type: ignore[misc]  # rows of three
    assert logged == [b'{"texts":["x"]}', b'{"texts":["x","y"]}']


@pytest.mark.parametrize("windows", WINDOWS)
def test_an_aggregate_that_cannot_be_written_names_its_types(windows: str) -> None:
    def unwritable(_key: str, value: str, aggregate: Aggregate) -> Aggregate:
        return {"texts": object()} if value == "y" else aggregate

    config = StreamsConfig("app", default_key=string())
    task = StreamTask(topology(WINDOWS[windows], unwritable), 0, 0, in_memory_stores(), config)
    task.add("in", batch(RECORDS))
    with pytest.raises(
        SerializationError,
        match="store texts cannot write key str with serde string and value dict with serde json",
    ):
        task.process(0)
    task.close()
