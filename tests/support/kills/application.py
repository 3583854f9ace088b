"""An application that is killed, on Spark, over everything that there is: `python -m ... SHAPE SERVERS DIRECTORY LIMIT MASTER [OPTION...]`.

A limit of 0 is none. Options: `at_least_once`; `continuous` for one that goes on by itself and ends when it has done everything.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from unittest import mock

from millstream.spark import Progress, RunnerOptions, SparkOptions, SparkStreams, configure
from millstream.spark.pipeline.jobs import TaskJobs
from millstream.spark.pipeline.messages import Reply, RunTask
from millstream.streams.config import ProcessingGuarantee
from tests.patience import WAITS_FOR_CLUSTER
from tests.support.kills.orders import PLANNED, Orders
from tests.support.kills.secured import login
from tests.support.kills.shapes import CONTINUOUS, SHAPES
from tests.support.kills.until_done import until_done
from tests.support.kills.watched_broker import Brokers

SETTINGS: Final = {
    "spark.python.daemon.module": "tests.support.kills.worker_daemon",
    "spark.executor.memory": "480m",
    "spark.executor.memoryOverhead": "64m",
    "spark.driver.memory": "512m",
    "spark.deploy.maxExecutorRetries": "-1",
}
"""Small executors; Spark starts a new one for each that is killed, however many they are."""


class KilledJobs(TaskJobs):
    """Whose driver may be told to kill somebody between planning and running."""

    orders = Orders.from_environment()

    def run(self, requests: Sequence[RunTask], description: str) -> list[Reply]:
        self.orders.observe(PLANNED)
        return super().run(requests, description)


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(shape: str, servers: str, directory: str, limit: str, master: str, *given: str) -> None:
    session = configure(SparkOptions(master=master, short_lived=True), **SETTINGS)
    session.sparkContext.setLogLevel("OFF")
    secured = login(is_secure=Brokers.of(os.environ) is Brokers.SECURE)
    options = RunnerOptions(
        bootstrap_servers=secured.pop("bootstrap_servers", servers),
        directory=directory,
        records_per_trigger_max=int(limit) or None,
        client_settings={**WAITS_FOR_CLUSTER, **secured},
    )

    def progress(made: Progress) -> None:
        say("batch", made.sub_topology, made.batch_id)

    killed = SHAPES[shape]
    config = killed.config
    if ProcessingGuarantee.AT_LEAST_ONCE in given:
        config = replace(config, processing_guarantee=ProcessingGuarantee.AT_LEAST_ONCE)
    with (
        mock.patch("millstream.spark.pipeline.spark_streams.TaskJobs", KilledJobs),
        SparkStreams(killed.topology(), config, session, options) as application,
    ):
        if CONTINUOUS in given:
            application.on_progress(progress)
            application.start()
            asyncio.run(until_done(killed.topology(), servers))
            application.await_termination(0)  # raises where it has failed
        else:
            application.run_available(progress)
    say("done")
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
