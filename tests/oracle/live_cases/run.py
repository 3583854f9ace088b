"""Runs the recorded cases of the streams oracle as live applications on Spark: `python tests/oracle/live_cases/run.py [OPTIONS] [PATTERN...]`.

    --seed N       of batches, portions, partitions and restarts; a failure is repeated with its seed and its case alone
    --count N      so many cases, in an order that the seed decides; default: all
    --from N       begins with the N-th of that order, from 0: with one seed `--count 100`, `--from 100 --count 100` ... run each case once
    --mode MODE    recorded, driver or tasks (see conversion.py); default: all that a case has
    --seconds N    ends after the case that is under way then
    --kafka        over Apache Kafka 4.3.1, from the jars of MILLSTREAM_KAFKA_CLASSPATH, in place of our broker
    --at ADDR      over brokers that run already
    --shard I/N    every N-th case
    --threads      by stream threads of instances that come and go, without Spark
    --in-process   without Spark: its jobs are runs of a task host in this process, which takes a tenth of the time

PATTERN chooses cases by their ids, as in `fk_*`. Prints each difference, what was left out and why, and how many were run in which way.
Exit 1 if any differed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from run_cases import say

from live_cases.cluster import Cluster
from live_cases.conversion import Mode
from live_cases.in_process import Hosts
from live_cases.live import Driver
from live_cases.on_spark import SparkDriver
from live_cases.on_threads import ThreadsDriver
from live_cases.running import BROKER_SETTINGS, Runner, all_cases, carry_functions, chosen_cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main() -> int:
    options = _options()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    sys.stdout.reconfigure(line_buffering=True)  # a log that can be followed
    say(f"seed {seed}")
    cases = chosen_cases(all_cases(), seed, options.first, options.count, options.patterns)
    shard, _, shards = options.shard.partition("/")
    modes = [Mode(options.mode)] if options.mode else list(Mode)
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(Cluster(servers_of(options, stack)))
        driver = stack.enter_context(_driver(options))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cases-")))
        runner = Runner(cluster, driver, directory, seed)
        for number, case in enumerate(cases[int(shard) :: int(shards)]):
            if options.seconds and time.monotonic() - started > options.seconds:
                say(f"ends after {number} cases, as --seconds says")
                break
            runner.run(case, modes)
            if number % 50 == 49:
                say(
                    f"{number + 1} cases, {runner.counts.runs.total()} runs, {time.monotonic() - started:.0f} s"
                )
    for line in runner.counts.lines():
        say(line)
    return 1 if runner.counts.different else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--mode", choices=list(Mode), default=None)
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--at", default="")
    parser.add_argument("--in-process", action="store_true")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("patterns", nargs="*")
    return parser.parse_args()


def servers_of(
    options: argparse.Namespace,
    stack: contextlib.ExitStack,
    more_settings: Mapping[str, str] | None = None,
) -> str:
    """Those of `--at`, a broker of Apache Kafka with `--kafka`, or one of ours."""
    settings = {**BROKER_SETTINGS, **(more_settings or {})}
    if options.at:
        return str(options.at)
    if not options.kafka:
        from millstream.testing.broker import Broker

        broker = stack.enter_context(Broker(in_process=False, settings=settings))
        return broker.bootstrap_servers
    from tests.oracle.broker import servers

    classpath = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
    if not classpath:
        raise SystemExit("MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are")
    # Its coordinator hears late of topics that the next case makes anew, and members wait for two heartbeats.
    names = ("group.streams.heartbeat.interval.ms", "group.streams.min.heartbeat.interval.ms")
    return stack.enter_context(
        servers.kafka(classpath, {**settings, **dict.fromkeys(names, "1000")})
    )


@contextlib.contextmanager
def _driver(options: argparse.Namespace) -> Iterator[Driver]:
    if options.threads:
        with ThreadsDriver() as driver:
            yield driver
        return
    with jobs_in_process() if options.in_process else spark_session() as session:
        yield SparkDriver(session)


@contextlib.contextmanager
def jobs_in_process() -> Iterator[None]:
    """Meanwhile the jobs of `SparkStreams` run on task hosts of this process. Gives the session that they need: none."""
    from millstream.spark.pipeline import spark_streams

    carry_functions()
    with Hosts() as hosts:
        jobs, spark_streams.TaskJobs = spark_streams.TaskJobs, hosts.jobs
        try:
            yield None
        finally:
            spark_streams.TaskJobs = jobs


@contextlib.contextmanager
def spark_session() -> Iterator[SparkSession]:
    from millstream.spark import SparkOptions, configure

    carry_functions()
    session = configure(SparkOptions(master="local[2]", short_lived=True))
    session.sparkContext.setLogLevel("FATAL")
    try:
        yield session
    finally:
        session.stop()


if __name__ == "__main__":
    sys.exit(main())
