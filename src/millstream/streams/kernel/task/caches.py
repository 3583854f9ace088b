"""The record caches of a task: which tables hold their changes back, and how these go on in the end.

A flush goes through the stores in their order. What one of them gives out may be written to the next, which then gives
it out in the same flush, and to one that was flushed already: the flush goes on until nothing is left. A cache that
makes room in the middle of a record flushes its own store alone, and what that gives out goes through everything
below before the record goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import groupby

from millstream.streams.errors import ProcessingError, ProcessorStateError, SerializationError
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.task.traversal import Traversal
from millstream.streams.state.store import FlushedChange, StateStore, TableBelow
from millstream.streams.topology.execution_plan import ExecutionPlan, table_operator, table_store
from millstream.streams.topology.nodes import ProcessorNode


class TaskCaches:
    def __init__(
        self,
        plan: ExecutionPlan,
        stores: Mapping[str, StateStore],
        context: TaskContext,
        begin_at: Callable[[str], Traversal],
        end_run: Callable[[], None],
    ) -> None:
        """`begin_at` gives the way of rows from a table on; `end_run` is called after each batch of a flush, whose rows are
        numbered from 0 on.
        """
        self._context = context
        self._end_run = end_run
        self._stores = [store for store in stores.values() if store.cache is not None]
        for name in plan.tables:
            node = plan.nodes[name].node
            assert isinstance(node, ProcessorNode), "tables are those of operators"
            operator, store = table_operator(node.operator), table_store(node.operator)
            assert store is not None, "a table that is cached has a store"
            wants_old = bool(getattr(operator, "send_old_values", False))
            forward = partial(self._forward, begin_at(name), wants_old)
            stores[store].below = TableBelow(forward, wants_old)

    def flush(self) -> None:
        """Let everything go on. Raises ProcessorStateError, as Kafka Streams, where something below a table fails."""
        while any(store.cache is not None and store.cache.is_dirty for store in self._stores):
            for store in self._stores:
                try:
                    store.flush_cache()
                except (ProcessingError, SerializationError) as error:
                    failed = ProcessorStateError(
                        f"what the cache of store {store.name} held back could not go on: {error}"
                    )
                    failed.is_final = error.is_final
                    raise failed from error.__cause__

    def _forward(
        self, way: Traversal, wants_old: bool, changes: list[FlushedChange], at_once: bool
    ) -> None:
        """Send changes through what is below their table; `at_once`: in the middle of a record that goes on then."""
        context = self._context
        if not at_once:
            for topic, run in groupby(changes, key=lambda change: change.origin.topic):
                rows = list(run)
                origins = [change.origin for change in rows]
                context.begin(
                    topic,
                    [origin.offset for origin in origins],
                    [origin.raw_key for origin in origins],
                    [origin.raw_value for origin in origins],
                )
                way.run(_batch(rows, range(len(rows)), wants_old=wants_old))
                self._end_run()
            return
        with context.elsewhere():
            for change in changes:
                origin = change.origin
                context.begin_record(origin.topic, origin.offset, origin.raw_key, origin.raw_value)
                way.run(_batch([change], [context.ordinal], wants_old=wants_old))


def _batch(changes: list[FlushedChange], ordinals: Iterable[int], *, wants_old: bool) -> Batch:
    return Batch(
        [change.key for change in changes],
        [change.new for change in changes],
        [change.timestamp for change in changes],
        [change.origin.headers for change in changes],
        list(ordinals),
        [change.old for change in changes] if wants_old else None,
    )
