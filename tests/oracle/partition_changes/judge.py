"""Random changes of partitions for Kafka's own builder to answer: `python -m tests.oracle.partition_changes.judge [--cases N] [--seed N]`.

Needs MILLSTREAM_KAFKA_CLASSPATH and java. Writes cases.jsonl.gz beside this file: a question and Kafka's answer a line.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
CASES: Final = HERE / "cases.jsonl.gz"
_BROKERS: Final = range(1, 8)
"""Small numbers lie in Java's hash sets in their order, so that no answer depends on hashes."""

_LEVELS: Final = (7, 11, 12, 16, 17, 22, 23, 30, 30, 30, 30)
"""Of metadata.version, on both sides of each one at which the builder decides otherwise; mostly the newest."""

Case = dict[str, Any]  # Any: JSON


def random_case(chance: random.Random) -> Case:
    """A partition as it may be found, mostly; and what somebody wants of it."""
    replicas = chance.sample(_BROKERS, chance.randint(1, 5))
    isr = [r for r in replicas if chance.random() < 0.5]
    chance.shuffle(isr)
    elr = [r for r in sorted(replicas) if r not in isr and chance.random() < 0.3]
    leader = chance.choice(isr) if isr and chance.random() < 0.8 else -1
    last_known = [chance.choice(replicas)] if chance.random() < (0.2 if isr else 0.7) else []
    reassigns = len(replicas) > 1 and chance.random() < 0.3
    adding = [r for r in replicas if reassigns and chance.random() < 0.4]
    removing = [r for r in replicas if reassigns and r not in adding and chance.random() < 0.4]
    before = {
        "replicas": replicas,
        "directories": [chance.choice([r, 0, 50 + r]) for r in replicas],
        "isr": isr,
        "elr": elr,
        "last_known_elr": last_known,
        "removing": removing,
        "adding": adding,
        "leader": leader,
        "recovery": int(chance.random() < 0.2),
    }
    level = chance.choice(_LEVELS)
    elr_enabled = level >= 23 and chance.random() < 0.75
    return {
        "before": before,
        "target": _target(before, chance),
        "can_lead": [b for b in _BROKERS if chance.random() < 0.6],
        "min_isr": chance.randint(1, len(replicas)),
        "elr": elr_enabled,
        "level": level,
    }


def _target(before: Case, chance: random.Random) -> Case:
    replicas, isr = before["replicas"], before["isr"]
    target: Case = {"election": chance.choice(["ONLINE", "ONLINE", "PREFERRED", "UNCLEAN"])}
    match chance.choice(
        ["nothing", "leave", "leave", "unclean", "alter", "alter", "move", "cancel", "directory"]
    ):
        case "leave":
            gone = chance.choice(replicas)
            target["isr"] = [r for r in isr if r != gone]
        case "unclean":
            gone = chance.choice(replicas)
            target |= {"isr": [r for r in isr if r != gone], "unclean": [gone]}
        case "alter":
            target |= {
                "isr": chance.sample(replicas, chance.randint(1, len(replicas))),
                "recovery": 0,
            }
        case "move":
            wanted = chance.sample(_BROKERS, chance.randint(1, 4))
            removing = sorted(set(replicas) - set(wanted))
            adding = sorted(set(wanted) - set(replicas))
            target["replicas"] = [*wanted, *removing]
            target |= {name: r for name, r in (("removing", removing), ("adding", adding)) if r}
        case "cancel":
            stay = [r for r in replicas if r not in before["adding"]]
            if stay:
                in_sync = [r for r in isr if r in stay] or stay[:1]
                target |= {"replicas": stay, "isr": in_sync, "removing": [], "adding": []}
        case "directory":
            target["moved"] = [chance.choice(replicas), chance.randint(1, 99)]
    return target


def answers(cases: Iterable[Case]) -> Iterator[Case]:
    """Kafka's answer to each case, in order."""
    classpath = os.environ["MILLSTREAM_KAFKA_CLASSPATH"]
    lines = "\n".join(json.dumps(case) for case in cases)
    command = ["java", "-cp", classpath, str(HERE / "PartitionChangeJudge.java")]
    run = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return map(json.loads, run.stdout.splitlines())


def read_cases() -> list[tuple[Case, Case]]:
    """Recorded cases with Kafka's answers."""
    with gzip.open(CASES, "rt") as lines:
        return [(each["case"], each["answer"]) for each in map(json.loads, lines)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=966)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    cases = [random_case(chance) for _ in range(arguments.cases)]
    with gzip.GzipFile(CASES, "wb", mtime=0) as out:
        for case, answer in zip(cases, answers(cases), strict=True):
            line = json.dumps({"case": case, "answer": answer}, separators=(",", ":"))
            out.write(line.encode() + b"\n")


if __name__ == "__main__":
    main()
