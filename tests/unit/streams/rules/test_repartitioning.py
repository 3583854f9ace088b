"""When streams are repartitioned, with which serdes, without which records, by which bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.streams import JoinWindows, KStream, StreamJoined, StreamsBuilder, TimeWindows
from millstream.streams.config import StreamsConfig
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import Serde, long, string, time_windowed
from millstream.streams.state import in_memory_stores
from millstream.streams.topology import SinkNode
from tests.unit.streams.rules.rule_world import TEXT, driver_of, ms, pair, pipe, run, write

Stream = KStream[Any, Any]
Operator = Callable[[Stream], Stream]

WITHIN_5 = JoinWindows.of(ms(5))


def rekeyed(stream: Stream) -> Stream:
    return stream.select_key(lambda key, value: value)


def same(stream: Stream) -> Stream:
    return stream


class Forwards:
    def init(self, context: Any) -> None:
        self.context = context

    def process(self, record: Any) -> None:
        self.context.forward(record)


def repartitions(change: Operator) -> bool:
    """Whether a count behind it goes through a topic."""
    builder = StreamsBuilder()
    change(builder.stream("L")).group_by_key().count()
    return bool(builder.build().internal_topics)


@pytest.mark.parametrize(
    "change",
    [
        rekeyed,
        lambda s: s.map(lambda key, value: (key, value)),
        lambda s: s.flat_map(lambda key, value: [(key, value)]),
        lambda s: s.process(Forwards),
        lambda s: s.merge(rekeyed(s)),
        lambda s: rekeyed(s).merge(s),
        lambda s: rekeyed(s).filter(lambda key, value: True),
        lambda s: rekeyed(s).map_values(str),
        lambda s: rekeyed(s).flat_map_values(list),
        lambda s: rekeyed(s).peek(lambda key, value: None),
        lambda s: rekeyed(s).process_values(Forwards),
        lambda s: (
            rekeyed(s)
            .split()
            .branch(lambda key, value: True, name="b")
            .no_default_branch()["KSTREAM-BRANCH-0000000002b"]
        ),
    ],
)
def test_what_may_change_keys_makes_a_repartition_necessary_and_nothing_forgets_it(change) -> None:  # fmt: skip
    assert repartitions(change)


@pytest.mark.parametrize(
    "change",
    [
        same,
        lambda s: s.filter(lambda key, value: True),
        lambda s: s.map_values(str),
        lambda s: s.flat_map_values(list),
        lambda s: s.peek(lambda key, value: None),
        lambda s: s.process_values(Forwards),
        lambda s: s.merge(s),
        lambda s: rekeyed(s).to_table(name="t").to_stream(),
    ],
)
def test_what_keeps_keys_does_not(change) -> None:
    builder = StreamsBuilder()
    change(builder.stream("L")).group_by_key().count()
    assert list(builder.build().internal_topics) in ([], ["t-repartition"])


def test_a_repartition_and_a_join_of_streams_are_partitioned_by_their_keys() -> None:
    def topics(change: Callable[[Stream, Stream], Stream]) -> list[str]:
        builder = StreamsBuilder()
        change(builder.stream("L"), builder.stream("R")).group_by_key(name="after").count()
        return list(builder.build().internal_topics)

    assert topics(lambda s, _: rekeyed(s).repartition(name="r")) == ["r-repartition"]
    joined = StreamJoined(name="j")
    assert topics(lambda s, o: rekeyed(s).join(o, pair, windows=WITHIN_5, joined=joined)) == [
        "j-left-repartition"
    ]


def test_a_look_up_in_a_global_table_never_repartitions_and_forgets_nothing() -> None:
    builder = StreamsBuilder()
    table = builder.global_table("G")
    found = rekeyed(builder.stream("L")).join(table, pair, on=lambda key, value: key)
    found.group_by_key(name="after").count()
    assert list(builder.build().internal_topics) == ["after-repartition"]


KEY: Serde[str] = Serde("key", str.encode, bytes.decode)
VALUE: Serde[str] = Serde("value", str.encode, bytes.decode)


def sink_serdes(change: Operator) -> tuple[str | None, str | None]:
    builder = StreamsBuilder()
    change(builder.stream("L", key=KEY, value=VALUE)).to("out")
    [sink] = [
        node
        for node in builder.build().nodes.values()
        if isinstance(node, SinkNode) and node.topic == "out"
    ]
    return sink.key and sink.key.name, sink.value and sink.value.name


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (same, ("key", "value")),
        (lambda s: s.filter(lambda key, value: True), ("key", "value")),
        (lambda s: s.peek(lambda key, value: None), ("key", "value")),
        (lambda s: s.map_values(str), ("key", None)),
        (lambda s: s.flat_map_values(list), ("key", None)),
        (lambda s: s.process_values(Forwards), ("key", None)),
        (rekeyed, (None, "value")),
        (lambda s: s.map(lambda key, value: (key, value)), (None, None)),
        (lambda s: s.flat_map(lambda key, value: [(key, value)]), (None, None)),
        (lambda s: s.process(Forwards), (None, None)),
        (lambda s: s.merge(s), (None, None)),
        (lambda s: s.repartition(), ("key", "value")),
        (lambda s: s.join(s, pair, windows=WITHIN_5), (None, None)),
        (
            lambda s: s.join(s, pair, windows=WITHIN_5, joined=StreamJoined(key=TEXT, value=TEXT)),
            ("text", None),
        ),
    ],
)
def test_which_serdes_an_operator_hands_on(change, expected) -> None:
    assert sink_serdes(change) == expected


def through(joined: Callable[[Stream, Stream], Stream]) -> list[str]:
    """What passes the repartition topic of a stream whose key is null for values with an n, and the results."""
    builder = StreamsBuilder()
    left = builder.stream("L").select_key(lambda key, value: None if "n" in value else value)
    write(joined(left, builder.stream("R")))
    with driver_of(builder) as driver:
        pipe(driver, "L:n@1")
        pipe(driver, "L:a@2")
        topic = "app-KSTREAM-KEY-SELECT-0000000001-repartition"
        keys = [row.key for row in driver.output_topic(topic, key=TEXT, value=TEXT).read()]
        return ["null" if key is None else key for key in keys]


def test_null_keys_do_not_pass_the_topic_of_an_inner_join() -> None:
    assert through(lambda s, o: s.join(o, pair, windows=WITHIN_5)) == ["a"]


def test_null_keys_pass_where_a_left_or_outer_join_keeps_them() -> None:
    """KIP-962."""
    assert through(lambda s, o: s.left_join(o, pair, windows=WITHIN_5)) == ["null", "a"]
    assert through(lambda s, o: s.outer_join(o, pair, windows=WITHIN_5)) == ["null", "a"]


def test_a_left_join_of_a_null_key_gives_its_record_alone() -> None:
    builder = StreamsBuilder()
    left = builder.stream("L").select_key(lambda key, value: None)
    write(left.left_join(builder.stream("R"), pair, windows=WITHIN_5))
    assert run(builder, "L:a1@1 R:a=x@2") == "1:-=a1|None@1"


def test_windowed_keys_are_partitioned_by_the_key_inside() -> None:
    """Bytes of key k alone, not of k and the start of its window, so that all windows of k stay together."""
    builder = StreamsBuilder()
    counts = builder.stream("L").group_by_key().windowed_by(TimeWindows.tumbling(ms(10))).count()
    counts.to_stream().to("out", key=time_windowed(string(), 10), value=long())
    task = StreamTask(
        builder.build(), 0, 0, in_memory_stores(), StreamsConfig("app", string(), string())
    )
    task.add("L", RawBatch([b"k"] * 2, [b"a"] * 2, [1, 11], range(2)))
    out = task.process(0).sinks["out"]
    assert out.keys == [b"k" + bytes(8), b"k" + (10).to_bytes(8)]
    assert out.partition_keys == [b"k", b"k"]
