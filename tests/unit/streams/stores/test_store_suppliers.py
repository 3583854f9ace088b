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
