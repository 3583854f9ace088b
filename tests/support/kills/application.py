"""The application that is killed: the demo's topology on Spark, over everything that there is. `python -m ... SERVERS DIRECTORY LIMIT`."""

from __future__ import annotations

import sys

from millstream.cli.demo.topology import APPLICATION_ID, flights_topology
from millstream.spark import Progress, RunnerOptions, SparkOptions, SparkStreams, configure
from millstream.streams.config import StreamsConfig


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(servers: str, directory: str, limit: str) -> None:
    session = configure(
        SparkOptions(master="local[2]", short_lived=True),
        **{"spark.python.daemon.module": "tests.support.kills.worker_daemon"},
    )
    session.sparkContext.setLogLevel("OFF")
    options = RunnerOptions(
        bootstrap_servers=servers, directory=directory, records_per_trigger_max=int(limit)
    )

    def progress(made: Progress) -> None:
        say("batch", made.sub_topology, made.batch_id)

    config = StreamsConfig(application_id=APPLICATION_ID)
    with SparkStreams(flights_topology(), config, session, options) as application:
        application.run_available(progress)
    say("done")
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
