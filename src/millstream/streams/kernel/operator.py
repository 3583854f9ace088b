"""The contract of a running operator: a batch in, a batch out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from operator import length_hint
from typing import Concatenate, ParamSpec, TypeVar

from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.turns import RowsInTurn

P = ParamSpec("P")
C = TypeVar("C")
T = TypeVar("T")


class Operator(ABC):
    """A running node. What running it does besides is known beforehand, as data: topology/effects.py."""

    def __init__(self, context: TaskContext) -> None:
        self.context = context

    @abstractmethod
    def process(self, batch: Batch, /) -> Batch | RowsInTurn:
        """What goes on to every child."""

    def route(self, _batch: Batch, /) -> list[Batch] | None:
        """For branches: one batch per child in their order. None: every child gets `process(batch)`."""
        return None


class RowByRow(Operator):
    """An operator that goes through the rows of a batch one after the other: where it fails, the row is known."""

    def loop(
        self,
        batch: Batch,
        column: list[C],
        loop: Callable[Concatenate[Iterator[C], P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call `loop` with a column of the batch, from which it takes an item for each row that it comes to.

        Where it raises, the row is noted that it had come to. That costs a row nothing: the column itself knows how far
        it was read.
        """
        rows = iter(column)
        try:
            return loop(rows, *args, **kwargs)
        except Exception:
            come_to = len(batch) - length_hint(rows)
            if come_to:
                self.context.failed_ordinal = batch.ordinals[come_to - 1]
            raise
