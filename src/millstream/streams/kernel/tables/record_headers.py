"""Operators whose store keeps headers: a deleted row is logged with the headers of the
record that deleted it (KIP-1271).

Nothing else that the DSL writes to a store has headers (KIP-1285), so this is all an operator would have to know of
them. Operators do not; where records have headers, this one hands them out one by one, and says whose turn it is.
"""

from __future__ import annotations

from millstream.streams.kernel.columns.batch import NO_HEADERS, Batch, merge_by_ordinal
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.turns import RowsInTurn


class KeepsRecordHeaders(Operator):
    """The operator inside, with the headers of the record being processed as they are for each row."""

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
