"""Options of Kafka Streams that no other test reaches: what each Java overload sets can be set here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest

from millstream.streams import (
    GlobalKTable,
    KTable,
    Materialized,
    OffsetReset,
    Record,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    Topology,
    TopologyBuilder,
)
from millstream.streams.serdes import long, string
from millstream.streams.timestamps import log_and_skip
from millstream.streams.topology import SourceNode, StoreKind, StoreSpec
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

TEXT = StreamsConfig("app", default_key=string(), default_value=string())


class Forget:
    def process(self, record: Record) -> None:
        pass


def always(key: object, value: object) -> bool:
    return True


def both(left: object, right: object) -> object:
    return left, right


def source(topology: Topology, name: str) -> SourceNode:
    node = topology.nodes[name]
    assert isinstance(node, SourceNode)
    return node


QUERYABLE: dict[str, tuple[Callable[[StreamsBuilder], KTable | GlobalKTable], str | None]] = {
    "table": (lambda b: b.table("t"), None),
    "named table": (lambda b: b.table("t", materialized=Materialized("rows")), "rows"),
    "global table": (lambda b: b.global_table("t"), None),
    "named global table": (
        lambda b: b.global_table("t", materialized=Materialized("rows")),
        "rows",
    ),
    "filter of a named table": (
        lambda b: b.table("t", materialized=Materialized("rows")).filter(always),
        None,
    ),
    "filter with options but no name": (
        lambda b: b.table("t").filter(always, materialized=Materialized(caching=False)),
        None,
    ),
    "named filter": (
        lambda b: b.table("t").filter(always, materialized=Materialized("kept")),
        "kept",
    ),
    "count": (lambda b: b.stream("s").group_by_key().count(), None),
    "named windowed count": (
        lambda b: (
            b.stream("s")
            .group_by_key()
            .windowed_by(TimeWindows.tumbling(timedelta(1)))
            .count(materialized=Materialized("counts"))
        ),
        "counts",
    ),
    "named cogrouped aggregation": (
        lambda b: (
            b.stream("s")
            .group_by_key()
            .cogroup(lambda key, value, total: total)
            .aggregate(int, materialized=Materialized("sums"))
        ),
        "sums",
    ),
    "named join": (
        lambda b: b.table("l").join(b.table("r"), both, materialized=Materialized("joined")),
        "joined",
    ),
    "suppressed": (
        lambda b: b.table("t", materialized=Materialized("rows")).suppress(
            Suppressed.until_time_limit(timedelta(1), name="late")
        ),
        None,
    ),
}


@pytest.mark.parametrize("case", QUERYABLE)
def test_a_table_tells_the_store_that_the_user_has_named(case: str) -> None:
    make, name = QUERYABLE[case]
    assert make(StreamsBuilder()).queryable_store_name == name


def test_a_stream_is_printed_to_a_file_by_a_mapper() -> None:
    builder, file = StreamsBuilder(), StringIO()
    builder.stream("in").print(
        label="seen", mapper=lambda key, value: f"{value} of {key}", write=partial(print, file=file)
    )
    with TopologyTestDriver(builder.build(), TEXT) as driver:
        driver.pipe_bytes("in", b"a", b"one", timestamp=0)
        driver.pipe_bytes("in", b"b", None, timestamp=0)
    assert file.getvalue() == "[seen]: one of a\n[seen]: None of b\n"


def test_a_source_begins_where_its_reset_says() -> None:
    """KIP-1106: a duration, counted back from now."""
    builder = StreamsBuilder()
    builder.stream("in", name="s", reset=timedelta(hours=6))
    builder.table("t", name="t", reset=OffsetReset.LATEST)
    topology = builder.build()
    assert source(topology, "s").reset == timedelta(hours=6)
    assert source(topology, "t-source").reset is OffsetReset.LATEST


def test_sources_of_global_stores_have_serdes_and_extractors() -> None:
    store = StoreSpec("rows", StoreKind.KEY_VALUE, persistent=False)
    builder = StreamsBuilder()
    builder.add_global_store(
        store, "g", Forget, key=string(), value=long(), timestamps=log_and_skip, name="fill"
    )
    nodes = TopologyBuilder().add_global_store(
        store,
        "fill-source",
        "g",
        "fill",
        Forget,
        key=string(),
        value=long(),
        timestamps=log_and_skip,
    )
    for topology in (builder.build(), nodes.build()):
        found = source(topology, "fill-source")
        assert (found.topics, found.timestamps) == (("g",), log_and_skip)
        assert (found.key.name, found.value.name) == ("string", "long")


def test_the_settings_of_a_changelog_are_those_of_the_store() -> None:
    builder = StreamsBuilder()
    builder.table("t", materialized=Materialized("rows", logging={"retention.ms": "7"}))
    builder.table("u", materialized=Materialized("unlogged", logging=False))
    stores = builder.build().stores
    assert stores["rows"].changelog_config()["retention.ms"] == "7"
    assert not stores["unlogged"].logging
