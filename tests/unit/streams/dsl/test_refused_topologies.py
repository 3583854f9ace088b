"""Topologies of the DSL that cannot be built are refused by a sentence with the node and the cure.

Each was given to Kafka Streams 4.3.1 as well. A TopologyException there is a TopologyError here, a NullPointerException a
TypeError, an IllegalArgumentException a ValueError. Those marked "stricter" it takes and fails later, or does
what nobody wants.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from millstream.errors import ConfigError
from millstream.streams import (
    JoinWindows,
    KStream,
    KTable,
    Materialized,
    OffsetReset,
    Record,
    StoreSupplier,
    StoreType,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
)
from millstream.streams.errors import StreamsError, TopologyError
from millstream.streams.topology import StoreKind, StoreSpec


class Forget:
    def process(self, record: Record) -> None:
        pass


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def rows(name: str = "rows") -> StoreSpec:
    return StoreSpec(name, StoreKind.KEY_VALUE, persistent=False)


def both(left: object, right: object) -> object:
    return left, right


def always(key: object, value: object) -> bool:
    return True


def value_of(key: object, value: object) -> object:
    return value


def rekeyed(builder: StreamsBuilder) -> KStream:
    return builder.stream("in").select_key(value_of)


def versioned(builder: StreamsBuilder, history: int = 10) -> KTable:
    supplier = StoreSupplier("history", history=ms(history))
    return builder.table("t", materialized=Materialized(supplier=supplier))


def joined(**options: object) -> Callable[[StreamsBuilder], object]:
    windows = JoinWindows.of(ms(10))
    return lambda b: b.stream("in").join(
        b.stream("other"), both, windows=windows, joined=StreamJoined(**options)
    )


def supplier(retention: int = 20, size: int = 20, *, duplicates: bool = True) -> StoreSupplier:
    return StoreSupplier(
        "kept",
        StoreType.IN_MEMORY,
        retention=ms(retention),
        window_size=ms(size),
        retain_duplicates=duplicates,
    )


def twice(call: Callable[[StreamsBuilder], object]) -> Callable[[StreamsBuilder], object]:
    return lambda builder: (call(builder), call(builder))


Refused = dict[str, tuple[Callable[[StreamsBuilder], object], type[Exception], str]]

SOURCES: Refused = {
    "no topics": (
        lambda b: b.stream([]),
        TopologyError,
        "stream: give at least one topic, or a pattern",
    ),
    "topic that is no text": (
        lambda b: b.stream(None),
        TypeError,
        "stream: topics are a str or several, not None",
    ),
    "topics and a pattern": (
        lambda b: b.stream("in", pattern="i."),
        TypeError,
        "stream: give topics or a pattern, not both",
    ),
    "pattern that is none": (
        lambda b: b.stream(pattern="["),
        ValueError,
        "stream: '[' is no regular expression: unterminated character set at position 0",
    ),
    "topic that no broker can have (stricter)": (
        lambda b: b.stream("in put"),
        TopologyError,
        (
            "the topic of a stream may contain ASCII letters, digits, '.', '_' and '-' only, not so 'in put'"
        ),
    ),
    "topic of a sink that no broker can have (stricter)": (
        lambda b: b.stream("in").to("large orders"),
        TopologyError,
        "the topic of a sink may contain ASCII letters, digits, '.', '_' and '-' only, not so 'large orders'",
    ),
    "topic of a table that no broker can have (stricter)": (
        lambda b: b.table(""),
        TopologyError,
        "the topic of a table must not be empty",
    ),
    "stream and table of one topic": (
        lambda b: (b.stream("in").to("out"), b.table("in")),
        TopologyError,
        "topic in of KSTREAM-SOURCE-0000000003 is read by source KSTREAM-SOURCE-0000000000 already: use that source",
    ),
    "two tables of one topic": (
        twice(lambda b: b.table("in")),
        TopologyError,
        "topic in of KSTREAM-SOURCE-0000000004 is read by source KSTREAM-SOURCE-0000000001 already: use that source",
    ),
    "stream and global table of one topic": (
        lambda b: (b.stream("in").to("out"), b.global_table("in")),
        TopologyError,
        "topic in of KSTREAM-SOURCE-0000000003 is read by source KSTREAM-SOURCE-0000000000 already: use that source",
    ),
    "overlapping topics": (
        lambda b: (b.stream("in").to("out"), b.stream(["in", "more"]).to("out")),
        TopologyError,
        (
            "sources KSTREAM-SOURCE-0000000000 and KSTREAM-SOURCE-0000000002 read overlapping but not equal topics "
            "(in is in both): read equal sets of topics, or read them once"
        ),
    ),
    "topic and a pattern that matches it": (
        lambda b: (b.stream("in").to("out"), b.stream(pattern="i.").to("out")),
        TopologyError,
        (
            "pattern i. of KSTREAM-SOURCE-0000000002 matches topic in, which source KSTREAM-SOURCE-0000000000 reads: "
            "narrow the pattern"
        ),
    ),
    "one topic from two places": (
        lambda b: (b.stream("in", reset=OffsetReset.EARLIEST), b.stream("in")),
        TopologyError,
        (
            "sources KSTREAM-SOURCE-0000000000 and KSTREAM-SOURCE-0000000001 of topic in begin at different offsets "
            "(earliest, application's default): give both the same reset"
        ),
    ),
    "one pattern from two places": (
        lambda b: (
            b.stream(pattern="i.", reset=OffsetReset.EARLIEST),
            b.stream(pattern="i.", reset=OffsetReset.LATEST),
        ),
        TopologyError,
        (
            "sources KSTREAM-SOURCE-0000000000 and KSTREAM-SOURCE-0000000001 of pattern i. begin at different offsets "
            "(earliest, latest): give both the same reset"
        ),
    ),
    "reset that is none": (
        lambda b: b.table("in", reset="earliest"),
        TypeError,
        "table: reset is an OffsetReset or a timedelta, not 'earliest'",
    ),
    "reset by less than nothing": (
        lambda b: b.stream("in", reset=timedelta(seconds=-1)),
        ValueError,
        "stream: reset goes back by a duration, which is not negative: -1 day, 23:59:59",
    ),
    "versioned global table": (
        lambda b: b.global_table(
            "g", materialized=Materialized(supplier=StoreSupplier("h", history=ms(1)))
        ),
        TopologyError,
        "global table of topic g cannot have a history: choose a supplier without one",
    ),
}

NAMES: Refused = {
    "empty": (
        lambda b: b.stream("in", name=""),
        TopologyError,
        "a name must not be empty",
    ),
    "dots": (
        lambda b: b.stream("in").filter(always, name=".."),
        TopologyError,
        "a name must not be '..'",
    ),
    "too long": (
        lambda b: b.stream("in").filter(always, name="a" * 250),
        TopologyError,
        f"a name has at most 249 characters, {'a' * 250!r} has more",
    ),
    "umlaut": (
        lambda b: b.stream("in").filter(always, name="größer"),
        TopologyError,
        "a name may contain ASCII letters, digits, '.', '_' and '-' only, not so 'größer'",
    ),
    "store": (
        lambda b: b.table("in", materialized=Materialized("my rows")),
        TopologyError,
        "a name may contain ASCII letters, digits, '.', '_' and '-' only, not so 'my rows'",
    ),
    "suppress (stricter)": (
        lambda b: b.table("in").suppress(Suppressed.until_time_limit(ms(1), name="a b")),
        TopologyError,
        "a name may contain ASCII letters, digits, '.', '_' and '-' only, not so 'a b'",
    ),
    "two filters": (
        twice(lambda b: b.stream("in").filter(always, name="mine")),
        TopologyError,
        "a node named mine exists already: choose another name",
    ),
    "source and filter": (
        lambda b: b.stream("in", name="mine").filter(always, name="mine"),
        TopologyError,
        "a node named mine exists already: choose another name",
    ),
    "two default branches": (
        lambda b: (split := b.stream("in").split(), split.default_branch(), split.default_branch()),
        TopologyError,
        "a node named KSTREAM-BRANCH-00000000010 exists already: choose another name",
    ),
    "two branches": (
        lambda b: b.stream("in").split().branch(always, name="x").branch(always, name="x"),
        TopologyError,
        "a node named KSTREAM-BRANCH-0000000001x exists already: choose another name",
    ),
    "two table joins": (
        lambda b: (
            left := b.table("l"),
            right := b.table("r"),
            left.join(right, both, name="mine"),
            left.join(right, both, name="mine"),
        ),
        TopologyError,
        "a node named mine-join-this exists already: choose another name",
    ),
    "two foreign-key joins": (
        lambda b: (
            left := b.table("l"),
            right := b.table("r"),
            left.join(right, both, foreign_key=len, name="mine"),
            left.join(right, both, foreign_key=len, name="mine"),
        ),
        TopologyError,
        "a node named mine-subscription-registration-processor exists already: choose another name",
    ),
    "repartition topic of two joins": (
        lambda b: (
            table := b.table("t"),
            stream := rekeyed(b),
            stream.join(table, both, name="mine"),
            stream.join(table, both, name="mine"),
        ),
        TopologyError,
        "a node named mine-repartition-filter exists already: choose another name",
    ),
    "repartition topic of two stream joins": (
        lambda b: [
            rekeyed(b).join(
                b.stream("other"),
                both,
                windows=JoinWindows.of(ms(1)),
                joined=StreamJoined(name="mine"),
            )
            for _ in range(2)
        ],
        TopologyError,
        "a node named mine-left-repartition-filter exists already: choose another name",
    ),
    "repartition topic of two groups": (
        twice(lambda b: rekeyed(b).group_by_key(name="mine").count()),
        TopologyError,
        "a node named mine-repartition-filter exists already: choose another name",
    ),
    "two repartitions": (
        twice(lambda b: b.stream("in").repartition(name="mine")),
        TopologyError,
        "a node named mine-repartition-filter exists already: choose another name",
    ),
    "repartition and group": (
        lambda b: (
            b.stream("in").repartition(name="mine"),
            rekeyed(b).group_by_key(name="mine").count(),
        ),
        TopologyError,
        "a node named mine-repartition-filter exists already: choose another name",
    ),
    "two groups of a table": (
        twice(lambda b: b.table("in").group_by(both, name="mine").count()),
        TopologyError,
        "topic in of KSTREAM-SOURCE-",
    ),
}

OTHERS: Refused = {
    "no predicate": (
        lambda b: b.stream("in").filter(None),
        TypeError,
        "filter: predicate must be callable, not None",
    ),
    "no topic to write": (
        lambda b: b.stream("in").to(None),
        TypeError,
        "to: topic must be callable, not None",
    ),
    "no partitions (stricter)": (
        lambda b: b.stream("in").repartition(partitions=0),
        ValueError,
        "repartition: partitions must be at least 1, not 0",
    ),
    "branch that makes something else": (
        lambda b: b.stream("in").split().branch(always, then=lambda stream: 5),
        TypeError,
        "branch: then of KSTREAM-BRANCH-00000000011 must return a KStream or None, not 5",
    ),
    "serde of a source that is none": (
        lambda b: b.stream("in", key=str),
        TypeError,
        "source KSTREAM-SOURCE-0000000000: key must be a Serde, not <class 'str'>: see millstream.streams.serdes",
    ),
    "serde of a sink that is none": (
        lambda b: b.stream("in").to("out", value="string"),
        TypeError,
        "to: value must be a Serde, not 'string': see millstream.streams.serdes",
    ),
    "serde of a store that is none": (
        lambda b: (
            b.stream("in").group_by_key().reduce(both, materialized=Materialized("s", value=str))
        ),
        TypeError,
        "Materialized: value must be a Serde, not <class 'str'>: see millstream.streams.serdes",
    ),
    "name instead of Materialized": (
        lambda b: b.stream("in").group_by_key().count(materialized="counts"),
        TypeError,
        "materialized must be a Materialized, not 'counts': write Materialized('counts')",
    ),
}

EVERYTHING = {
    f"{area}: {case}": refused
    for area, table in {"sources": SOURCES, "names": NAMES, "others": OTHERS}.items()
    for case, refused in table.items()
}


@pytest.mark.parametrize("case", EVERYTHING)
def test_what_kafka_streams_refuses_names_the_node_and_the_cure(case: str) -> None:
    calls, kind, sentence = EVERYTHING[case]
    builder = StreamsBuilder()
    with pytest.raises(kind) as refused:
        _ = calls(builder), builder.build()
    assert type(refused.value) is kind
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("setting", ["al", "all,none", "", "none,reuse.ktable.source.topics"])
def test_a_mistyped_optimization_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match="is not known: use none, all, or some of"):
        StreamsBuilder(optimization=setting)


def test_what_the_same_grouped_stream_shares_is_not_refused() -> None:
    """The same named group reuses its repartition topic; equal topics are read by one source."""
    builder = StreamsBuilder()
    grouped = rekeyed(builder).group_by_key(name="mine")
    grouped.count()
    grouped.count()
    builder.stream("in").to("out")
    assert list(builder.build().internal_topics) == ["mine-repartition"]


def test_repartitions_that_kafka_streams_cannot_merge_are_refused() -> None:
    """4.3.1: StreamsException, "Found a null keyChangingChild node"."""
    builder = StreamsBuilder(optimization="merge.repartition.topics")
    processed = rekeyed(builder).process(Forget)
    grouped = processed.group_by_key().cogroup(lambda key, value, total: total)
    grouped.cogroup(processed.group_by_key(), lambda key, value, total: total).aggregate(int)
    with pytest.raises(StreamsError, match="the repartitions below KSTREAM-KEY-SELECT-0000000001"):
        builder.build()


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.stream([]),
        lambda b: b.stream("large orders"),
        lambda b: b.table("large orders"),
        lambda b: b.global_table("large orders"),
        lambda b: b.stream("in").to("large orders"),
    ],
)
def test_topics_that_cannot_be_are_refused_where_they_are_given(
    call: Callable[[StreamsBuilder], object],
) -> None:
    with pytest.raises(TopologyError, match="topic"):
        call(StreamsBuilder())
