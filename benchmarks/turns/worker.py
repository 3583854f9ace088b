"""One side of a round: measures the rows of one group when told to, with the product of one checkout.

    python -m benchmarks.turns.worker GROUP PRODUCT ROUND

Reads a line of JSON for each thing to do and writes a line for each answer:

    {"prepare": "count"}     {}                                      whatever the row needs is there, and warm
    {"measure": "count"}     {"units": 200000, "cpu_s": 0.21}        one slice

The end of its input ends it, and everything that it has started. What the product prints goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from benchmarks.turns.ratios import Slice
from benchmarks.turns.rows import MODULES, PINNED

Measure = Callable[[], Slice]
"""Measures one slice."""

Prepare = Callable[[], Measure]
"""Makes what a row needs, and runs it until it is warm."""

OpenRows = Callable[[], AbstractContextManager[Mapping[str, Prepare]]]
"""The `open_rows` of the module of a group: what all its rows share lives as long as the context."""


def warm(measure: Measure, times: int = 1) -> Measure:
    for _ in range(times):
        measure()
    return measure


def serve(rows: Mapping[str, Prepare], orders: Iterator[str], answers: IO[str]) -> None:
    measures: dict[str, Measure] = {}
    for line in orders:
        match json.loads(line):
            case {"prepare": str(name)}:
                measures.clear()  # the row before needs its memory no longer
                measures[name] = rows[name]()
                answer: dict[str, Any] = {}  # Any: JSON
            case {"measure": str(name)}:
                answer = measures[name]()._asdict()
            case other:
                raise ValueError(f"not an order: {other}")
        print(json.dumps(answer), file=answers, flush=True)


def check_product(product: Path) -> None:
    """Raises RuntimeError when another millstream than that of the checkout would be measured."""
    import millstream

    found = Path(millstream.__file__ or "")
    if not found.is_relative_to(product):
        raise RuntimeError(f"millstream comes from {found}, not from {product}")


def pin(round_number: int) -> None:
    """One processor for this process and what it starts, the next one in the next round.

    A request of one record costs a broker twice as much when its client runs on another processor that has to be woken, and
    which of the two happens is the scheduler's mood.
    """
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processors[round_number % len(processors)]})


def main(group: str, product: str, round_number: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever is printed must not look like an answer
    check_product(Path(product))
    if group in PINNED:
        pin(int(round_number))
    open_rows: OpenRows = importlib.import_module(MODULES[group]).open_rows
    with open_rows() as rows:
        serve(rows, iter(sys.stdin), answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
