"""The topologies of Topologies.java on stream threads: `topologies.py TOPOLOGY SOURCE OUT name=value...`.

Runs one instance until its standard input ends, and leaves the group.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from millstream.streams import StreamsBuilder, StreamsConfig, TimeWindows
from millstream.streams.blocking import KafkaStreams
from millstream.streams.serdes import bytes_, long, string, time_windowed

TEN_SECONDS: Final = timedelta(seconds=10)


def pass_through(builder: StreamsBuilder, source: str, out: str) -> None:
    builder.stream(source, key=bytes_(), value=bytes_()).to(out)


def map_values(builder: StreamsBuilder, source: str, out: str) -> None:
    stream = builder.stream(source, key=string(), value=string())
    stream.map_values(lambda value: value.upper()).to(out, key=string(), value=string())


def count(builder: StreamsBuilder, source: str, out: str) -> None:
    stream = builder.stream(source, key=string(), value=bytes_())
    table = stream.group_by_key(key=string(), value=bytes_()).count()
    table.to_stream().to(out, key=string(), value=long())


def window_count(builder: StreamsBuilder, source: str, out: str) -> None:
    stream = builder.stream(source, key=string(), value=bytes_())
    grouped = stream.group_by_key(key=string(), value=bytes_())
    table = grouped.windowed_by(TimeWindows.tumbling(TEN_SECONDS)).count()
    table.to_stream().to(out, key=time_windowed(string(), 10_000), value=long())


def join(builder: StreamsBuilder, source: str, out: str) -> None:
    table = builder.table(f"{source}-table", key=string(), value=string())
    stream = builder.stream(source, key=string(), value=string())
    joined = stream.join(table, lambda left, right: left + right)
    joined.to(out, key=string(), value=string())


def latest(builder: StreamsBuilder, source: str, out: str) -> None:
    """The newest value of each key: tasks with a store, whose output is what has come in."""
    stream = builder.stream(source, key=bytes_(), value=bytes_())
    table = stream.group_by_key(key=bytes_(), value=bytes_()).reduce(lambda _before, now: now)
    table.to_stream().to(out, key=bytes_(), value=bytes_())


TOPOLOGIES: Final[Mapping[str, Callable[[StreamsBuilder, str, str], None]]] = {
    "pass_through": pass_through,
    "map_values": map_values,
    "count": count,
    "window_count": window_count,
    "join": join,
    "latest": latest,
}


def main(topology: str, source: str, out: str, *given: str) -> None:
    settings = dict(each.split("=", 1) for each in given)
    builder = StreamsBuilder()
    TOPOLOGIES[topology](builder, source, out)
    config = StreamsConfig(
        settings["application.id"],
        state_dir=settings["state.dir"],
        processing_guarantee=settings["processing.guarantee"],
        commit_interval_ms=int(settings["commit.interval.ms"]),
        cache_max_bytes=int(settings["statestore.cache.max.bytes"]),
        group_protocol=settings["group.protocol"],
    )
    clients = {"bootstrap.servers": settings["bootstrap.servers"]}
    application = KafkaStreams(builder.build(), config, clients)
    application.start()
    sys.stdin.read()
    application.close(30)
    os._exit(0)  # what waits for a broker that has gone would stay


if __name__ == "__main__":
    main(*sys.argv[1:])
