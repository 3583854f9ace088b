"""The topologies that `benchmarks.streams` measures, and the records per second each is meant to reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow.compute as pc

from millstream.streams import (
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
)
from millstream.streams.aggregates import mean_of, mean_serde, min_of, sum_of
from millstream.streams.serdes import long, session_windowed, string, time_windowed
from millstream.streams.vectorised import vectorised

TEN_SECONDS = timedelta(seconds=10)
CACHE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Workload:
    """`bar`: records per second that are the aim with stores in memory; half of it on RocksDB. None: none was set."""

    name: str
    build: Callable[[StreamsBuilder], None]
    bar: int | None = None
    cached: bool = False
    keys: int = 1_000
    stateful: bool = True
    share: int = 1
    """Only one of so many records: the slow ones would take all the time."""
    arrow: bool = False
    """Keys and values come as Arrow, as from Spark and poll_arrow."""

    def topology(self) -> Topology:
        builder = StreamsBuilder()
        self.build(builder)
        return builder.build()


def pass_through(builder: StreamsBuilder) -> None:
    builder.stream("in").to("out")


def map_values(builder: StreamsBuilder) -> None:
    builder.stream("in").map_values(lambda value: value.upper()).to("out")


def filter_map(builder: StreamsBuilder) -> None:
    stream = builder.stream("in").filter(lambda _key, value: value[0] != "#")
    stream.map_values(lambda value: value.upper()).to("out")


def aggregate(builder: StreamsBuilder) -> None:
    table = (
        builder.stream("in")
        .group_by_key()
        .aggregate(lambda: 0, lambda _key, value, total: total + len(value), value=long())
    )
    table.to_stream().to("out", value=long())


def tumbling_aggregate(builder: StreamsBuilder) -> None:
    windowed = builder.stream("in").group_by_key().windowed_by(TimeWindows.tumbling(TEN_SECONDS))
    table = windowed.aggregate(
        lambda: 0, lambda _key, value, total: total + len(value), value=long()
    )
    table.to_stream().to("out", key=time_windowed(string(), 10_000), value=long())


def tumbling_count(builder: StreamsBuilder) -> None:
    windowed = builder.stream("in").group_by_key().windowed_by(TimeWindows.tumbling(TEN_SECONDS))
    windowed.count().to_stream().to("out", key=time_windowed(string(), 10_000), value=long())


def session_count(builder: StreamsBuilder) -> None:
    """Each key comes once a second: every record joins one session, and retracts it."""
    windows = SessionWindows.of(TEN_SECONDS)
    table = builder.stream("in").group_by_key().windowed_by(windows).count()
    table.to_stream().to("out", key=session_windowed(string()), value=long())


def sliding_count(builder: StreamsBuilder) -> None:
    """Each key comes once a second: every record lies in ten windows and more."""
    windows = SlidingWindows.of(timedelta(seconds=5))
    table = builder.stream("in").group_by_key().windowed_by(windows).count()
    table.to_stream().to("out", key=time_windowed(string(), 5_000), value=long())


def join(builder: StreamsBuilder) -> None:
    table = builder.table("table")
    builder.stream("in").join(table, lambda left, right: left + right).to("out")


def count(builder: StreamsBuilder) -> None:
    builder.stream("in").group_by_key().count().to_stream().to("out", value=long())


def ready_made(ready: Any, serde: Any) -> Callable[[StreamsBuilder], None]:  # Any: any rows
    def build(builder: StreamsBuilder) -> None:
        table = builder.stream("in").group_by_key().aggregate(ready)
        table.to_stream().to("out", value=serde)

    return build


@vectorised
def is_no_comment(_keys: Any, values: Any) -> Any:  # Any: pyarrow has no types
    return pc.invert(pc.starts_with(values, "#"))


@vectorised
def upper(values: Any) -> Any:  # Any: pyarrow has no types
    return pc.utf8_upper(values)


def vectorised_filter_map(builder: StreamsBuilder) -> None:
    builder.stream("in").filter(is_no_comment).map_values(upper).to("out")


WORKLOADS = [
    Workload("pass-through", pass_through, 600_000, stateful=False),
    Workload("map_values", map_values, 600_000, stateful=False),
    Workload("filter, map_values", filter_map, 600_000, stateful=False),
    Workload("aggregate", aggregate),
    Workload("aggregate, cache", aggregate, 400_000, cached=True),
    Workload("10 s tumbling aggregate", tumbling_aggregate, 200_000),
    Workload("10 s tumbling count", tumbling_count, 200_000),
    Workload("session count", session_count, share=10),
    Workload("sliding count", sliding_count, share=20),
    Workload("stream-table join", join, 300_000),
    Workload("count", count, 2_000_000),
    Workload("count, cache", count, 2_000_000, cached=True),
    Workload("count, 100 k keys", count, keys=100_000),
    Workload("count, from Arrow", count, 2_000_000, arrow=True),
    Workload("sum_of", ready_made(sum_of(len), long())),
    Workload("min_of", ready_made(min_of(), string())),
    Workload("mean_of", ready_made(mean_of(len), mean_serde())),
    Workload("vectorised", vectorised_filter_map, stateful=False),
    Workload("vectorised, from Arrow", vectorised_filter_map, stateful=False, arrow=True),
]
