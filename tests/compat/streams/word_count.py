"""The topology of WordCount.java as an instance of ours, until it is told to terminate: `word_count.py SERVERS APPLICATION STATE [PROTOCOL [PATTERN]]`."""

from __future__ import annotations

import sys

from millstream.streams import Materialized, StoreType, StreamsBuilder, StreamsConfig, Topology
from millstream.streams.blocking import KafkaStreams
from millstream.streams.serdes import long, string


def word_count(pattern: str | None = None) -> Topology:
    builder = StreamsBuilder()
    topics = "words" if pattern is None else ()
    (
        builder.stream(topics, pattern=pattern, key=string(), value=string())
        .group_by(lambda _, word: word, key=string(), value=string())
        .count(materialized=Materialized("counts", type=StoreType.IN_MEMORY))
        .to_stream()
        .to("counts", key=string(), value=long())
    )
    return builder.build()


if __name__ == "__main__":
    servers, application, state, *more = sys.argv[1:]
    protocol, pattern = (*more, None, None)[:2]
    config = StreamsConfig(
        application,
        processing_guarantee="exactly_once_v2",
        state_dir=state,
        commit_interval_ms=100,
        group_protocol=protocol or "streams",
        time_across_repartitions="kafka",  # instances in Java write no origin times
    )
    clients = {
        "bootstrap.servers": servers,
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 500,
        "metadata.max.age.ms": 500,
    }
    KafkaStreams(word_count(pattern), config, clients).run()
