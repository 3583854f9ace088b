"""KTable.transformValues: a transformer of the user, in the node itself and in every reader of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from millstream.streams.errors import StreamsError
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.processors.processor import ProcessorContextImpl
from millstream.streams.kernel.schedule import Punctuation
from millstream.streams.kernel.tables.operators import RowStore, stored
from millstream.streams.processor import PunctuationType
from millstream.streams.topology import operators as ops

Transform = Callable[[object, object], object]


class TransformerContext(ProcessorContextImpl):
    """The context of a transformer, which can neither forward nor schedule."""

    def schedule(
        self,
        _interval: timedelta,
        _kind: PunctuationType,
        _callback: Callable[[int], object],
        *,
        start_ms: int | None = None,  # noqa: ARG002 - the signature is the processor's
    ) -> Punctuation:
        raise StreamsError("a transformer of a table cannot schedule: use a processor instead")


def open_transformer(
    context: NodeContext, supplier: ops.UserFunction, stores: Mapping[str, object]
) -> tuple[Transform, TransformerContext]:
    """Returns a new transformer, ready to be called; it is closed with the task."""
    transformer = supplier()
    own = TransformerContext(context, stores, fixed_key=True)
    init = getattr(transformer, "init", None)
    if init is not None:
        init(own)
    close = getattr(transformer, "close", None)
    if close is not None:
        context.call_at_end(close)
    return transformer.transform, own


class TableTransformValuesOperator(Operator):
    """Old values are transformed again where the result has no store that knows them."""

    def __init__(
        self,
        context: NodeContext,
        spec: ops.TableTransformValues,
        store: RowStore | None,
        stores: Mapping[str, object],
    ) -> None:
        super().__init__(context)
        self._transform, self._own = open_transformer(context, spec.supplier, stores)
        self._store = store
        self._send_old = spec.send_old_values
        self._forgets_versions = spec.forgets_versions

    def process(self, batch: Batch) -> Batch:
        if self._forgets_versions:
            batch = batch.without_versions()
        new: list[object] = []
        old: list[object] = []
        old_values = batch.old_values or [None] * len(batch)
        for row, (key, value, at) in enumerate(
            zip(batch.keys, batch.values, batch.timestamps, strict=True)
        ):
            self._own.begin(batch.take((row,)), at)
            changed = self._transform(key, value)
            new.append(changed)
            if self._send_old:
                old.append(self._before(key, old_values[row]))
        result = batch.with_changes(new, old if self._send_old else None)
        return stored(self._store, result)

    def _before(self, key: object, old_value: object) -> object:
        if self._store is None:
            return self._transform(key, old_value)
        known = self._store.get(key)
        return None if known is None else known[0]
