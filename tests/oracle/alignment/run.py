"""Random topologies with repartitions over a backlog or live, against a judge that needs no broker: `python tests/oracle/alignment/run.py [OPTIONS]`.

    --seed N       of topologies, inputs and ways to run them; a failure is repeated with its seed and --case
    --count N      so many cases; default: 50
    --case N       this one alone, and --times N times
    --seconds N    ends after the case that is under way then
    --orders N     counts so many orders in all ways instead, 16,000 for the case with which it began
    --live         input comes in slices while the application runs, every time; otherwise in one case of five
    --beside       with a task that reads a repartition topic and a source topic
    --spark        on Spark, local[2]
    --kills        by instances that are processes and are killed with SIGKILL at any step of their tasks
    --processes    by instances that are processes, at least once, a backlog each time; nobody is killed
    --in-process   as --spark, but its jobs are runs of a task host in this process, which takes a tenth of the time
    --kafka        over Apache Kafka 4.3.1, from the jars of MILLSTREAM_KAFKA_CLASSPATH, in place of our broker
    --at ADDR      over brokers that run already

Without --spark by stream threads. Prints each difference and how many cases were run in which way. Exit 1 if any differed.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from live_cases.cluster import Cluster
from live_cases.run import jobs_in_process, servers_of, spark_session
from live_cases.running import carry_functions
from run_cases import say

from alignment.case import random_case
from alignment.on_killed import BROKER_SETTINGS, KilledRunner, random_way_of_processes
from alignment.on_spark import SparkRunner
from alignment.on_threads import ThreadsRunner
from alignment.orders import counted, orders_case
from alignment.running import Comparison, Runner

LIVE = 0.2


def main() -> int:
    options = _options()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    sys.stdout.reconfigure(line_buffering=True)  # a log that can be followed
    say(f"seed {seed}")
    numbers = range(options.count) if options.case is None else [options.case] * options.times
    started = time.monotonic()
    settings = BROKER_SETTINGS if options.kills or options.processes else None
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(Cluster(servers_of(options, stack, settings)))
        runner = stack.enter_context(_runner(options))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="alignment-")))
        if options.orders:
            return 1 if _run_orders(options.orders, cluster, runner, directory) else 0
        comparison = Comparison(cluster, runner, directory)
        for done, number in enumerate(numbers):
            if options.seconds and time.monotonic() - started > options.seconds:
                say(f"ends after {done} cases, as --seconds says")
                break
            chance = f"{seed}/{number}/way"
            live = options.live or (not options.processes and random.Random(chance).random() < LIVE)
            case = random_case(seed, number, live=live, beside=options.beside)
            comparison.run(case, chance)
            if done % 50 == 49:
                differ = len(comparison.counts.different)
                say(f"{done + 1} cases, {differ} differ, {time.monotonic() - started:.0f} s")
    for line in comparison.counts.lines():
        say(line)
    if isinstance(runner, KilledRunner):
        say(f"{runner.kills} kills")
    return 1 if comparison.counts.different else 0


def _run_orders(count: int, cluster: Cluster, runner: Runner, directory: Path) -> int:
    """How many ways of running it differ."""
    case, different = orders_case(count), 0
    for each in runner.all_ways():
        comparison = Comparison(cluster, each, directory)
        different += bool(comparison.run(case, "orders"))
        (way,) = comparison.counts.runs
        say(f"{counted(comparison.found):6} of {count} counted: {way}")
    say(f"{different} ways differ")
    return different


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--case", type=int, default=None)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--orders", type=int, default=0)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--kills", action="store_true")
    parser.add_argument("--processes", action="store_true")
    parser.add_argument("--in-process", action="store_true")
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--at", default="")
    return parser.parse_args()


@contextlib.contextmanager
def _runner(options: argparse.Namespace) -> Iterator[Runner]:
    if options.kills:
        yield KilledRunner()
        return
    if options.processes:
        yield KilledRunner(random_way=random_way_of_processes)
        return
    if not (options.spark or options.in_process):
        carry_functions()
        yield ThreadsRunner()
        return
    with jobs_in_process() if options.in_process else spark_session() as session:
        yield SparkRunner(session)


if __name__ == "__main__":
    sys.exit(main())
