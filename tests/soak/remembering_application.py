"""An application with windows, a join and a cache that runs on Spark until its input ends: `python -m ... SERVERS DIRECTORY`."""

from __future__ import annotations

import sys
from datetime import timedelta

from millstream.spark import RunnerOptions, SparkOptions, SparkStreams, configure
from millstream.streams import JoinWindows, StreamJoined, StreamsBuilder, TimeWindows
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import bytes_, long, string
from millstream.streams.topology import Topology

CACHE_BYTES = 1024 * 1024
SECOND = timedelta(seconds=1)


def topology() -> Topology:
    builder = StreamsBuilder()
    left = builder.stream("left", key=string(), value=bytes_())
    right = builder.stream("right", key=string(), value=bytes_())
    grouped = left.group_by(lambda key, _: key[-1:], key=string(), value=bytes_())
    windows = TimeWindows.tumbling(SECOND, grace=SECOND)
    grouped.windowed_by(windows).count().to_stream().to("windows", value=long())
    serdes = StreamJoined(key=string(), value=bytes_(), other_value=bytes_())
    near = JoinWindows.of(SECOND, grace=SECOND)
    left.join(right, lambda one, other: one + other, windows=near, joined=serdes).to(
        "joined", value=bytes_()
    )
    return builder.build()


def main(servers: str, directory: str) -> None:
    session = configure(
        SparkOptions(master="local[2]"),
        **{
            "spark.driver.memory": "512m",
            "spark.ui.enabled": "true",
            "spark.python.daemon.module": "tests.soak.bounded_daemon",
        },
    )
    session.sparkContext.setLogLevel("OFF")
    config = StreamsConfig(application_id="remembering", cache_max_bytes=CACHE_BYTES)
    options = RunnerOptions(bootstrap_servers=servers, directory=directory)
    with SparkStreams(topology(), config, session, options) as application:
        application.start()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()  # until the test has seen enough
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
