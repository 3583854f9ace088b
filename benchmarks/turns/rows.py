"""The rows that are compared: their names, what a unit of each is, and how many slices of each side a round takes.

A group is what one process measures, so that a broker or a session of Spark is started once a round. Which work a row is stands
in the module of its group; this one imports nothing of the product, which the process that compares never loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Row:
    group: str
    name: str
    unit: str
    slices: int = 8
    """Of one side in a round; most take a twentieth of a second of processor time."""

    @property
    def title(self) -> str:
        return f"{self.group}: {self.name}"


MODULES: Final = {
    "broker": "benchmarks.turns.broker_rows",
    "clients": "benchmarks.turns.client_rows",
    "kernel": "benchmarks.turns.kernel_rows",
    "pipeline": "benchmarks.turns.pipeline_rows",
}

PINNED: Final = {"broker", "clients", "kernel"}
"""Groups that run on one processor; Spark takes two."""

ROWS: Final = (
    Row("broker", "produce 1 x 100 B, one in flight", "request"),
    Row("broker", "produce 1 x 100 B, five in flight", "request"),
    Row("broker", "produce 1 x 100 B, ten connections", "request"),
    Row("broker", "produce 1 x 100 B, flushed", "request"),
    Row("broker", "produce 11 KB", "request"),
    Row("broker", "produce 1 MB", "request"),
    Row("broker", "produce one, fetch it", "pair"),
    Row("broker", "fetch 1 MB", "request"),
    Row("broker", "start", "start"),
    Row("clients", "produce by record", "record"),
    Row("clients", "produce, blocking", "record"),
    Row("clients", "produce, Arrow", "record"),
    Row("clients", "produce, acknowledged one by one", "record"),
    Row("clients", "consume by record", "record"),
    Row("clients", "consume, blocking", "record"),
    Row("clients", "consume, Arrow", "record"),
    Row("kernel", "pass-through", "record"),
    Row("kernel", "map_values", "record"),
    Row("kernel", "stream-table join", "record"),
    Row("kernel", "count", "record"),
    Row("kernel", "count, cache", "record"),
    Row("kernel", "count, from Arrow", "record"),
    Row("kernel", "10 s tumbling count", "record"),
    Row("kernel", "session count", "record"),
    Row("kernel", "count, RocksDB", "record"),
    Row("pipeline", "copied", "record", slices=4),
    Row("pipeline", "counted", "record", slices=4),
    Row("pipeline", "counted by window", "record", slices=4),
    Row("pipeline", "DataFrame copied", "record", slices=4),
)


def selected(only: str) -> tuple[Row, ...]:
    """Rows with one of the words, separated by commas, in their title; all without any. Raises LookupError for a word in no title."""
    words = [word.strip() for word in only.split(",") if word.strip()]
    for word in words:
        if not any(word in row.title for row in ROWS):
            titles = "\n  ".join(row.title for row in ROWS)
            raise LookupError(f"no row has {word!r} in its title; there are\n  {titles}")
    return tuple(row for row in ROWS if not words or any(word in row.title for word in words))
