"""Stores chosen by hand: what is taken from the supplier, and what a join refuses."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millstream.streams import (
    JoinWindows,
    Materialized,
    StoreSupplier,
    StoreType,
    StreamJoined,
    StreamsBuilder,
    TimeWindows,
    Topology,
)
from millstream.streams.errors import StreamsError
from millstream.streams.serdes import long, string
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

SECOND = timedelta(seconds=1)
JOIN_STORE = StoreSupplier(
    "left",
    StoreType.IN_MEMORY,
    retention=2 * SECOND,
    window_size=2 * SECOND,
    retain_duplicates=True,
)


def joined(this: StoreSupplier, other: StoreSupplier) -> Topology:
    builder = StreamsBuilder()
    builder.stream("one").join(
        builder.stream("two"),
        lambda left, _right: left,
        windows=JoinWindows.of(SECOND),
        joined=StreamJoined(this_supplier=this, other_supplier=other),
    )
    return builder.build()


def test_rows_live_as_long_as_the_supplier_says_and_the_changelog_as_long_as_the_windows() -> None:
    builder = StreamsBuilder()
    supplier = StoreSupplier("mine", StoreType.IN_MEMORY, retention=60 * SECOND, window_size=SECOND)
    windows = TimeWindows.tumbling(SECOND, grace=SECOND)
    grouped = builder.stream("in").group_by_key()
    grouped.windowed_by(windows).count(materialized=Materialized(supplier=supplier))
    store = builder.build().stores["mine"]
    assert not store.persistent
    assert store.retention_ms == 60_000
    assert store.changelog_config(0)["retention.ms"] == "2000"


def test_a_join_keeps_its_records_in_the_given_stores() -> None:
    topology = joined(JOIN_STORE, replace(JOIN_STORE, name="right", type=StoreType.ROCKSDB))
    assert {name: store.persistent for name, store in topology.stores.items()} == {
        "left": False,
        "right": True,
    }


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (replace(JOIN_STORE, name="right", retention=60 * SECOND), "retention of 60000 ms"),
        (replace(JOIN_STORE, name="right", window_size=SECOND), "windows of 1000 ms"),
        (replace(JOIN_STORE, name="right", retain_duplicates=False), "must retain duplicates"),
        (JOIN_STORE, "use two stores"),
    ],
)
def test_a_join_refuses_a_store_that_does_not_fit(other: StoreSupplier, reason: str) -> None:
    with pytest.raises(StreamsError, match=reason):
        joined(JOIN_STORE, other)


@pytest.mark.parametrize(("timestamped", "time"), [(True, 20), (False, 10)])
def test_an_update_of_a_row_without_timestamp_has_the_time_of_its_record(
    timestamped: bool, time: int
) -> None:
    """Stores.persistentKeyValueStore: what Kafka Streams 4.3.1 gives."""
    builder = StreamsBuilder()
    supplier = StoreSupplier("counts", timestamped=timestamped)
    words = builder.stream("in", key=string(), value=string())
    counts = words.group_by_key().count(materialized=Materialized(supplier=supplier))
    counts.to_stream().to("out", value=long())
    with TopologyTestDriver(builder.build()) as driver:
        topic = driver.input_topic("in", key=string(), value=string())
        topic.pipe("a", "x", at=20)
        topic.pipe("a", "y", at=10)
        assert [r.timestamp for r in driver.read_bytes("out")] == [20, time]
        assert [r.timestamp for r in driver.read_bytes("test-counts-changelog")] == [20, time]


@pytest.mark.parametrize(
    "options", [{"type": StoreType.IN_MEMORY}, {"with_headers": True}, {"history": SECOND}]
)
def test_only_plain_stores_on_disk_go_without_timestamps(options) -> None:
    with pytest.raises(ValueError, match="store mine: timestamped=False belongs to type ROCKSDB"):
        StoreSupplier("mine", timestamped=False, **options)
