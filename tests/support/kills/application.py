"""An application that is killed, on Spark, over everything that there is: `python -m ... SHAPE SERVERS DIRECTORY LIMIT`."""

from __future__ import annotations

import sys

from millstream.spark import Progress, RunnerOptions, SparkOptions, SparkStreams, configure
from tests.support.kills.shapes import SHAPES


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(shape: str, servers: str, directory: str, limit: str) -> None:
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

    killed = SHAPES[shape]
    with SparkStreams(killed.topology(), killed.config, session, options) as application:
        application.run_available(progress)
    say("done")
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
