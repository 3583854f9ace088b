"""The contract of a running operator: a batch in, a batch out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from operator import length_hint
from typing import TypeVar, TypeVarTuple, Unpack

from millstream.streams.kernel.columns.batch import NO_HEADERS, Batch, merge_by_ordinal
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.turns import RowsInTurn

C = TypeVar("C")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Operator(ABC):
    """A running node. What running it does besides is known beforehand, as data: topology/effects.py."""

    def __init__(self, context: NodeContext) -> None:
        self.context = context
        self.current = context.current
        self.node = context.node
        """The name of its node."""

    @abstractmethod
    def process(self, batch: Batch, /) -> Batch | RowsInTurn:
        """Processes rows; returns those that go to every child."""

    def route(self, _batch: Batch, /) -> list[Batch] | None:
        """Returns, for branches, one batch per child in their order. None: every child gets `process(batch)`."""
        return None

    def note_failure(self, ordinal: int) -> None:
        """Notes the row of a batch that failed: none is run again to find it."""
        self.current.failed_ordinal = ordinal


class RowByRow(Operator):
    """An operator that goes through the rows of a batch one after the other: where it fails, the row is known."""

    def loop(
        self,
        ordinals: Sequence[int],
        column: list[C],
        loop: Callable[[Iterator[C], Unpack[Ts]], T],
        /,
        *args: *Ts,
    ) -> T:
        """Call `loop` with a column, from which it takes an item for each row that it comes to;
        `ordinals` are the rows'.

        Where it raises, the row is noted that it had come to. That costs a row nothing: the column itself knows how far
        it was read.
        """
        rows = iter(column)
        try:
            return loop(rows, *args)
        except Exception:
            come_to = len(column) - length_hint(rows)
            if come_to:
                self.note_failure(ordinals[come_to - 1])
            raise


class KeepsRecordHeaders(Operator):
    """The operator inside, with the headers of the record being processed as they are for each row.

    For stores that keep headers: a deleted row is logged with the headers of the record that deleted it (KIP-1271).
    Nothing else that the DSL writes to a store has headers (KIP-1285), so this is all an operator would have to know
    of them. Where records have headers, this one hands them out one by one.
    """

    def __init__(self, inside: Operator) -> None:
        super().__init__(inside.context)
        self._inside = inside

    def process(self, batch: Batch) -> Batch | RowsInTurn:
        current, record = self.current, self.current.record
        if not any(batch.headers):
            record.headers = NO_HEADERS
            return self._inside.process(batch)
        given = []
        for one in batch.each():
            record.headers = one.headers[0]
            record.origin = current.origin_of(one)  # a cache keeps it until the row is logged
            made = self._inside.process(one)
            if isinstance(made, RowsInTurn):
                assert len(batch) == 1, "rows go on in turn only where records come one by one"
                return made
            given.append(made)
        return merge_by_ordinal(given)
