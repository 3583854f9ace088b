"""Windows, buffers and stores that cannot be are refused where they are made; so are names where all must be given.

Kafka Streams 4.3.1 refuses the same with an IllegalArgumentException, but for what is marked "stricter".
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from millstream.streams import (
    JoinWindows,
    KStream,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StoreSupplier,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    UnlimitedWindows,
)
from millstream.streams.errors import TopologyError


def ms(milliseconds: float) -> timedelta:
    return timedelta(milliseconds=milliseconds)


ARGUMENTS: dict[str, tuple[Callable[[], object], str]] = {
    "no size": (
        lambda: TimeWindows.tumbling(ms(0)),
        "window size must be larger than zero, not 0 ms",
    ),
    "negative size": (
        lambda: TimeWindows.tumbling(ms(-1)),
        "window size must be larger than zero, not -1 ms",
    ),
    "half a millisecond": (
        lambda: TimeWindows.tumbling(ms(0.5)),
        "window size must be larger than zero, not 0 ms",
    ),
    "negative grace of windows": (
        lambda: TimeWindows.tumbling(ms(1), grace=ms(-1)),
        "grace must not be negative, it is -1 ms",
    ),
    "no advance": (
        lambda: TimeWindows.hopping(ms(10), ms(0)),
        "advance must be in (0, 10] ms, not 0 ms: records between two windows would be lost",
    ),
    "advance larger than size": (
        lambda: TimeWindows.hopping(ms(10), ms(11)),
        "advance must be in (0, 10] ms, not 11 ms: records between two windows would be lost",
    ),
    "negative difference": (
        lambda: SlidingWindows.of(ms(-1)),
        "time difference must not be negative, it is -1 ms",
    ),
    "negative grace of sliding windows": (
        lambda: SlidingWindows.of(ms(1), grace=ms(-1)),
        "grace must not be negative, it is -1 ms",
    ),
    "negative gap": (
        lambda: SessionWindows.of(ms(-1)),
        "gap must not be negative, it is -1 ms",
    ),
    "negative grace of sessions": (
        lambda: SessionWindows.of(ms(1), grace=ms(-1)),
        "grace must not be negative, it is -1 ms",
    ),
    "negative start": (
        lambda: UnlimitedWindows(-1),
        "start must not be negative, it is -1 ms",
    ),
    "negative difference of a join": (
        lambda: JoinWindows.of(ms(-1)),
        "a join window must not end before it begins: before is -1 ms, after -1 ms",
    ),
    "join window that ends before it begins": (
        lambda: JoinWindows.of(ms(5), before=ms(-6)),
        "a join window must not end before it begins: before is -6 ms, after 5 ms",
    ),
    "negative grace of a join": (
        lambda: JoinWindows.of(ms(5), grace=ms(-1)),
        "grace must not be negative, it is -1 ms",
    ),
    "negative time limit (stricter)": (
        lambda: Suppressed.until_time_limit(ms(-1)),
        "suppress: limit_ms must not be negative, it is -1",
    ),
    "negative buffer (stricter)": (
        lambda: Suppressed.until_window_closes(max_records=-1),
        "suppress: max_records must not be negative, it is -1",
    ),
    "negative bytes (stricter)": (
        lambda: Suppressed.until_time_limit(ms(1), max_bytes=-1),
        "suppress: max_bytes must not be negative, it is -1",
    ),
    "negative history": (
        lambda: StoreSupplier("rows", history=ms(-1)),
        "store rows: history must not be negative, it is -1 day, 23:59:59.999000",
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_a_window_or_buffer_that_cannot_be_is_a_value_error(case: str) -> None:
    make, sentence = ARGUMENTS[case]
    with pytest.raises(ValueError) as refused:
        make()
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    "make",
    [
        lambda: TimeWindows.tumbling(5),
        lambda: SessionWindows.of(5),
        lambda: JoinWindows.of(5),
        lambda: Suppressed.until_time_limit(5),
    ],
)
def test_a_number_is_no_duration(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError) as refused:
        make()
    assert str(refused.value) == "durations are timedelta, not 5: timedelta(milliseconds=...)"


def test_what_is_zero_in_kafka_streams_may_be_zero() -> None:
    assert SessionWindows.of(ms(0)).gap_ms == 0
    assert SlidingWindows.of(ms(0)).difference_ms == 0
    assert JoinWindows.of(ms(5), before=ms(-5)).before_ms == -5
    assert TimeWindows.hopping(ms(10), ms(3)).advance_ms == 3


def both(left: object, right: object) -> object:
    return left, right


def rekeyed(builder: StreamsBuilder) -> KStream:
    return builder.stream("in").select_key(lambda _key, value: value)


WITHIN = JoinWindows.of(ms(10))

UNNAMED: dict[str, tuple[Callable[[StreamsBuilder], object], str]] = {
    "table": (lambda b: b.table("t"), "t-STATE-STORE-0000000000"),
    "global table": (lambda b: b.global_table("t", name="n"), "t-STATE-STORE-0000000000"),
    "aggregation": (
        lambda b: rekeyed(b).group_by_key().count(),
        "KSTREAM-AGGREGATE-STATE-STORE-0000000002, KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition",
    ),
    "aggregation without a changelog": (
        lambda b: b.stream("in").group_by_key().count(materialized=Materialized(logging=False)),
        "KSTREAM-AGGREGATE-STATE-STORE-0000000002",
    ),
    "cogrouped aggregation": (
        lambda b: (
            b.stream("in").group_by_key().cogroup(lambda key, value, total: total).aggregate(int)
        ),
        "COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000001",
    ),
    "regrouped table": (
        lambda b: b.table("t", materialized=Materialized("rows")).group_by(both, name="g").count(),
        "KTABLE-AGGREGATE-STATE-STORE-0000000003",
    ),
    "repartition": (
        lambda b: b.stream("in").repartition(),
        "KSTREAM-REPARTITION-0000000001-repartition",
    ),
    "table of a changed key": (
        lambda b: rekeyed(b).to_table(materialized=Materialized("rows")),
        "KSTREAM-TOTABLE-0000000002-repartition",
    ),
    "stream join": (
        lambda b: b.stream("in").left_join(
            b.stream("other"), both, windows=WITHIN, joined=StreamJoined(name="n")
        ),
        (
            "KSTREAM-JOINTHIS-0000000004-store, KSTREAM-OUTEROTHER-0000000005-store, "
            "KSTREAM-OUTERSHARED-0000000004-store"
        ),
    ),
    "join of a changed key": (
        lambda b: (
            b.stream("in")
            .select_key(both, name="changed")
            .join(b.table("t", materialized=Materialized("rows")), both)
        ),
        "changed-repartition",
    ),
    "foreign-key join": (
        lambda b: b.table("l", materialized=Materialized("l")).join(
            b.table("r", materialized=Materialized("r")),
            both,
            foreign_key=lambda value: value,
            name="n",
        ),
        "KTABLE-FK-JOIN-OUTPUT-STATE-STORE-0000000017",
    ),
    "suppress": (
        lambda b: b.table("t", materialized=Materialized("rows")).suppress(
            Suppressed.until_time_limit(ms(1))
        ),
        "KTABLE-SUPPRESS-STATE-STORE-0000000003",
    ),
}


@pytest.mark.parametrize("case", UNNAMED)
def test_where_all_must_be_named_what_is_not_is_named(case: str) -> None:
    """KIP-1111; the names are those that 4.3.1 complains about."""
    calls, names = UNNAMED[case]
    builder = StreamsBuilder(explicit_names=True)
    calls(builder)
    with pytest.raises(TopologyError) as refused:
        builder.build()
    assert str(refused.value) == (
        f"name what makes {names}: generated names change when operators are added, "
        "and state is lost with them"
    )


NAMED: dict[str, Callable[[StreamsBuilder], object]] = {
    "table": lambda b: b.table("t", materialized=Materialized("rows")),
    "filtered table that is not kept": lambda b: b.table(
        "t", materialized=Materialized("rows")
    ).filter(lambda key, value: True, materialized=Materialized(caching=False)),
    "aggregation": lambda b: rekeyed(b).group_by_key().count(materialized=Materialized("rows")),
    "regrouped table": lambda b: (
        b.table("t", materialized=Materialized("rows"))
        .group_by(both)
        .count(materialized=Materialized("more"))
    ),
    "stream join": lambda b: b.stream("in").outer_join(
        b.stream("other"), both, windows=WITHIN, joined=StreamJoined(store_name="rows")
    ),
    "foreign-key join": lambda b: b.table("l", materialized=Materialized("l")).join(
        b.table("r", materialized=Materialized("r")),
        both,
        foreign_key=lambda value: value,
        materialized=Materialized("joined"),
    ),
    "suppress without a changelog": lambda b: b.table(
        "t", materialized=Materialized("rows")
    ).suppress(Suppressed.until_time_limit(ms(1), logging=False)),
    "names that look generated": lambda b: (
        b.stream("in").group_by_key().count(materialized=Materialized("KSTREAM-X-0000000001"))
    ),
}


@pytest.mark.parametrize("case", NAMED)
def test_what_the_user_has_named_is_not_refused(case: str) -> None:
    builder = StreamsBuilder(explicit_names=True)
    NAMED[case](builder)
    assert builder.build().nodes
