"""Random assignments for Kafka's own assignors to answer: `python -m tests.oracle.assignors.judge [--cases N] [--seed N]`.

Needs MILLSTREAM_KAFKA_CLASSPATH and java. Writes cases.jsonl.gz beside this file: a question and Java's answer a line.
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
ASSIGNORS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
RACKS: Final = ("r1", "r2", "r3")
_TOPICS: Final = "tuvw"
_MEMBERS: Final = "abcdefghijkl"
"""Names of one letter lie in Java's hash maps in alphabetical order, so that no answer depends on hashes."""

Case = dict[str, Any]  # Any: JSON


def random_case(chance: random.Random) -> Case:
    """A group some of whose members hold what an earlier generation gave them, on topics with or without racks."""
    on_racks = chance.random() < 0.3
    topics = {
        topic: [_replicas(chance) if on_racks else [] for _ in range(chance.randint(1, 9))]
        for topic in _TOPICS[: chance.randint(1, len(_TOPICS))]
    }
    wants_alike = chance.random() < 0.5
    members = {
        name: {
            "topics": sorted(
                topics
                if wants_alike
                else chance.sample(sorted(topics), chance.randint(1, len(topics)))
            ),
            "owned": [],
            "generation": -1,
            "instance": f"i{chance.randint(0, 9)}{name}" if chance.random() < 0.1 else None,
            "rack": chance.choice(RACKS) if on_racks and chance.random() < 0.9 else None,
        }
        for name in _MEMBERS[: chance.randint(1, len(_MEMBERS))]
    }
    if chance.random() < 0.8:
        _give_a_past(chance, topics, members)
    return {"assignor": chance.choice(ASSIGNORS), "topics": topics, "members": members}


def _replicas(chance: random.Random) -> list[str]:
    return sorted(chance.sample(RACKS, chance.randint(1, 2)))


def _give_a_past(chance: random.Random, topics: Case, members: Case) -> None:
    """Each partition had at most one owner in each of two generations; not everybody was there, or knows the last one."""
    generation = {name: chance.choice((-1, 4, 5, 5, 5, 5)) for name in members}
    for holding in (4, 5):
        holders = [name for name, known in generation.items() if known == holding]
        for topic, partitions in topics.items():
            for index in range(len(partitions)):
                takers = [
                    name
                    for name in holders
                    if chance.random() < 0.9 or topic in members[name]["topics"]
                ]
                if takers and chance.random() < (0.8 if holding == 5 else 0.2):
                    members[chance.choice(takers)]["owned"].append(f"{topic}-{index}")
    for name, known in generation.items():
        members[name]["generation"] = known


def judged(cases: Iterable[Case]) -> Iterator[Case]:
    """Java's answers, in order."""
    classpath = os.environ["MILLSTREAM_KAFKA_CLASSPATH"]
    done = subprocess.run(
        ["java", "-Xmx256m", "-cp", classpath, str(HERE / "AssignorJudge.java")],
        input="".join(json.dumps(case) + "\n" for case in cases),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the judge failed: {done.stderr[-2000:]}")
    return (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))


def stored() -> list[tuple[Case, Case]]:
    """The questions and answers in cases.jsonl.gz."""
    with gzip.open(CASES, "rt") as lines:
        return [(pair["case"], pair["answer"]) for pair in map(json.loads, lines)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=848)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    cases = [random_case(chance) for _ in range(arguments.cases)]
    pairs = zip(cases, judged(cases), strict=True)
    lines = "".join(json.dumps({"case": case, "answer": answer}) + "\n" for case, answer in pairs)
    with CASES.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
        packed.write(lines.encode())


if __name__ == "__main__":
    main()
