"""Random usage under random quotas for Kafka's own quota managers to answer: `python -m tests.oracle.quotas.judge [--cases N] [--seed N]`.

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
NO_PART: Final = False
"""In place of a name: the quota has no such part. None: the default."""
_USERS: Final = ("alice", "bob")
_CLIENT_IDS: Final = ("c1", "c2", "")
_BEGINNING_MS: Final = 1_800_000_000_000

Case = dict[str, Any]  # Any: JSON


def random_case(chance: random.Random) -> Case:
    """Some quotas of one or several levels, and what clients take; quotas change meanwhile."""
    kind = chance.choice(["bytes", "bytes", "request", "mutation"])
    steps: list[list[Any]] = [_quota(chance, kind) for _ in range(chance.randint(1, 4))]
    now_ms = _BEGINNING_MS
    for _ in range(chance.randint(5, 40)):
        now_ms += chance.choice([0, 1, 20, 300, 999, 1_000, 1_001, 2_500, 11_000, 30_000])
        steps.append(_step(chance, kind, now_ms))
    return {
        "kind": kind,
        "count": chance.choice([11, 11, 2, 5]),
        "size_s": chance.choice([1, 1, 3]),
        "steps": steps,
    }


def _quota(chance: random.Random, kind: str) -> list[Any]:
    user = chance.choice([*_USERS, None, NO_PART])
    client_id = chance.choice([*_CLIENT_IDS[:2], None, NO_PART])
    if user is NO_PART and client_id is NO_PART:
        user = chance.choice(_USERS)
    rates = {
        "bytes": [1, 100, 1_000, 12_345.5],
        "request": [0.5, 10, 200],
        "mutation": [0.3, 1, 20],
    }
    limit = None if chance.random() < 0.2 else chance.choice(rates[kind])
    return ["quota", user, client_id, limit]


def _step(chance: random.Random, kind: str, now_ms: int) -> list[Any]:
    who = [chance.choice(_USERS), chance.choice(_CLIENT_IDS)]
    sizes = {"bytes": [0, 1, 500, 20_000], "request": [0.01, 3, 250.5], "mutation": [1, 3, 150]}
    match chance.choice(["take"] * 8 + ["take_back", "largest", "quota"]):
        case "quota":
            return _quota(chance, kind)
        case "largest" if kind != "mutation":
            return ["largest", *who]
        case "take_back" if kind != "mutation":
            return ["take_back", *who, chance.choice(sizes[kind]), now_ms]
    return ["take", *who, chance.choice(sizes[kind]), now_ms]


def answers(cases: Iterable[Case]) -> Iterator[list[float]]:
    """Kafka's answers to the steps of each case, in order."""
    classpath = os.environ["MILLSTREAM_KAFKA_CLASSPATH"]
    lines = "\n".join(json.dumps(case) for case in cases)
    command = ["java", "-cp", classpath, str(HERE / "QuotaJudge.java")]
    run = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return map(json.loads, run.stdout.splitlines())


def read_cases() -> list[tuple[Case, list[float]]]:
    """Recorded cases with Kafka's answers."""
    with gzip.open(CASES, "rt") as lines:
        return [(each["case"], each["answer"]) for each in map(json.loads, lines)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=430)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    cases = [random_case(chance) for _ in range(arguments.cases)]
    with gzip.GzipFile(CASES, "wb", mtime=0) as out:
        for case, answer in zip(cases, answers(cases), strict=True):
            line = json.dumps({"case": case, "answer": answer}, separators=(",", ":"))
            out.write(line.encode() + b"\n")


if __name__ == "__main__":
    main()
