"""Operators whose store keeps headers: a deleted row is logged with the headers of the record that deleted it (KIP-1271).

Nothing else that the DSL writes to a store has headers (KIP-1285), so this is all an operator would have to know of them.
Operators do not; where records have headers, this one hands them out one by one, and says whose turn it is.
"""

from __future__ import annotations

from millstream.streams.kernel.columns.batch import NO_HEADERS, Batch, merge_by_ordinal
from millstream.streams.kernel.operator import Operator


class KeepsRecordHeaders(Operator):
    """The operator inside, with the task's `record_headers` as they are for each row."""

    def __init__(self, inside: Operator) -> None:
        super().__init__(inside.context)
        self._inside = inside
        self.multiplies = inside.multiplies
        self.has_side_effects = inside.has_side_effects
        self.needs_records = inside.needs_records
        self.runs_again = inside.runs_again

    def shares_store(self) -> None:
        self._inside.shares_store()
        self.forwards_then_forgets = self._inside.forwards_then_forgets

    def forwarding(self, row: int) -> None:
        self._inside.forwarding(row)

    def forwarded(self) -> None:
        self._inside.forwarded()

    def process(self, batch: Batch) -> Batch:
        context = self.context
        if not any(batch.headers):
            context.record_headers = NO_HEADERS
            return self._inside.process(batch)
        given = []
        for one in batch.each():
            context.record_headers = one.headers[0]
            context.origin = context.origin_of(one)  # a cache keeps it until the row is logged
            given.append(self._inside.process(one))
        return merge_by_ordinal(given)
