"""The small applications that are killed. What comes out of each does not depend on the micro-batches that its input is cut into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final, NamedTuple

from millstream.streams import (
    JoinWindows,
    Materialized,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
)
from millstream.streams.dsl import KStream
from millstream.streams.serdes import long, string, time_windowed
from millstream.streams.topology import Topology

OUT: Final = "out"
PARTITIONS: Final = 2
RECORDS: Final = 2_000
KEYS: Final = 60
SIDE: Final = 600
ROWS: Final = 20
STEP_MS: Final = 30
WINDOW: Final = TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(seconds=2))
LATER_MS: Final = 600_000
"""A record so late closes all windows of its partition."""


class Given(NamedTuple):
    """A record to write. Without a partition its key decides."""

    topic: str
    key: bytes
    value: bytes
    at_ms: int
    partition: int | None = None


Seen = Callable[[str, object], object]
"""Called with records while they are processed."""


def unseen(_key: str, _value: object) -> None:
    """Does nothing."""


def _read(builder: StreamsBuilder, topic: str, seen: Seen) -> KStream[str, str]:
    return builder.stream(topic, key=string(), value=string()).peek(seen)


def stateless(builder: StreamsBuilder, seen: Seen) -> Topology:
    (
        _read(builder, "in", seen)
        .filter(lambda _, value: not value.endswith("7"))
        .flat_map_values(lambda value: [value, f"{value} again"])
        .to(OUT, value=string())
    )
    return builder.build()


def aggregate(builder: StreamsBuilder, seen: Seen) -> Topology:
    counts = _read(builder, "in", seen).group_by_key().count()
    counts.to_stream().to(OUT, value=long())
    return builder.build()


def window(builder: StreamsBuilder, seen: Seen) -> Topology:
    grouped = _read(builder, "in", seen).group_by_key()
    counts = grouped.windowed_by(WINDOW).count()
    counts.to_stream().to(OUT, key=time_windowed(string(), 10_000), value=long())
    return builder.build()


def suppress(builder: StreamsBuilder, seen: Seen) -> Topology:
    grouped = _read(builder, "in", seen).group_by_key()
    counts = grouped.windowed_by(WINDOW).count().suppress(Suppressed.until_window_closes())
    counts.to_stream().to(OUT, key=time_windowed(string(), 10_000), value=long())
    return builder.build()


def two_sub_topologies(builder: StreamsBuilder, seen: Seen) -> Topology:
    words = _read(builder, "in", seen)
    by_value = words.group_by(lambda _, value: value[-1], key=string(), value=string())
    by_value.count().to_stream().to(OUT, value=long())
    return builder.build()


def join(builder: StreamsBuilder, seen: Seen) -> Topology:
    left, right = (_read(builder, each, seen) for each in ("left", "right"))
    windows = JoinWindows.of(timedelta(hours=1), grace=timedelta(hours=1))
    serdes = StreamJoined(key=string(), value=string(), other_value=string())
    joined = left.join(right, lambda one, other: f"{one}+{other}", windows=windows, joined=serdes)
    joined.to(OUT, key=string(), value=string())
    return builder.build()


def foreign_key(builder: StreamsBuilder, seen: Seen) -> Topology:
    left, right = (builder.table(each, key=string(), value=string()) for each in ("left", "right"))
    joined = left.join(
        right, lambda one, other: f"{one}+{other}", foreign_key=lambda value: str(int(value) % ROWS)
    )
    joined.to_stream().peek(seen).to(OUT, value=string())
    return builder.build()


def global_table(builder: StreamsBuilder, seen: Seen) -> Topology:
    """Rows of a global table are looked up, and the last one found for each key is kept."""
    table = builder.global_table(
        "rows", key=string(), value=string(), materialized=Materialized("rows")
    )
    found = _read(builder, "in", seen).join(
        table,
        lambda value, row: f"{value}+{row}",
        on=lambda _, value: str(int(value) % ROWS),
    )
    grouped = found.group_by_key(key=string(), value=string())
    grouped.reduce(lambda _, value: value).to_stream().to(OUT, value=string())
    return builder.build()


def numbers() -> Iterator[Given]:
    for number in range(RECORDS):
        key = b"%d" % (number % KEYS)
        yield Given("in", key, b"%d" % number, STEP_MS * number)


def numbers_to_the_end() -> Iterator[Given]:
    yield from numbers()
    for partition in range(PARTITIONS):
        yield Given("in", b"end-%d" % partition, b"0", LATER_MS, partition)


def rows_and_numbers() -> Iterator[Given]:
    """The rows are there before anything looks them up."""
    for row in range(ROWS):
        yield Given("rows", b"%d" % row, b"row-%d" % row, -1)
    yield from numbers()


def sides() -> Iterator[Given]:
    for number in range(SIDE):
        for side in ("left", "right"):
            yield Given(side, b"%d" % (number % KEYS), b"%d" % number, number)


def rows_before_references() -> Iterator[Given]:
    """Each left row finds its right row there: nothing is written twice, whatever runs first."""
    for row in range(ROWS):
        yield Given("right", b"%d" % row, b"row-%d" % row, row)
    for number in range(SIDE):
        yield Given("left", b"%d" % number, b"%d" % number, LATER_MS + number)
