"""Bytes of internal topics: those that Kafka Streams 4.3.1 writes for the same topologies and records.

An application of ours can go on from the topics of one in Java, and the other way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.streams import (
    JoinWindows,
    Materialized,
    SessionWindows,
    StoreSupplier,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
)
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import string, time_windowed
from millstream.streams.state import in_memory_stores
from tests.unit.streams.rules.rule_world import before_dot, driver_of, ms, pair, pipe

KEPT = Materialized("s")


def key_value(builder: StreamsBuilder) -> None:
    builder.stream("L").group_by_key().count(materialized=KEPT)


def window(builder: StreamsBuilder) -> None:
    windows = builder.stream("L").group_by_key().windowed_by(TimeWindows.tumbling(ms(10)))
    windows.count(materialized=KEPT)


def session(builder: StreamsBuilder) -> None:
    windows = builder.stream("L").group_by_key().windowed_by(SessionWindows.of(ms(5)))
    windows.count(materialized=KEPT)


def versioned(builder: StreamsBuilder) -> None:
    builder.table("L", materialized=Materialized(supplier=StoreSupplier("s", history=ms(100))))


def stream_join(builder: StreamsBuilder) -> None:
    left, right = builder.stream("L"), builder.stream("R")
    joined = StreamJoined(store_name="s")
    left.outer_join(right, pair, windows=JoinWindows.of(ms(5)), joined=joined)


def windowed_repartition(builder: StreamsBuilder) -> None:
    windows = builder.stream("L").group_by_key().windowed_by(TimeWindows.tumbling(ms(10)))
    last = windows.reduce(lambda one, other: other)
    last.to_stream().repartition(name="s", key=time_windowed(string(), 10))


def regrouped(builder: StreamsBuilder) -> None:
    grouped = builder.table("L").group_by(lambda key, value: (value[0], value), name="s")
    grouped.reduce(lambda one, other: other, lambda one, other: one)


def foreign_key_join(method: str) -> Callable[[StreamsBuilder], None]:
    def make(builder: StreamsBuilder) -> None:
        left: Any = builder.table("L")
        join = getattr(left, method)
        join(builder.table("R"), pair, foreign_key=before_dot, name="s")

    return make


HASHES = {"a.1": "7d74f52c6ca4f22f3e88736eb86f637c", "b.1": "0c1dc9b172ef5bf4b595654cce578ed6"}
"""Murmur3 of the left row's value."""


@pytest.mark.parametrize(
    ("make", "inputs", "topic", "expected"),
    [
        (key_value, "L:a@5", "s-changelog", [("6b", "0000000000000001", 5)]),
        (window, "L:a@15", "s-changelog", [("6b000000000000000a00000000", "0000000000000001", 15)]),
        (
            session,
            "L:a@15 L:a@17",
            "s-changelog",
            [
                ("6b000000000000000f000000000000000f", "0000000000000001", 15),
                ("6b000000000000000f000000000000000f", None, 17),
                ("6b0000000000000011000000000000000f", "0000000000000002", 17),
            ],
        ),
        (
            versioned,
            "L:a@10 L:b@5 L:-@12",
            "s-changelog",
            [("6b", "61", 10), ("6b", "62", 5), ("6b", None, 12)],
        ),
        (
            stream_join,
            "L:a@1 L:b@1",
            "s-outer-this-join-store-changelog",
            [("6b000000000000000100000001", "61", 1), ("6b000000000000000100000002", "62", 1)],
        ),
        (
            stream_join,
            "L:a@1 L:b@1 R:x@20",
            "s-outer-shared-join-store-changelog",
            [
                ("0000000000000001016b", "0100000001000000020161", 1),
                ("0000000000000001016b", "0100000002000000020161000000020162", 1),
                ("0000000000000001016b", None, 20),
                ("0000000000000014006b", "0100000001000000020078", 20),
            ],
        ),
        (windowed_repartition, "L:a@15", "s-repartition", [("6b000000000000000a", "61", 15)]),
        (
            regrouped,
            "L:a1@1 L:a2@2 L:b1@3 L:-@4",
            "s-repartition",
            [
                ("61", "613101", 1),
                ("61", "046132613102", 2),
                ("61", "613200", 3),
                ("62", "623101", 3),
                ("62", "623100", 4),
            ],
        ),
        (
            foreign_key_join("join"),
            "L:a.1@1 L:b.1@3 L:-@4",
            "s-subscription-registration-topic",
            [
                ("61", f"0103{HASHES['a.1']}6b00000000", 1),
                ("61", f"0100{HASHES['b.1']}6b00000000", 3),
                ("62", f"0102{HASHES['b.1']}6b00000000", 3),
                ("62", "81016b00000000", 4),
            ],
        ),
        (
            foreign_key_join("left_join"),
            "L:a.1@1 R:a=x@2 L:b.1@3 L:-@4",
            "s-subscription-response-topic",
            [
                ("6b", f"00{HASHES['a.1']}", 1),
                ("6b", f"00{HASHES['a.1']}78", 2),
                ("6b", f"00{HASHES['b.1']}", 3),
                ("6b", "80", 4),
            ],
        ),
        (
            foreign_key_join("left_join"),
            "L:a.1@1 L:b.1@3",
            "s-subscription-store-changelog",
            [
                ("00000001616b", f"0102{HASHES['a.1']}6b00000000", 1),
                ("00000001616b", None, 3),
                ("00000001626b", f"0102{HASHES['b.1']}6b00000000", 3),
            ],
        ),
    ],
)
def test_internal_topics_have_the_bytes_of_kafka_streams(make, inputs: str, topic: str, expected: list[Any]) -> None:  # fmt: skip
    builder = StreamsBuilder()
    make(builder)
    with driver_of(builder) as driver:
        for token in inputs.split():
            pipe(driver, token)
        found = driver.read_bytes(f"app-{topic}")
    assert [
        (row.key.hex(), row.value and row.value.hex(), row.timestamp) for row in found
    ] == expected


BUFFERED = [
    (
        "6b",
        (
            "0000000000000005 0000000000000000 00000001 4c"
            "00000000 00000001 00000001 68 00000001 31 ffffffff ffffffff 00000001 61 0000000000000005"
        ),
    ),
    (
        "6b",
        (
            "0000000000000006 0000000000000001 00000001 4c"
            "00000000 00000000 ffffffff 00000001 61 00000001 62 0000000000000005"
        ),
    ),
    (
        "7a",
        (
            "000000000000001e 0000000000000002 00000001 4c"
            "00000000 00000000 ffffffff ffffffff 00000001 63 000000000000001e"
        ),
    ),
    ("6b", None),
]
"""Timestamp, offset, topic, partition, headers; value before all (ff…: none), old value (ff…fe: the same), new value, time."""


def suppressed() -> StreamsBuilder:
    builder = StreamsBuilder()
    builder.table("L").suppress(Suppressed.until_time_limit(ms(5), name="s")).to_stream().to("out")
    return builder


def test_rows_of_a_suppression_buffer_have_the_bytes_of_kafka_streams() -> None:
    with driver_of(suppressed()) as driver:
        driver.input_topic("L").pipe("k", "a", at=5, headers=(("h", b"1"),))
        pipe(driver, "L:b@6")
        pipe(driver, "L:z=c@30")
        rows = driver.read_bytes("app-s-store-changelog")
    expected = [(key, value and value.replace(" ", "")) for key, value in BUFFERED]
    assert [(row.key.hex(), row.value and row.value.hex()) for row in rows] == expected
    assert [row.headers for row in rows] == [(("v", b"\x03"),)] * 3 + [()]


def test_a_buffer_that_is_restored_from_those_bytes_goes_on() -> None:
    config = StreamsConfig("app", string(), string())
    task = StreamTask(suppressed().build(), 0, 0, in_memory_stores(), config)
    key, value = BUFFERED[1]
    restored = RawBatch(
        [bytes.fromhex(key)], [bytes.fromhex(value)], [6], [1], [(("v", b"\x03"),)]
    )  # fmt: skip
    task.state.restore("app-s-store-changelog", restored)
    task.add("L", RawBatch([b"z"], [b"c"], [30], [2]))
    out = task.process(0).sinks["out"]
    assert (out.keys, out.values, out.timestamps) == ([b"k"], [b"b"], [6])


def test_records_that_wait_for_a_versioned_table_have_the_bytes_of_kafka_streams() -> None:
    builder = StreamsBuilder()
    history = Materialized(supplier=StoreSupplier("v", history=ms(100)))
    table = builder.table("R", materialized=history)
    builder.stream("L").join(table, pair, grace=ms(5), name="s").to("out")
    with driver_of(builder) as driver:
        driver.input_topic("L").pipe("k", "a", at=10, headers=(("h", b"1"),))
        pipe(driver, "L:b@20")
        rows = driver.read_bytes("app-s-Buffer-changelog")
    assert [(row.key.hex(), row.value and row.value.hex()) for row in rows] == [
        (
            "00000000000000000a6b00000001",
            (
                "000000000000000a0000000000000000000000014c00000000000000010000000168"
                "0000000131ffffffffffffffff00000001610000000000000000"
            ),
        ),
        (
            "0000000000000000146b00000002",
            (
                "00000000000000140000000000000001000000014c00000000"
                "00000000ffffffffffffffff00000001620000000000000000"
            ),
        ),
        ("00000000000000000a6b00000001", None),
    ]
