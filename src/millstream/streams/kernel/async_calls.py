"""Operators that await an async function of the user for each row, many at a time.

All calls for a batch are answered before the operator returns: what follows, order, state and commit are those of a
function that is not async. Calls for rows of one key follow each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from millstream.streams.errors import AsyncCallTimedOut
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.processors.processor import check_record
from millstream.streams.kernel.user_functions import check_no_lookalike, no_pair
from millstream.streams.processor import Record
from millstream.streams.topology import operators as ops


class _AsyncOperator(Operator):
    def __init__(self, context: NodeContext, calls: ops.AsyncCalls) -> None:
        super().__init__(context)
        self._calls = calls
        self._caller = context.open_caller(calls)

    def answers(
        self, batch: Batch, call: ops.AsyncCall
    ) -> list[Any]:  # Any: what functions of the user give
        """Returns what `call(row)` gives for each row.

        Raises what the first row raised that failed, and notes that row.
        """
        chains = chains_of(batch.keys)
        outcomes = self._caller.run(chains, call, self._calls)
        failed = [row for row, (_, error) in outcomes.items() if error is not None]
        if failed:
            row = min(failed)
            error = outcomes[row][1]
            assert error is not None, "as was asked for"
            self.note_failure(batch.ordinals[row])
            if isinstance(error, AsyncCallTimedOut):
                place = self.current.place_of(batch.take((row,)))
                raise AsyncCallTimedOut(
                    f"node {self.node}: the call for {place} was not answered in {self._calls.timeout_ms} ms; "
                    "set a longer timeout_ms, or find out what it waits for"
                )
            raise error
        return [outcomes[row][0] for row in range(len(batch))]


class MapAsyncOperator(_AsyncOperator):
    """KStream.map_async."""

    def __init__(self, context: NodeContext, spec: ops.MapAsync) -> None:
        super().__init__(context, spec.calls)
        self._mapper = spec.mapper

    def process(self, batch: Batch) -> Batch:
        mapper, keys, values = self._mapper, batch.keys, batch.values
        pairs = self.answers(batch, lambda row: mapper(keys[row], values[row]))
        new_keys, new_values = [], []
        for ordinal, pair in zip(batch.ordinals, pairs, strict=True):
            try:
                check_no_lookalike(pair)
                key, value = pair
            except (TypeError, ValueError) as error:
                self.note_failure(ordinal)
                raise no_pair([pair], error) from None
            new_keys.append(key)
            new_values.append(value)
        return Batch(new_keys, new_values, batch.timestamps, batch.headers, batch.ordinals)


class MapValuesAsyncOperator(_AsyncOperator):
    """KStream.map_values_async."""

    def __init__(self, context: NodeContext, spec: ops.MapValuesAsync) -> None:
        super().__init__(context, spec.calls)
        self._mapper = spec.mapper
        self._with_key = spec.with_key

    def process(self, batch: Batch) -> Batch:
        mapper, keys, values = self._mapper, batch.keys, batch.values
        if self._with_key:
            given = self.answers(batch, lambda row: mapper(keys[row], values[row]))
        else:
            given = self.answers(batch, lambda row: mapper(values[row]))
        return batch.with_values(given)


class ProcessAsyncOperator(_AsyncOperator):
    """KStream.process_async."""

    def __init__(self, context: NodeContext, spec: ops.ProcessAsync) -> None:
        super().__init__(context, spec.calls)
        self._function = spec.function

    def process(self, batch: Batch) -> Batch:
        records = [
            Record(*row)
            for row in zip(batch.keys, batch.values, batch.timestamps, batch.headers, strict=True)
        ]
        given = self.answers(batch, lambda row: self._function(records[row]))
        made: list[tuple[Record[Any, Any], int]] = []  # Any: user types
        for record, ordinal, several in zip(records, batch.ordinals, given, strict=True):
            try:
                for each in self._checked(several):
                    check_record(self.node, each, record.headers)
                    made.append((each, ordinal))
            except (TypeError, ValueError):
                self.note_failure(ordinal)
                raise
        return Batch(
            [each.key for each, _ in made],
            [each.value for each, _ in made],
            [each.timestamp for each, _ in made],
            [each.headers for each, _ in made],
            [ordinal for _, ordinal in made],
        )

    def _checked(self, several: object) -> Iterable[Record[Any, Any]]:  # Any: user types
        if several is None:
            return ()
        if isinstance(several, Record):
            return (several,)
        if not isinstance(several, Iterable):
            raise TypeError(
                f"the function of {self.node} must give a Record, several, or None, not {several!r}"
            )
        return several


def chains_of(keys: list[object]) -> list[list[int]]:
    """Returns the rows of equal keys, in their order; rows without a key have nothing to wait for."""
    chains: dict[Hashable, list[int]] = {}
    alone: list[list[int]] = []
    for row, key in enumerate(keys):
        if key is None:
            alone.append([row])
        else:
            chains.setdefault(_hashable(key), []).append(row)
    return sorted([*chains.values(), *alone])


def _hashable(key: object) -> Hashable:
    """What equal keys have in common, if perhaps with others, which then wait for each other, too."""
    try:
        hash(key)
    except TypeError:
        pass
    else:
        return key
    if isinstance(key, list | tuple):
        return tuple(_hashable(each) for each in key)
    if isinstance(key, dict):
        return frozenset((name, _hashable(each)) for name, each in key.items())
    return type(key).__qualname__
