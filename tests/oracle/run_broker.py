"""Runs the cases of tests/oracle/broker against brokers and compares: `python tests/oracle/run_broker.py [OPTIONS] [PATTERN...]`.

    (no option)        our broker, against the transcripts of Kafka that are kept in the repository
    --kafka            Kafka 4.3.1 too, from the jars of MILLSTREAM_KAFKA_CLASSPATH; also tells where it differs from its transcript
    --record           writes Kafka's transcripts anew, and does not run ours
    --kafka-at ADDR    a Kafka that runs already with the settings of broker/servers.py
    --at ADDR          our broker that runs already with these settings
    --apart            our broker is one of a cluster: its controllers are three other nodes, so that it passes on what they decide
    --all              show the differences that have a reason too

PATTERN chooses cases, as in `groups/*static*`. Prints each difference, then `N cases: N passed, N failed, N not served`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracle.broker import servers, transcripts
from tests.oracle.broker.runner import (
    KAFKA_SETTLES_S,
    Case,
    cases,
    modules,
    not_served,
    prepare,
    run_case,
)


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    with contextlib.ExitStack() as stack:
        kafka = _kafka(options, stack)
        if options.record:
            _record(options.patterns, kafka)
            return 0
        start = servers.ours_apart if options.apart else servers.ours
        ours = options.at or stack.enter_context(start())
        return _compare(options, kafka, ours)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--kafka-at", default="")
    parser.add_argument("--at", default="")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("patterns", nargs="*", default=["*"])
    return parser.parse_args(arguments)


def _kafka(options: argparse.Namespace, stack: contextlib.ExitStack) -> str:
    if options.kafka_at or not (options.kafka or options.record):
        return str(options.kafka_at)
    classpath = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
    if not classpath:
        raise SystemExit("MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are")
    return stack.enter_context(servers.kafka(classpath))


def _chosen(patterns: list[str]) -> Iterator[Case]:
    for module in modules():
        for found in cases(module):
            full = f"{found.module}/{found.name}"
            if any(fnmatchcase(full, pattern) for pattern in patterns):
                yield found


def _record(patterns: list[str], kafka: str) -> None:
    prepare(kafka)
    for module in modules():
        known = transcripts.read(module)
        chosen = {found.name: found for found in _chosen(patterns) if found.module == module}
        kept = {}
        for found in cases(module):
            if found.name in chosen:
                steps = run_case(found, kafka, settle_s=KAFKA_SETTLES_S)
                sys.stdout.write(f"{module}/{found.name}: {len(steps)} steps\n")
                if steps[-1][0] == "broken off":
                    raise SystemExit(f"{module}/{found.name} cannot go on: {steps[-1][1]}")
                kept[found.name] = steps
            elif found.name in known:
                kept[found.name] = known[found.name]
        if chosen:
            transcripts.write(module, kept)


def _compare(options: argparse.Namespace, kafka: str, ours: str) -> int:
    keys = prepare(ours)
    if kafka:
        prepare(kafka)
    counts = {"passed": 0, "failed": 0, "not served": 0}
    listed = transcripts.allowed_differences()
    unused = set(listed)
    for found in _chosen(options.patterns):
        name = f"{found.module}/{found.name}"
        recorded = transcripts.read(found.module).get(found.name, [])
        if kafka:
            live = run_case(found, kafka, settle_s=KAFKA_SETTLES_S)
            for difference in transcripts.compare(name, recorded, live):
                sys.stdout.write(f"Kafka itself, now and recorded (as ours): {difference}\n")
            recorded = live
        missing = not_served(found, keys)
        if missing:
            counts["not served"] += 1
            sys.stdout.write(f"{name}: {', '.join(missing)} not served\n")
            continue
        settle_s = KAFKA_SETTLES_S if options.apart else 0.0  # a change comes with the log
        told = run_case(found, ours, settle_s=settle_s)
        differences = transcripts.compare(name, recorded, told)
        unused -= {entry for entry in unused for d in differences if entry.covers(d)}
        left = transcripts.unexplained(differences, listed)
        counts["failed" if left else "passed"] += 1
        shown = differences if options.all else left
        sys.stdout.writelines(f"{difference}\n" for difference in shown)
    if options.patterns == ["*"]:
        sys.stdout.writelines(
            f"listed, but no difference any more: {e.case} | {e.step} | {e.path}\n" for e in unused
        )
    sys.stdout.write(
        f"{sum(counts.values())} cases: "
        + ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        + "\n"
    )
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
