"""Operators that hold rows back: what they give out later came with other records than those being processed.

While such a row goes through what is below, the task's context is that of its own record, as in Kafka Streams. Owns whose
turn it is; what is held back, and for how long, is the operator's affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar, overload

from millstream.streams.kernel.context import Run, TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.options import RecordContext

T = TypeVar("T")


class Everywhere(Sequence[T], Generic[T]):
    """One item, whatever the ordinal."""

    __slots__ = ("_item",)

    def __init__(self, item: T) -> None:
        self._item = item

    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self if isinstance(at, slice) else self._item


class HoldsRows(Operator):
    """`origins`: where each row comes from that `process` has given last."""

    multiplies = True
    forwards_then_forgets = True
    asks_origin = True

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        self.origins: list[RecordContext] = []
        self._run: Run | None = None

    def forwarding(self, row: int) -> None:
        """What is below sees the record that was held back, not the one that let it out."""
        context, origin = self.context, self.origins[row]
        if self._run is None:
            self._run = context.run
        context.begin(
            origin.topic,
            Everywhere(origin.offset),
            Everywhere(origin.source_raw_key),
            Everywhere(origin.source_raw_value),
        )

    def forwarded(self) -> None:
        if self._run is not None:
            self.context.begin(*self._run)
            self._run = None
