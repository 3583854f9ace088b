"""The contract of a running operator: a batch in, a batch out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.turns import RowsInTurn


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
