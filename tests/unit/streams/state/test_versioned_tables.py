"""Versioned stores (KIP-889), tables that are kept in them (KIP-914), and stream-table joins that wait for them (KIP-923)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.streams import Materialized, StoreSupplier, StreamsBuilder, Suppressed
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import string
from millstream.streams.state import MemoryByteStore, TransactionalRows
from millstream.streams.state.changelog import Changelog
from millstream.streams.state.key_value.versioned import (
    NOT_PUT,
    VALID_TO_UNDEFINED,
    VersionedKeyValueStore,
)
from millstream.streams.state.store import StoreParts
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing.streams.topology_test_driver import TopologyTestDriver


def ms(count):
    return timedelta(milliseconds=count)


def versioned(name="ver", history=100):
    return Materialized(supplier=StoreSupplier(name, history=ms(history)))


@pytest.fixture
def store():
    return opened(MemoryByteStore())


def opened(rows, history=100):
    spec = StoreSpec("ver", StoreKind.VERSIONED, retention_ms=history)
    changelog = Changelog("app-ver-changelog")
    return VersionedKeyValueStore(
        StoreParts(spec, TransactionalRows(rows), string(), string(), changelog)
    )


# --- the store


def test_a_version_is_valid_until_the_next_one_begins(store):
    store.put("k", "a", 10)
    store.put("k", "b", 20)
    assert store.get("k", 9) is None
    assert store.get("k", 10) == ("a", 10, 20)
    assert store.get("k", 19) == ("a", 10, 20)
    assert store.get("k", 20) == store.get("k") == ("b", 20, None)


def test_put_tells_when_the_version_ends(store):
    assert store.put("k", "b", 20) == VALID_TO_UNDEFINED
    assert store.put("k", "a", 10) == 20
    assert store.get("k", 15) == ("a", 10, 20)


def test_a_put_at_the_same_time_replaces_the_version(store):
    store.put("k", "a", 10)
    assert store.put("k", "b", 10) == VALID_TO_UNDEFINED
    assert store.get("k") == ("b", 10, None)


def test_a_deletion_ends_the_version_before_it_and_is_one_itself(store):
    store.put("k", "a", 10)
    assert store.delete("k", 20) == ("a", 10, None)
    assert store.get("k") is None
    assert store.get("k", 19) == ("a", 10, 20)
    assert store.put("k", "late", 15) == 20


def test_a_deletion_of_the_only_version_at_its_own_time_leaves_no_trace(store):
    store.put("k", "a", 10)
    store.put("k", None, 10)
    assert store.put("k", "b", 5) == VALID_TO_UNDEFINED


@pytest.mark.parametrize(
    "before",
    [
        [(None, 10), ("a", 10)],  # it is not the first deletion at that time
        [("a", 10), ("b", 5)],  # a value ends there
        [("a", 10), (None, 5)],  # so does a deletion that came late
        [("a", 10), ("b", 5), (None, 5), ("c", 10)],
    ],
)
def test_a_deletion_at_the_time_of_the_newest_version_stays_where_something_ended_before(
    store, before
):
    """As 4.3.1 does, which was asked with all sequences of four puts at two times."""
    for value, at in before:
        store.put("k", value, at)
    store.put("k", None, 10)
    assert store.get("k") is None
    assert store.put("k", "late", 7) == 10
    assert store.get("k") is None


def test_what_is_older_than_the_history_is_not_put_but_written_to_the_changelog(store):
    store.put("k", "new", 200)
    store.changelog.take()
    assert store.put("k", "old", 99) == NOT_PUT
    assert store.put("k", "edge", 100) == 200
    assert store.changelog.take() == ([b"k", b"k"], [b"old", b"edge"], [99, 100])
    assert store.expired_puts == 1


def test_the_newest_version_never_expires_and_older_ones_do(store):
    store.put("quiet", "a", 5)
    store.put("quiet", "b", 10)
    store.put("loud", "x", 500)
    assert store.get("quiet") == store.get("quiet", 300) == ("b", 10, None)
    assert store.get("quiet", 7) is None


def test_restoring_the_changelog_gives_the_same_history(store):
    for value, at in (("b", 20), ("a", 10), (None, 30)):
        store.put("k", value, at)
    restored = opened(MemoryByteStore())
    restored.restore(*store.changelog.take(), 3)
    assert [restored.get("k", at) for at in (5, 15, 25, 35)] == [
        None,
        ("a", 10, 20),
        ("b", 20, 30),
        None,
    ]


def test_history_and_stream_time_survive_reopening():
    rows = MemoryByteStore()
    store = opened(rows)
    store.put("k", "new", 200)
    store.commit(changelog_offset=1, marker=None)
    assert opened(rows).put("k", "old", 50) == NOT_PUT


# --- tables


def run(build, *inputs):
    """`topic key value time` a line; gives `key=value@time` for each output of each input."""
    builder = StreamsBuilder()
    build(builder).to("out", key=string(), value=string())
    outputs = []
    with TopologyTestDriver(builder.build()) as driver:
        out = driver.output_topic("out", key=string(), value=string())
        for line in inputs:
            topic, key, value, at = line.split()
            given = driver.input_topic(topic, key=string(), value=string())
            given.pipe(key, None if value == "-" else value, at=int(at))
            outputs.append([f"{r.key}={r.value}@{r.timestamp}" for r in out.read()])
    return outputs


def table(builder, topic="t", **options):
    return builder.table(topic, key=string(), value=string(), materialized=versioned(**options))


def test_a_stream_record_meets_the_row_of_its_own_time():
    def build(builder):
        stream = builder.stream("s", key=string(), value=string())
        return stream.left_join(table(builder), lambda left, right: f"{left}{right}")

    outputs = run(build, "t k a 10", "t k b 20", "s k x 15", "s k y 25", "s k z 5")
    assert outputs[2:] == [["k=xa@15"], ["k=yb@25"], ["k=zNone@5"]]


def test_an_update_out_of_order_does_not_reach_an_aggregate():
    def build(builder):
        grouped = table(builder).group_by(
            lambda key, value: ("all", value), key=string(), value=string()
        )
        return grouped.reduce(lambda a, v: a + v, lambda a, v: a.replace(v, "", 1)).to_stream()

    outputs = run(build, "t k a 10", "t k b 5", "t k c 20")
    assert outputs == [["all=a@10"], [], ["all=c@20"]]


def test_an_update_older_than_the_history_goes_nowhere():
    outputs = run(lambda b: table(b, history=10).to_stream(), "t k a 100", "t k b 89", "t k c 90")
    assert outputs == [["k=a@100"], [], ["k=c@90"]]


def test_updates_out_of_order_go_on_where_nothing_keeps_one_value_a_row():
    outputs = run(lambda b: table(b).map_values(str.upper).to_stream(), "t k a 10", "t k b 5")
    assert outputs == [["k=A@10"], ["k=B@5"]]


def test_suppressing_a_versioned_table_is_refused_with_what_to_do():
    with pytest.raises(TopologyError, match="suppress an aggregation of it"):
        table(StreamsBuilder()).suppress(Suppressed.until_time_limit(ms(5)))


# --- joins that wait


def joined_with_grace(builder):
    stream = builder.stream("s", key=string(), value=string())
    return stream.join(table(builder), lambda left, right: f"{left}{right}", grace=ms(10))


def test_a_record_waits_until_its_grace_period_is_over():
    outputs = run(joined_with_grace, "s k x 20", "t k a 15", "s k y 29", "s k z 30")
    assert outputs == [[], [], [], ["k=xa@20"]]


def test_a_record_older_than_the_grace_period_is_joined_at_once():
    outputs = run(joined_with_grace, "t k a 1", "s k x 50", "s k late 39")
    assert outputs == [[], [], ["k=latea@39"]]


def test_a_grace_period_needs_a_versioned_table():
    builder = StreamsBuilder()
    stream = builder.stream("s", key=string(), value=string())
    plain = builder.table("t", key=string(), value=string())
    with pytest.raises(ValueError, match="needs a versioned table"):
        stream.join(plain, lambda left, right: left, grace=ms(10))


def test_a_grace_period_longer_than_the_history_is_refused():
    builder = StreamsBuilder()
    stream = builder.stream("s", key=string(), value=string())
    with pytest.raises(ValueError, match="raise the history"):
        stream.join(table(builder, history=5), lambda left, right: left, grace=ms(10))
