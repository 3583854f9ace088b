"""The shapes of topologies that are interrupted: each with its sources, from dense to sparse, and how its outputs are to be judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from millstream.streams import (
    EmitStrategy,
    JoinWindows,
    Materialized,
    SessionWindows,
    StoreSupplier,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
)
from millstream.streams.dsl import KStream, KTable
from millstream.streams.serdes import long, session_windowed, string, time_windowed
from millstream.streams.timestamps import ConsumedRecord
from millstream.streams.topology import Topology

SECOND: Final = timedelta(seconds=1)
WINDOW: Final = TimeWindows.tumbling(10 * SECOND, grace=2 * SECOND)


@dataclass(frozen=True)
class Shape:
    """`build` takes the prefix of all topic names. `tables`: sources whose records may be deletions.

    `is_cached`: of the values of a key only the last one must come out. `is_one_order`: with one partition the test driver gives
    the same outputs in the same order; where sub-topologies feed each other, only the last value of a key is the same.
    """

    build: Callable[[str], Topology]
    sources: tuple[str, ...] = ("in",)
    tables: tuple[str, ...] = ()
    is_cached: bool = False
    is_one_order: bool = True


def _stream(builder: StreamsBuilder, topic: str) -> KStream[str, str]:
    return builder.stream(topic, key=string(), value=string())


def _table(builder: StreamsBuilder, topic: str) -> KTable[str, str]:
    return builder.table(topic, key=string(), value=string())


def _both(left: str | None, right: str | None) -> str:
    return f"{left}+{right}"


def stateless(prefix: str) -> Topology:
    builder = StreamsBuilder()
    stream = _stream(builder, f"{prefix}in")
    (
        stream.filter(lambda _, value: not value.endswith("7"))
        .flat_map_values(lambda value: [value, value.upper()])
        .to(f"{prefix}out", value=string())
    )
    return builder.build()


def own_times(prefix: str) -> Topology:
    """Times that are taken from the records before, of the same partition."""

    def time_of(record: ConsumedRecord, partition_time: int) -> int:
        return partition_time if record.offset % 3 and partition_time >= 0 else record.timestamp

    builder = StreamsBuilder()
    stream = builder.stream(f"{prefix}in", key=string(), value=string(), timestamps=time_of)
    stream.to(f"{prefix}out", value=string())
    return builder.build()


def aggregate(prefix: str) -> Topology:
    builder = StreamsBuilder()
    counts = _stream(builder, f"{prefix}in").group_by_key().count()
    counts.to_stream().to(f"{prefix}out", value=long())
    return builder.build()


def reduced_table(prefix: str) -> Topology:
    """A table whose rows change groups: subtractors, deletions, and a repartition topic."""
    builder = StreamsBuilder()
    table = _table(builder, f"{prefix}in")
    counts = table.group_by(
        lambda key, value: (value[-1], key), key=string(), value=string()
    ).count()
    counts.to_stream().to(f"{prefix}out", value=long())
    return builder.build()


def tumbling(prefix: str) -> Topology:
    builder = StreamsBuilder()
    counts = _stream(builder, f"{prefix}in").group_by_key().windowed_by(WINDOW).count()
    counts.to_stream().to(f"{prefix}out", key=time_windowed(string(), 10_000), value=long())
    return builder.build()


def emit_on_close(prefix: str) -> Topology:
    builder = StreamsBuilder()
    windows = _stream(builder, f"{prefix}in").group_by_key().windowed_by(WINDOW)
    counts = windows.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count()
    counts.to_stream().to(f"{prefix}out", key=time_windowed(string(), 10_000), value=long())
    return builder.build()


def session(prefix: str) -> Topology:
    builder = StreamsBuilder()
    windows = SessionWindows.of(3 * SECOND, grace=2 * SECOND)
    counts = _stream(builder, f"{prefix}in").group_by_key().windowed_by(windows).count()
    counts.to_stream().to(f"{prefix}out", key=session_windowed(string()), value=long())
    return builder.build()


def stream_stream(kind: str) -> Callable[[str], Topology]:
    def build(prefix: str) -> Topology:
        builder = StreamsBuilder()
        left, right = (_stream(builder, f"{prefix}{side}") for side in ("left", "right"))
        joined = getattr(left, kind)(
            right,
            _both,
            windows=JoinWindows.of(4 * SECOND, grace=SECOND),
            joined=StreamJoined(key=string(), value=string(), other_value=string()),
        )
        joined.to(f"{prefix}out", value=string())
        return builder.build()

    return build


def stream_table(prefix: str) -> Topology:
    builder = StreamsBuilder()
    table = _table(builder, f"{prefix}right")
    _stream(builder, f"{prefix}left").left_join(table, _both).to(f"{prefix}out", value=string())
    return builder.build()


def versioned(prefix: str) -> Topology:
    """Rows by the time of the record that looks them up, which waits for late ones."""
    builder = StreamsBuilder()
    rows: Materialized[str, str] = Materialized(
        supplier=StoreSupplier("versions", history=60 * SECOND)
    )
    table = builder.table(f"{prefix}right", key=string(), value=string(), materialized=rows)
    joined = _stream(builder, f"{prefix}left").left_join(table, _both, grace=2 * SECOND)
    joined.to(f"{prefix}out", value=string())
    return builder.build()


def foreign_key(prefix: str) -> Topology:
    builder = StreamsBuilder()
    left, right = (_table(builder, f"{prefix}{side}") for side in ("left", "right"))
    joined = left.left_join(right, _both, foreign_key=lambda value: "abcde"[int(value[1:]) % 5])
    joined.to_stream().to(f"{prefix}out", value=string())
    return builder.build()


def suppress(prefix: str) -> Topology:
    builder = StreamsBuilder()
    counts = _stream(builder, f"{prefix}in").group_by_key().windowed_by(WINDOW).count()
    final = counts.suppress(Suppressed.until_window_closes())
    final.to_stream().to(f"{prefix}out", key=time_windowed(string(), 10_000), value=long())
    return builder.build()


def suppress_for_a_time(prefix: str) -> Topology:
    builder = StreamsBuilder()
    counts = _stream(builder, f"{prefix}in").group_by_key().count()
    seldom = counts.suppress(Suppressed.until_time_limit(4 * SECOND, max_records=3))
    seldom.to_stream().to(f"{prefix}out", value=long())
    return builder.build()


def two_sub_topologies(prefix: str) -> Topology:
    builder = StreamsBuilder()
    by_value = _stream(builder, f"{prefix}in").group_by(
        lambda _, value: value[-1], key=string(), value=string()
    )
    by_value.count().to_stream().to(f"{prefix}out", value=long())
    return builder.build()


SHAPES: Final = {
    "stateless": Shape(stateless),
    "own times": Shape(own_times),
    "aggregate": Shape(aggregate),
    "aggregate with cache": Shape(aggregate, is_cached=True),
    "reduced table": Shape(reduced_table, tables=("in",)),
    "tumbling window": Shape(tumbling),
    "tumbling window with cache": Shape(tumbling, is_cached=True),
    "emit on close": Shape(emit_on_close),
    "session window": Shape(session),
    "inner join": Shape(stream_stream("join"), ("left", "right")),
    "left join": Shape(stream_stream("left_join"), ("left", "right")),
    "outer join": Shape(stream_stream("outer_join"), ("left", "right")),
    "stream-table join": Shape(stream_table, ("left", "right"), tables=("right",)),
    "versioned table": Shape(versioned, ("left", "right"), tables=("right",)),
    "foreign key": Shape(
        foreign_key, ("left", "right"), tables=("left", "right"), is_one_order=False
    ),
    "suppress": Shape(suppress),
    "suppress for a time": Shape(suppress_for_a_time),
    "two sub-topologies": Shape(two_sub_topologies),
    "two sub-topologies with cache": Shape(two_sub_topologies, is_cached=True),
}
