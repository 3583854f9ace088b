"""Random topologies give the same records whether input comes one by one or in batches."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from millstream.streams import (
    JoinWindows,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
)
from millstream.streams.config import OnError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import Serde, long, session_windowed, string, time_windowed
from millstream.streams.state import in_memory_stores

STEPS = (
    "filter",
    "map_values",
    "map_values_async",
    "select_key",
    "flat_map_values",
    "branch_and_merge",
    "diamond",
    "side_sink",
    "picky_sink",
    "letters_sink",
    "join",
    "stream_join",
    "processor",
)
ENDS = ("sink", "count", "window", "reduce", "session", "sliding", "suppress", "table", "regroup")


class Numbering:
    """Forwards each record with how many came before it."""

    def init(self, context) -> None:
        self._context = context
        self._count = 0

    def process(self, record) -> None:
        self._count += 1
        self._context.forward(record.with_value(f"{record.value}{self._count}"))


async def with_pause(value):
    await asyncio.sleep(0)
    return None if value is None else value + "p"


def pick(value: str) -> bytes:
    if len(value) % 2:
        raise ValueError(f"{value} is odd")
    return value.encode()


def add_step(step: str, stream, table, right):
    if step == "processor":
        return stream.process_values(Numbering)
    if step == "stream_join":
        if stream.repartition_required:
            return stream
        windows = JoinWindows.of(timedelta(milliseconds=5), grace=timedelta(milliseconds=3))
        return stream.outer_join(right, lambda x, y: f"{x}{y}"[-12:], windows=windows)
    if step == "filter":
        return stream.filter(lambda key, value: value is None or len(value) % 3 != 0)
    if step == "map_values":
        return stream.map_values(lambda value: None if value is None else value + "m")
    if step == "map_values_async":
        return stream.map_values_async(with_pause, max_in_flight=3)
    if step == "select_key":
        return stream.map(lambda key, value: (None if value is None else value[:1], value))
    if step == "flat_map_values":
        return stream.flat_map_values(lambda value: [] if value is None else [value, value + "2"])
    if step == "branch_and_merge":
        split = stream.split(name=f"{stream.name}-b-")
        split.branch(lambda key, value: key == "a", name="a")
        both = split.default_branch(name="rest")
        first, second = both.values()
        return second.map_values(lambda value: value).merge(first)
    if step == "diamond":
        left = stream.map_values(lambda value: None if value is None else value + "l")
        right = stream.filter(lambda key, value: key != "b")
        return left.merge(right)
    if step == "side_sink":
        stream.to("out")
        return stream.map_values(lambda value: None if value is None else value + "s")
    if step == "picky_sink":
        stream.to("out", value=Serde("picky", pick, bytes.decode))
        return stream.map_values(lambda value: None if value is None else value + "k")
    if step == "letters_sink":
        stream.to("letters")
        return stream
    if stream.repartition_required:
        return stream
    return stream.left_join(table, lambda left, right: f"{left}{right}")


def add_end(end: str, stream, table) -> None:
    ms = timedelta(milliseconds=1)
    if end == "sink" or stream.repartition_required:
        stream.to("out")
    elif end == "count":
        stream.group_by_key().count().to_stream().to("numbers", value=long())
    elif end == "reduce":
        stream.group_by_key().reduce(lambda a, b: a[-8:] + b).to_stream().to("out")
    elif end == "session":
        sessions = stream.group_by_key().windowed_by(SessionWindows.of(3 * ms, grace=4 * ms))
        key = session_windowed(string())
        sessions.count().to_stream().to("sessions", key=key, value=long())
    elif end == "sliding":
        windows = stream.group_by_key().windowed_by(SlidingWindows.of(4 * ms, grace=6 * ms))
        windows.count().to_stream().to("slides", key=time_windowed(string(), 4), value=long())
    elif end == "suppress":
        counts = stream.group_by_key(key=string()).count()
        held = counts.suppress(Suppressed.until_time_limit(6 * ms, max_records=3))
        held.to_stream().to("held", value=long())
    elif end == "table":
        joined = stream.to_table(materialized=Materialized("rows")).outer_join(
            table, lambda x, y: f"{x}|{y}"
        )
        joined.filter(lambda key, value: len(value) % 2 == 0).to_stream().to("rows-out")
    elif end == "regroup":
        regrouped = stream.to_table().group_by(lambda key, value: (value[:1], value))
        regrouped.count(materialized=Materialized("regrouped"))
    else:
        windows = TimeWindows.hopping(timedelta(milliseconds=10), timedelta(milliseconds=4))
        counts = stream.group_by_key().windowed_by(windows).count()
        counts.to_stream().to("windows", key=time_windowed(string(), 10), value=long())


def topology(steps: list[str], ends: list[str]):
    builder = StreamsBuilder()
    stream = builder.stream("in")
    table = builder.table("table")
    right = builder.stream("right")
    for step in steps:
        stream = add_step(step, stream, table, right)
    for end in ends:
        add_end(end, stream, table)
    return builder.build()


def run(built, records: list[tuple], batch: int, **options) -> dict[str, list[tuple]]:
    config = StreamsConfig(
        "app", default_key=string(), default_value=string(), batch_records_max=batch, **options
    )
    group = next(each for each in built.sub_topologies if "in" in built.source_topics(each, "app"))
    task = StreamTask(built, group, 0, in_memory_stores(), config)
    offsets = {"in": 0, "table": 0, "right": 0}
    for topic, key, value, at in records:
        if topic in task.source_topics:
            data = RawBatch([key], [value], [at], [offsets[topic]])
            task.add(topic, data)
            offsets[topic] += 1
    output = task.process(0)
    written = {}
    for batches in (output.sinks, output.changelogs):
        for topic, each in batches.items():
            written[topic] = list(
                zip(each.keys, each.values, each.timestamps, each.headers, strict=True)
            )
    for name, store in task.stores.items():
        written[f"store {name}"] = list(store.rows.scan(b"", None))
    written["dropped"] = [(task.dropped.total, sorted(map(str, task.dropped.take())))]
    return written


RECORD = st.tuples(
    st.sampled_from(["in", "in", "table", "right"]),
    st.sampled_from([b"a", b"b", b"c", None]),
    st.sampled_from([b"x", b"yy", b"zzz", None]),
    st.integers(0, 40),
)


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(st.sampled_from(STEPS), max_size=5),
    ends=st.lists(st.sampled_from(ENDS), min_size=1, max_size=3, unique=True),
    records=st.lists(RECORD, max_size=40),
)
@example(
    ["flat_map_values", "picky_sink", "picky_sink"],
    ["sink"],
    [("in", b"a", b"x", 1), ("in", b"a", b"yy", 2)],
)
@example(["flat_map_values"], ["window"], [("in", b"a", b"x", 10), ("in", b"a", b"x", 0)])
def test_batches_of_any_size_give_what_single_records_give(steps, ends, records) -> None:
    built = topology(steps, ends)
    options = {}
    if "picky_sink" in steps:
        options = {"on_production_error": OnError.CONTINUE, "dead_letter_topic": "letters"}
    one_by_one = run(built, records, 1, **options)
    assert run(built, records, 7, **options) == one_by_one
    assert run(built, records, 1000, **options) == one_by_one
