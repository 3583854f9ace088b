"""Operators of the library that a processor wrapper stands around (KIP-1112): run like processors, record by record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.processors.processor import ProcessOperator, ProcessorContextImpl
from millstream.streams.kernel.turns import RowsInTurn, deliver_in_turn
from millstream.streams.processor import TableChange
from millstream.streams.topology import operators as ops
from millstream.streams.topology.wrapping import AnyRecord, Forward


class _OperatorContext(ProcessorContextImpl):
    """Also runs the operator, and turns changes of tables into values of records and back."""

    inner: Operator
    children: tuple[str, ...] = ()
    """Where the operator's routes go; empty where all children get the same."""
    is_cached = False
    """What the operator makes goes on when the cache of its table is flushed, past the wrapper."""

    def run_operator(self, record: AnyRecord, forward: Forward) -> None:
        """Give what the operator makes of a record to `forward`."""
        rows, inner = self.rows_of(record, self.ordinal), self.inner
        if self.is_cached:
            self._record.origin = self._context.current.origin_of(rows)
            inner.process(rows)
            return
        routed = inner.route(rows)
        if routed is not None:
            for child, each in zip(self.children, routed, strict=True):
                if len(each):
                    forward(self.record_of(each), child)
            return
        made = inner.process(rows)
        if isinstance(made, RowsInTurn):
            deliver_in_turn(
                self._context.current, made, lambda one: forward(self.record_of(one), None)
            )
            return
        for one in made.each():
            forward(self.record_of(one), None)

    def rows_of(self, record: AnyRecord, ordinal: int) -> Batch:
        change = record.value
        if not isinstance(change, TableChange):
            return super().rows_of(record, ordinal)
        rows = super().rows_of(record.with_value(change.new), ordinal)
        rows.old_values = [change.old]
        rows.newest = None if change.is_latest else [False]
        return rows

    def record_of(self, rows: Batch) -> AnyRecord:
        record = super().record_of(rows)
        if rows.old_values is None and rows.newest is None:
            return record
        old = None if rows.old_values is None else rows.old_values[0]
        is_latest = rows.newest is None or rows.newest[0]
        return record.with_value(TableChange(record.value, old, is_latest))


class WrappedOperator(ProcessOperator):
    """The wrapper's processor, and the operator that the processor inside it stands for."""

    def __init__(
        self,
        context: NodeContext,
        spec: ops.Wrapped,
        stores: Mapping[str, Any],  # Any: stores of every kind
        inner: Operator,
        *,
        is_cached: bool,
    ) -> None:
        own = _OperatorContext(context, stores, fixed_key=False)
        own.inner = inner
        own.children = tuple(name for _, name in spec.branches or ())
        own.is_cached = is_cached
        super().__init__(context, spec.supplier, own)
