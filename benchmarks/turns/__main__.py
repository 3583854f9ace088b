"""`make speed-turns`, or `python -m benchmarks.turns`: has this checkout become slower than a base commit?

    python -m benchmarks.turns [--base COMMIT] [--new COMMIT] [--only WORDS] [--rounds 3] [--minutes 15]

Both are built beside each other, and measure the same rows in turns, in processor time for a unit of work, which a busy machine
changes less than the time on the clock. Rounds are taken until each row is decided, at least `--rounds`, at most four times as
many, and none is begun after `--minutes`. Exits with 1 when a row is worse by more than 5 % and that is no noise, with 2 when a
row could not be decided. How to read it: docs/benchmarks.md. Linux alone: it reads the clocks of other processes.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Final

from benchmarks.turns import checkouts
from benchmarks.turns.baseline import BASELINE, parse_baseline
from benchmarks.turns.checkouts import CannotBuild
from benchmarks.turns.ratios import ROUNDS_MIN, Figures
from benchmarks.turns.report import exit_status, summary, table
from benchmarks.turns.rounds import Checkouts, measure_group, to_measure
from benchmarks.turns.rows import Row, selected
from benchmarks.turns.side import SideFailed

ROOT: Final = Path(__file__).resolve().parents[2]
SLICES: Final = ROOT / "build/turns/slices.json"
LOCK: Final = ROOT / "build/turns/lock"
ROUNDS_MAX_FACTOR: Final = 4


def main() -> int:
    options = parse_options()
    try:
        rows = selected(options.only)
        LOCK.parent.mkdir(parents=True, exist_ok=True)
        with LOCK.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            places = build(options.base, options.new)
            results = compare(places, rows, options.rounds, options.minutes)
    except BlockingIOError:
        print("another comparison of this checkout is at work", file=sys.stderr)
        return 2
    except (CannotBuild, LookupError, ValueError) as wrong:
        print(wrong, file=sys.stderr)
        return 2
    print(f"\n{table(results)}\n\n{summary(results)}")
    SLICES.write_text(json.dumps({row.title: asdict(results[row]) for row in rows}))
    print(f"every slice: {SLICES.relative_to(ROOT)}")
    return exit_status(results)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns")
    parser.add_argument("--base", default="", help="default: that of benchmarks/baseline.json")
    parser.add_argument("--new", default="", help="default: the working tree")
    parser.add_argument("--only", default="", help="words in titles of rows, separated by commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS_MIN, help="at least so many")
    parser.add_argument("--minutes", type=float, default=15.0, help="no round begins later")
    options = parser.parse_args()
    options.rounds = max(options.rounds, ROUNDS_MIN)
    return options


def build(base: str, new: str) -> Checkouts:
    here = checkouts.working_tree(ROOT)
    base = checkouts.commit_of(ROOT, base or parse_baseline((ROOT / BASELINE).read_text()).commit)
    new = checkouts.commit_of(ROOT, new) if new else here
    print(f"base {base[:8]}, new {new[:8]}{' (working tree)' if new == here else ''}", flush=True)
    products = [checkouts.product_of(ROOT, tree) for tree in (base, new)]
    compiled = [checkouts.compiled_modules(product) for product in products]
    print(
        f"compiled modules: base {compiled[0]}, new {compiled[1]}; "
        f"sources: {'the same' if products[0] == products[1] else 'different'}",
        flush=True,
    )
    if (compiled[0] == 0) != (compiled[1] == 0):
        raise CannotBuild(
            "only one side is compiled, so nothing can be said: is there a C compiler?"
        )
    return Checkouts(checkouts.benchmark_code(ROOT, here), *products)


def compare(
    places: Checkouts, rows: Sequence[Row], rounds: int, minutes: float
) -> dict[Row, Figures]:
    results = {row: Figures() for row in rows}
    began = time.monotonic()
    for number in range(1, rounds * ROUNDS_MAX_FACTOR + 1):
        left = to_measure(results, number, rounds)
        late = time.monotonic() - began > minutes * 60
        if not left or (late and number > rounds):
            break
        minute = (time.monotonic() - began) / 60
        load = os.getloadavg()[0]
        print(f"round {number}: rows {len(left)}, minute {minute:.0f}, load {load:.1f}", flush=True)
        for _, group in groupby(left, key=lambda row: row.group):
            for row, outcome in measure_group(places, list(group), number):
                if isinstance(outcome, SideFailed):
                    results[row].failure = str(outcome)
                else:
                    results[row].rounds.append(outcome)
    return results


if __name__ == "__main__":
    raise SystemExit(main())
