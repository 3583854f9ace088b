"""Several partitions and a task for each give the tables that one partition gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.streams import Materialized, StreamsBuilder, TimeWindows
from millstream.streams.serdes import string, time_windowed
from tests.unit.streams.kernel.partitioned_world import PartitionedRun
from tests.unit.streams.rules.rule_world import TEXT, before_dot, ms, pair

Make = Callable[[StreamsBuilder], None]


def to_out(table: Any, key: Any = None) -> None:
    table.to_stream().to("out", key=key or TEXT, value=TEXT)


def counted(builder: StreamsBuilder) -> None:
    to_out(builder.stream("L").group_by(lambda key, value: value[0]).count())


def windows(builder: StreamsBuilder) -> None:
    by_value = builder.stream("L").group_by(lambda key, value: value[0])
    counts = by_value.windowed_by(TimeWindows.tumbling(ms(10), grace=ms(1_000))).count()
    to_out(counts, time_windowed(string(), 10))


def looked_up(builder: StreamsBuilder) -> None:
    table = builder.stream("L").map(lambda key, value: (value[0], value)).to_table(name="t")
    to_out(table.join(builder.table("R"), pair))


def regrouped(builder: StreamsBuilder) -> None:
    to_out(builder.table("L").group_by(lambda key, value: (value[0], value)).count())


def foreign_keys(builder: StreamsBuilder) -> None:
    to_out(builder.table("L").join(builder.table("R"), pair, foreign_key=before_dot))


def left_foreign_keys(builder: StreamsBuilder) -> None:
    to_out(builder.table("L").left_join(builder.table("R"), pair, foreign_key=before_dot))


def with_partitioner(builder: StreamsBuilder) -> None:
    def backwards(topic: str, key: Any, value: Any, partitions: int) -> int:
        return partitions - 1 - ord(key[0]) % partitions

    stream = builder.stream("L").select_key(lambda key, value: value[0])
    moved = stream.repartition(name="r", partitions=4, partitioner=backwards)
    to_out(moved.group_by_key().count(materialized=Materialized("counts")))


TABLES = {regrouped, foreign_keys, left_foreign_keys}
"""Read topic L as a table: a null value is a deletion."""

INPUTS = [
    ("R", "a", "right a"),
    *[("L", f"k{number}", f"{'abc'[number % 3]}.{number}") for number in range(12)],
    ("R", "b", "right b"),
    *[("L", f"k{number}", f"{'bca'[number % 3]}.{number}") for number in range(0, 12, 2)],
    ("L", "k1", None),
    ("R", "a", None),
    ("R", "c", "right c"),
    ("R", "b", "right b again"),
]


def table_of(make: Make, partitions: dict[str, int]) -> tuple[dict[Any, bytes], PartitionedRun]:
    builder = StreamsBuilder()
    make(builder)
    run = PartitionedRun(builder.build(), {"L": 1, "R": 1, "out": 1} | partitions)
    for at, (topic, key, value) in enumerate(INPUTS):
        if topic in run.logs and (value is not None or make in TABLES):
            run.pipe(topic, key, value, at)
    return run.latest("out"), run


@pytest.mark.parametrize(
    ("make", "partitions"),
    [
        (counted, {"L": 3, "out": 2}),
        (windows, {"L": 3, "out": 4}),
        (looked_up, {"L": 2, "R": 3, "out": 2}),
        (regrouped, {"L": 3, "out": 2}),
        (foreign_keys, {"L": 2, "R": 3, "out": 2}),
        (foreign_keys, {"L": 5, "R": 2, "out": 1}),
        (left_foreign_keys, {"L": 3, "R": 4, "out": 2}),
    ],
)
def test_the_tables_are_those_of_one_partition(make: Make, partitions: dict[str, int]) -> None:
    expected, _ = table_of(make, {})
    found, run = table_of(make, partitions)
    assert found == expected
    assert len(expected) >= 2
    assert all(len(places) == 1 for places in run.partitions_of("out").values())


def test_all_windows_of_a_key_go_to_one_partition() -> None:
    _, run = table_of(windows, {"L": 3, "out": 4})
    by_key: dict[bytes, set[int]] = {}
    for key, places in run.partitions_of("out").items():
        assert key is not None
        by_key.setdefault(key[:-8], set()).update(places)
    assert len(by_key) == 3
    assert all(len(places) == 1 for places in by_key.values())


def test_a_partitioner_decides_where_the_rows_of_a_repartition_go() -> None:
    found, run = table_of(with_partitioner, {"L": 3})
    places = run.partitions_of("app-r-repartition")
    assert places == {b"a": {2}, b"b": {1}, b"c": {0}}
    assert set(found) == {b"a", b"b", b"c"}


def test_a_global_table_is_whole_for_every_task() -> None:
    def make(builder: StreamsBuilder) -> None:
        table = builder.global_table("R")
        found = builder.stream("L").join(table, pair, on=lambda key, value: value[0])
        found.to("out", key=TEXT, value=TEXT)

    builder = StreamsBuilder()
    make(builder)
    run = PartitionedRun(builder.build(), {"L": 3, "R": 2, "out": 1})
    for key in ("a", "b"):
        run.pipe("R", key, f"right {key}", 0)
    for number in range(6):
        run.pipe("L", f"k{number}", "ab"[number % 2], number)
    assert (
        len({partition for places in run.partitions_of("L").values() for partition in places}) > 1
    )
    assert run.latest("out") == {
        f"k{number}".encode(): f"{'ab'[number % 2]}|right {'ab'[number % 2]}".encode()
        for number in range(6)
    }


def test_partitioners_of_a_foreign_key_join_find_the_rows_of_both_tables() -> None:
    """TableJoined: the left one places answers, the right one subscriptions; both know the key alone (KIP-775)."""
    asked: list[tuple[str, Any, Any, int]] = []

    def backwards(topic: str, key: Any, value: Any, partitions: int) -> int:
        asked.append((topic, key, value, partitions))
        return partitions - 1 - ord(key[-1]) % partitions

    def always_last(topic: str, key: Any, value: Any, partitions: int) -> int:
        asked.append((topic, key, value, partitions))
        return partitions - 1

    builder = StreamsBuilder()
    joined = builder.table("L").left_join(
        builder.table("R"),
        pair,
        foreign_key=before_dot,
        name="fk",
        partitioners=(backwards, always_last),
    )
    to_out(joined)
    run = PartitionedRun(builder.build(), {"L": 3, "R": 2, "out": 1})
    for at, (topic, key, value) in enumerate(INPUTS):
        place = backwards(topic, key, value, 3) if topic == "L" else 1
        run.pipe(topic, key, value, at, place)
    assert run.latest("out") == table_of(left_foreign_keys, {})[0]
    subscriptions, answers = (
        f"app-fk-subscription-{name}-topic" for name in ("registration", "response")
    )
    assert set().union(*run.partitions_of(subscriptions).values()) == {1}
    assert run.partitions_of(answers)[b"k3"] == {2 - ord("3") % 3}
    by_join = [call for call in asked if call[0].startswith("app-")]
    assert {call[2] for call in by_join} == {None}
    assert {(call[0], call[3]) for call in by_join} == {(subscriptions, 2), (answers, 3)}
