"""Rows that go on one by one, each in its turn: held back by an operator, or written only when they go on.

Operators give them as data; the traversal of the task goes through the turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.current_run import CurrentRun
from millstream.streams.options import RecordContext


@dataclass(frozen=True, slots=True)
class Turn:
    """The calls that are made around one row."""

    origin: RecordContext | None = None
    """The record that the row came with, where that is another than the one being processed."""
    before: Callable[[], object] | None = None
    """Called when the row's turn has come: the nodes below see what this writes."""
    after: Callable[[], object] | None = None
    """Called when the row has gone through everything below."""


@dataclass(frozen=True, slots=True)
class RowsInTurn:
    """Rows, and the turn of each."""

    rows: Batch
    turns: list[Turn]

    def at_once(self) -> Batch:
        """Returns the rows, after the calls of all turns: where they go on as a batch, for nothing below can tell."""
        for turn in self.turns:
            _call(turn.before)
            _call(turn.after)
        return self.rows


def deliver_in_turn(
    current: CurrentRun, given: RowsInTurn, deliver: Callable[[Batch], object]
) -> None:
    """Deliver the rows one by one. Where one fails, the calls of the turns that are left are made all the same.

    While a row that came with another record goes on, its own record is the one being processed, as in Kafka Streams.
    """
    run = current.run
    calls = iter([call for turn in given.turns for call in (turn.before, turn.after)])
    try:
        for one, turn in zip(given.rows.each(), given.turns, strict=True):
            origin = turn.origin
            if origin is not None:
                current.begin_record(
                    origin.topic, origin.offset, origin.source_raw_key, origin.source_raw_value
                )
            _call(next(calls))
            deliver(one)
            _call(next(calls))
    finally:
        for call in calls:
            _call(call)
        if any(turn.origin is not None for turn in given.turns):
            current.begin(run)


def _call(call: Callable[[], object] | None) -> None:
    if call is not None:
        call()
