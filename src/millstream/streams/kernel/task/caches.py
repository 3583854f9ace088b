"""The record caches of a task: which tables hold their changes back, and how these go on in the end.

A flush goes through the stores in their order. What one of them gives out may be written to the next, which then gives
it out in the same flush, and to one that was flushed already: the flush goes on until nothing is left. A cache that
makes room in the middle of a record flushes its own store alone, and what that gives out goes through everything
below before the record goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import groupby
from operator import attrgetter

from millstream.streams.errors import ProcessingError, ProcessorStateError, SerializationError
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.columns.column import written_column
from millstream.streams.kernel.current_run import CurrentRun, Run
from millstream.streams.kernel.task.traversal import Traversal
from millstream.streams.state.store import FlushedChanges, StateStore, TableBelow
from millstream.streams.topology.execution_plan import ExecutionPlan, table_operator, table_store
from millstream.streams.topology.nodes import ProcessorNode


class TaskCaches:
    def __init__(
        self,
        plan: ExecutionPlan,
        stores: Mapping[str, StateStore],
        current: CurrentRun,
        begin_at: Callable[[str], Traversal],
        end_run: Callable[[], None],
    ) -> None:
        """`begin_at` gives the way of rows from a table on; `end_run` is called after each batch of a flush,
        whose rows are numbered from 0 on.
        """
        self._current = current
        self._end_run = end_run
        self._stores = [store for store in stores.values() if store.cache is not None]
        for name in plan.tables:
            node = plan.nodes[name].node
            assert isinstance(node, ProcessorNode), "tables are those of operators"
            operator, store = table_operator(node.operator), table_store(node.operator)
            assert store is not None, "a table that is cached has a store"
            wants_old = bool(getattr(operator, "send_old_values", False))
            forward = partial(self._forward, begin_at(name), stores[store])
            stores[store].below = TableBelow(forward, wants_old)

    @property
    def hold_changes(self) -> bool:
        """Whether a change has not gone on yet."""
        return any(store.cache is not None and store.cache.is_dirty for store in self._stores)

    def flush(self) -> None:
        """Let everything go on. Raises ProcessorStateError, as Kafka Streams, where something below a table fails."""
        while self.hold_changes:
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
        self, way: Traversal, store: StateStore, changes: FlushedChanges, at_once: bool
    ) -> None:
        """Send changes through what is below their table; `at_once`: in the middle of a record that goes on then."""
        current, rows = self._current, _batch(store, changes)
        if not at_once:
            first = 0
            for topic, run in groupby(changes.origins, key=attrgetter("topic")):
                origins = list(run)
                end = first + len(origins)
                current.begin(
                    Run(
                        topic,
                        [origin.offset for origin in origins],
                        [origin.raw_key for origin in origins],
                        [origin.raw_value for origin in origins],
                    )
                )
                part = rows.part(first, end)
                part.ordinals = list(range(len(part)))
                way.run(part)
                self._end_run()
                first = end
            return
        with current.elsewhere():
            for row, origin in enumerate(changes.origins):
                current.begin_record(origin.topic, origin.offset, origin.raw_key, origin.raw_value)
                part = rows.part(row, row + 1)
                part.ordinals = [current.record.ordinal]
                way.run(part)


def _batch(store: StateStore, changes: FlushedChanges) -> Batch:
    """The changes as rows, whose ordinals are still to be given."""
    return Batch(
        written_column(store.table_key_serde, changes.keys),
        written_column(store.value_serde, changes.new),
        list(changes.timestamps),
        [origin.headers for origin in changes.origins],
        [],
        None if changes.old is None else list(store.value_serde.decode_all(changes.old)),
    )
