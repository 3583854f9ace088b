"""The counts of the judge against those of Flink's SQL: `python tests/oracle/alignment/flink.py --python INTERPRETER [--seed N] [--count N]`.

INTERPRETER has apache-flink. The case of orders, and random inputs in partitions at different speeds whose disorder is within the grace: what is
beyond it Flink drops by a clock of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from run_cases import say
from streams.spec_topology import serde

from alignment.case import Case, made_case
from alignment.inputs import PARTITIONS_MAX, Pace, random_inputs
from alignment.judge import judge
from alignment.orders import orders_case, orders_spec

LATE_MS = 40
Counts = dict[tuple[str, int], int]
"""By key and start of the window."""


def cases(seed: int, count: int) -> Iterator[Case]:
    yield orders_case()
    for number in range(count):
        rng = random.Random(f"flink/{seed}/{number}")
        size = rng.choice((100, 500, 2_000))
        spec = orders_spec(size, size // rng.choice((1, 2, 4)), LATE_MS + rng.choice((0, 10, 100)))
        partitions = {"orders": rng.randint(1, PARTITIONS_MAX), "windows": 2}
        pace = Pace(rng.choice((500, 6_000)), rng.choice((20, 200)), rng.choice((0, 0.3)), LATE_MS)
        inputs = random_inputs(spec["topics"], partitions, pace, rng)
        inputs = [record for record in inputs if record.value is not None]
        yield made_case(f"flink {seed}/{number}", spec, partitions, [inputs])


def job(case: Case, directory: Path, rng: random.Random) -> dict:
    """What Flink is to do; writes the partitions, those without a record, too."""
    directories = []
    for partition in range(case.partitions["orders"]):
        place = directory / str(partition)
        place.mkdir(parents=True)
        lines = [
            f"{customer(record.value)},{record.timestamp}\n"
            for record in case.inputs
            if record.partition == partition
        ]
        (place / "rows").write_text("".join(lines))
        directories.append(str(place))
    windows = next(op["windows"] for op in case.spec["ops"] if op["op"] == "windowed_by")
    return {
        "directories": directories,
        "size_ms": windows["size"],
        "advance_ms": windows["advance"],
        "grace_ms": windows["grace"],
        "parallelism": rng.choice((1, 2, 4)),
    }


def customer(value: bytes | None) -> str:
    assert value is not None, "an order has a value"
    return value.decode().partition(":")[0]


def judged(case: Case) -> Counts:
    last: Counts = {}
    for sents in judge(case).sent.values():
        for sent in sents:
            if sent.record.topic == "windows" and sent.record.key and sent.record.value:
                (start,) = struct.unpack(">q", sent.record.key[-8:])
                number = serde("long").decode(sent.record.value)
                last[sent.record.key[:-8].decode(), start] = number
    return last


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--python", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    options = parser.parse_args()
    rng, different = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory(prefix="flink-") as directory:
        place = Path(directory)
        wanted = list(cases(options.seed, options.count))
        jobs = [job(case, place / str(number), rng) for number, case in enumerate(wanted)]
        (place / "jobs.json").write_text(json.dumps(jobs))
        script = Path(__file__).with_name("flink_counts.py")
        command = [options.python, str(script), str(place / "jobs.json")]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    for case, asked, rows in zip(wanted, jobs, answers, strict=True):
        flink = {(key, start): n for key, start, n in rows if start >= 0}  # Kafka has none before 0
        ours = judged(case)
        is_equal = flink == ours
        different += not is_equal
        say(
            f"{'equal' if is_equal else 'DIFFERENT'}: {case.id}, parallelism {asked['parallelism']}: {sum(flink.values())} counted in {len(flink)} windows by Flink, {sum(ours.values())} in {len(ours)} by the judge"
        )
    say(f"{len(wanted)} cases, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
