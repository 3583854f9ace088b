"""A function that cannot take what it will be given is refused by the call that is given it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from operator import itemgetter

import pytest

from millstream.streams import (
    JoinWindows,
    KGroupedTable,
    KStream,
    KTable,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
)


class Wrong:
    def __call__(self, one: object) -> None:
        pass

    def method(self, one: object) -> None:
        pass


SECOND = timedelta(seconds=1)
WITHIN = JoinWindows.of(SECOND)


def stream() -> KStream:
    return StreamsBuilder().stream("in")


def table() -> KTable:
    return StreamsBuilder().table("t")


def regrouped() -> KGroupedTable:
    return table().group_by(lambda key, value: (value, key))


def two_streams(method: str, joiner: Callable[..., object], **options: object) -> None:
    builder = StreamsBuilder()
    join = getattr(builder.stream("in"), method)
    join(builder.stream("other"), joiner, windows=WITHIN, **options)


def with_table(method: str, joiner: Callable[..., object], **options: object) -> None:
    builder = StreamsBuilder()
    getattr(builder.stream("in"), method)(builder.table("t"), joiner, **options)


def with_global(joiner: Callable[..., object], on: Callable[..., object]) -> None:
    builder = StreamsBuilder()
    builder.stream("in").join(builder.global_table("g"), joiner, on=on)


def two_tables(method: str, joiner: Callable[..., object], **options: object) -> None:
    builder = StreamsBuilder()
    getattr(builder.table("l"), method)(builder.table("r"), joiner, **options)


def none() -> None:
    pass


def one(a: object) -> None:
    pass


def two(a: object, b: object) -> None:
    pass


def four(a: object, b: object, c: object, d: object) -> None:
    pass


CALLS: dict[str, Callable[[], object]] = {
    "filter: predicate is called with (key, value)": lambda: stream().filter(one),
    "filter_not: predicate is called with (key, value)": lambda: stream().filter_not(one),
    "map: mapper is called with (key, value)": lambda: stream().map(one),
    "map_values: mapper is called with (value)": lambda: stream().map_values(two),
    "map_values: mapper is called with (key, value)": (
        lambda: stream().map_values(one, with_key=True)
    ),
    "flat_map: mapper is called with (key, value)": lambda: stream().flat_map(one),
    "flat_map_values: mapper is called with (value)": lambda: stream().flat_map_values(two),
    "select_key: mapper is called with (key, value)": lambda: stream().select_key(one),
    "peek: action is called with (key, value)": lambda: stream().peek(one),
    "foreach: action is called with (key, value)": lambda: stream().foreach(one),
    "print: write is called with (line)": lambda: stream().print(write=none),
    "branch: predicate is called with (key, value)": lambda: stream().split().branch(one),
    "branch: then of KSTREAM-BRANCH-00000000011 is called with (stream)": (
        lambda: stream().split().branch(two, then=two)
    ),
    "to: topic is called with (key, value, context)": lambda: stream().to(two),
    "to: partitioner is called with (topic, key, value, partitions)": (
        lambda: stream().to("out", partitioner=two)
    ),
    "repartition: partitioner is called with (topic, key, value, partitions)": (
        lambda: stream().repartition(partitioner=two)
    ),
    "stream: timestamps is called with (record, partition_time)": (
        lambda: StreamsBuilder().stream("in", timestamps=one)
    ),
    "group_by: mapper is called with (key, value)": lambda: stream().group_by(one),
    "reduce: reducer is called with (aggregate, value)": lambda: (
        stream().group_by_key().reduce(one)
    ),
    "aggregate: initializer is called with ()": (
        lambda: stream().group_by_key().aggregate(one, four)
    ),
    "aggregate: aggregator is called with (key, value, aggregate)": (
        lambda: stream().group_by_key().aggregate(none, two)
    ),
    "aggregate: merger is called with (key, aggregate, aggregate)": (
        lambda: (
            stream()
            .group_by_key()
            .windowed_by(SessionWindows.of(SECOND))
            .aggregate(none, lambda k, v, a: a, two)
        )
    ),
    "cogroup: aggregator is called with (key, value, aggregate)": (
        lambda: stream().group_by_key().cogroup(two)
    ),
    "join: joiner is called with (left, right)": lambda: two_streams("join", one),
    "left_join: joiner is called with (left, right)": lambda: with_table("left_join", one),
    "outer_join: joiner is called with (key, left, right)": (
        lambda: two_streams("outer_join", two, with_key=True)
    ),
    "join: on is called with (key, value)": lambda: with_global(two, one),
    "join: foreign_key is called with (value)": lambda: two_tables("join", two, foreign_key=two),
    "left_join: foreign_key is called with (key, value)": (
        lambda: two_tables("left_join", two, foreign_key=one, with_key=True)
    ),
    "join: partitioner is called with (topic, key, value, partitions)": (
        lambda: two_tables("join", two, foreign_key=one, partitioners=(one, None))
    ),
    "to_stream: mapper is called with (key, value)": lambda: table().to_stream(one),
    "reduce: adder is called with (aggregate, value)": lambda: regrouped().reduce(one, two),
    "reduce: subtractor is called with (aggregate, value)": lambda: regrouped().reduce(two, one),
    "aggregate: adder is called with (key, value, aggregate)": (
        lambda: regrouped().aggregate(none, two, two)
    ),
    "process: supplier is called with ()": lambda: stream().process(one),
    "transform_values: supplier is called with ()": lambda: table().transform_values(one),
}


@pytest.mark.parametrize("sentence", CALLS)
def test_every_function_is_looked_at_when_it_is_given(sentence: str) -> None:
    with pytest.raises(TypeError) as refused:
        CALLS[sentence]()
    assert str(refused.value).startswith(f"{sentence} but takes ")


def test_the_sentence_says_what_is_given_and_what_is_taken() -> None:
    with pytest.raises(TypeError) as refused:
        stream().group_by_key().windowed_by(TimeWindows.tumbling(SECOND)).aggregate(
            int, lambda total, value: total + value
        )
    assert str(refused.value) == (
        "aggregate: aggregator is called with (key, value, aggregate) but takes (total, value): "
        "too many positional arguments"
    )


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (Wrong(), "(one: 'object') -> 'None'"),
        (Wrong().method, "(one: 'object') -> 'None'"),
        (Wrong, "()"),
        (partial(two, 1), "(b: 'object') -> 'None'"),
        (lambda key, value, *, more: None, "(key, value, *, more)"),
    ],
    ids=["object", "method", "class", "partial", "keyword"],
)
def test_every_kind_of_callable_is_looked_at(function: Callable[..., object], takes: str) -> None:
    with pytest.raises(TypeError) as refused:
        stream().filter(function)
    assert str(refused.value).startswith(
        f"filter: predicate is called with (key, value) but takes {takes}: "
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda key, value, more=None: True,
        lambda *both: True,
        lambda key, value, **more: True,
        partial(lambda prefix, key, value: True, "a"),
        max,
        dict.get,
        itemgetter(0, 1),
    ],
    ids=["default", "star", "keywords", "partial", "builtin", "method of C", "no signature"],
)
def test_what_can_take_the_arguments_or_does_not_tell_is_taken(
    function: Callable[..., object],
) -> None:
    assert stream().filter(function).name == "KSTREAM-FILTER-0000000001"
