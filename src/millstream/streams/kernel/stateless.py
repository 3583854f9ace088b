"""Operators without state. User functions are called by `map`, the tightest loop there is, or once with columns."""

from __future__ import annotations

from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.columns.column import has_nulls, values_of
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.user_functions import (
    check_no_lookalike,
    mapped,
    no_pair,
    not_several,
    of_rows,
)
from millstream.streams.topology import operators as ops


class PassThroughOperator(Operator):
    """Passes rows on: merge, named branch."""

    def process(self, batch: Batch) -> Batch:
        return batch


class TableToStreamOperator(Operator):
    """KTable.toStream: new values, old ones are left behind."""

    def process(self, batch: Batch) -> Batch:
        is_plain = batch.old_values is None and batch.newest is None
        return batch if is_plain else batch.with_values(batch.value_column)


class FilterOperator(Operator):
    """KStream.filter and filterNot."""

    def __init__(self, context: NodeContext, spec: ops.Filter) -> None:
        super().__init__(context)
        self._predicate = spec.predicate
        self._negate = spec.negate

    def process(self, batch: Batch) -> Batch:
        mask = values_of(mapped(self._predicate, batch.key_column, batch.value_column))
        if self._negate:
            return batch.where([not each for each in mask])
        return batch if all(mask) else batch.where(mask)


class NullKeyFilterOperator(Operator):
    """In front of a repartition topic."""

    def __init__(self, context: NodeContext, spec: ops.NullKeyFilter) -> None:
        super().__init__(context)
        self._keep_null = spec.keep_null

    def process(self, batch: Batch) -> Batch:
        if self._keep_null or not has_nulls(batch.key_column):
            return batch
        return batch.where([key is not None for key in batch.keys])


class MapOperator(Operator):
    """KStream.map."""

    def __init__(self, context: NodeContext, spec: ops.Map) -> None:
        super().__init__(context)
        self._mapper = spec.mapper

    def process(self, batch: Batch) -> Batch:
        pairs = of_rows(self._mapper, batch.keys, batch.values)
        if pairs:
            check_no_lookalike(pairs[0])
        try:
            keys, values = [key for key, _ in pairs], [value for _, value in pairs]
        except (TypeError, ValueError) as error:
            raise no_pair(pairs, error) from None
        return Batch(keys, values, batch.timestamps, batch.headers, batch.ordinals)


class SelectKeyOperator(Operator):
    """KStream.selectKey."""

    def __init__(self, context: NodeContext, spec: ops.SelectKey) -> None:
        super().__init__(context)
        self._mapper = spec.mapper

    def process(self, batch: Batch) -> Batch:
        return batch.with_keys(mapped(self._mapper, batch.key_column, batch.value_column))


class MapValuesOperator(Operator):
    """KStream.mapValues: keys, timestamps and headers pass through."""

    def __init__(self, context: NodeContext, spec: ops.MapValues) -> None:
        super().__init__(context)
        self._mapper = spec.mapper
        self._with_key = spec.with_key

    def process(self, batch: Batch) -> Batch:
        if self._with_key:
            values = mapped(self._mapper, batch.key_column, batch.value_column)
        else:
            values = mapped(self._mapper, batch.value_column)
        return batch.with_values(values)


class FlatMapOperator(Operator):
    """KStream.flatMap."""

    def __init__(self, context: NodeContext, spec: ops.FlatMap) -> None:
        super().__init__(context)
        self._mapper = spec.mapper

    def process(self, batch: Batch) -> Batch:
        rows: list[int] = []
        keys: list[object] = []
        values: list[object] = []
        for row, pairs in enumerate(of_rows(self._mapper, batch.keys, batch.values)):
            try:
                for pair in pairs:
                    check_no_lookalike(pair)
                    key, value = pair
                    rows.append(row)
                    keys.append(key)
                    values.append(value)
            except (TypeError, ValueError) as error:
                raise not_several(pairs, error, pairs=True) from None
        return _spread(batch, rows, keys, values)


class FlatMapValuesOperator(Operator):
    """KStream.flatMapValues."""

    def __init__(self, context: NodeContext, spec: ops.FlatMapValues) -> None:
        super().__init__(context)
        self._mapper = spec.mapper
        self._with_key = spec.with_key

    def process(self, batch: Batch) -> Batch:
        given = (batch.keys, batch.values) if self._with_key else (batch.values,)
        rows: list[int] = []
        values: list[object] = []
        for row, several in enumerate(of_rows(self._mapper, *given)):
            try:
                for value in several:
                    rows.append(row)
                    values.append(value)
            except TypeError as error:
                raise not_several(several, error, pairs=False) from None
        return _spread(batch, rows, [batch.keys[row] for row in rows], values)


def _spread(batch: Batch, rows: list[int], keys: list[object], values: list[object]) -> Batch:
    timestamps, headers, ordinals = batch.timestamps, batch.headers, batch.ordinals
    return Batch(
        keys,
        values,
        [timestamps[row] for row in rows],
        [headers[row] for row in rows],
        [ordinals[row] for row in rows],
    )


class PeekOperator(Operator):
    """KStream.peek, foreach and print."""

    def __init__(self, context: NodeContext, spec: ops.Peek) -> None:
        super().__init__(context)
        self._action = spec.action
        self._forward = spec.forward

    def process(self, batch: Batch) -> Batch:
        action = self._action
        for key, value in zip(batch.keys, batch.values, strict=True):
            action(key, value)
        return batch if self._forward else batch.take(())


class BranchOperator(Operator):
    """KStream.split: the first predicate that holds decides; None always holds."""

    def __init__(self, context: NodeContext, spec: ops.Branch) -> None:
        super().__init__(context)
        self._predicates = [predicate for predicate, _ in spec.branches]

    def process(self, _batch: Batch) -> Batch:
        raise AssertionError("a branch routes its rows")

    def route(self, batch: Batch, /) -> list[Batch]:
        rest = batch
        routed = []
        for predicate in self._predicates:
            if predicate is None:
                routed.append(rest)
                rest = rest.part(0, 0)
                continue
            mask = [bool(each) for each in of_rows(predicate, rest.keys, rest.values)]
            routed.append(rest.where(mask))
            rest = rest.where([not each for each in mask])
        return routed
