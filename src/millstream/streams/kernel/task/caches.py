"""The record caches of a task: which tables hold their changes back, and how these go on in the end (S38, S39).

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
from millstream.streams.kernel.held_rows import Everywhere
from millstream.streams.kernel.processors.wrapped import WrappedOperator
from millstream.streams.kernel.stateless import PassThrough
from millstream.streams.kernel.task.traversal import Plan, PlanNode
from millstream.streams.state.store import Change, StateStore, TableBelow
from millstream.streams.topology.nodes import ProcessorNode
from millstream.streams.topology.operators import OperatorSpec, Process, Wrapped


class TaskCaches:
    def __init__(
        self,
        stores: Mapping[str, StateStore],
        nodes: Mapping[str, PlanNode],
        context: TaskContext,
        make_plan: Callable[[PlanNode], Plan],
        end_run: Callable[[], None],
    ) -> None:
        """Marks the nodes whose tables are cached; call it before other plans are made.

        `end_run` is called after each batch of a flush, whose rows are numbered from 0 on.
        """
        self._context = context
        self._end_run = end_run
        self._stores = [store for store in stores.values() if store.cache is not None]
        owners: list[tuple[PlanNode, StateStore, OperatorSpec]] = []
        cached = {store.name for store in self._stores}
        for each in nodes.values():
            used = each.node.stores if isinstance(each.node, ProcessorNode) else ()
            each.has_cache = not cached.isdisjoint(used)
            operator = _table_operator(each)
            store = stores.get(getattr(operator, "store", None) or "")
            if operator is not None and store is not None and store.cache is not None:
                each.is_cached = True
                owners.append((each, store, operator))
                if isinstance(each.operator, WrappedOperator):
                    each.operator.hold_back()
        # A plan reads the marks of the nodes below it, so all are marked before the first is made.
        for each, store, operator in owners:
            plan = make_plan(PlanNode(each.name, each.node, PassThrough(context), each.children))
            wants_old = bool(getattr(operator, "send_old_values", False))
            forward = partial(self._forward, plan, wants_old)
            store.below = TableBelow(forward, wants_old)

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

    def _forward(self, plan: Plan, wants_old: bool, changes: list[Change], at_once: bool) -> None:
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
                plan.run(_batch(rows, range(len(rows)), wants_old=wants_old))
                self._end_run()
            return
        with context.elsewhere():
            for change in changes:
                origin = change.origin
                context.begin(
                    origin.topic,
                    Everywhere(origin.offset),
                    Everywhere(origin.raw_key),
                    Everywhere(origin.raw_value),
                )
                plan.run(_batch([change], [context.ordinal], wants_old=wants_old))


def _batch(changes: list[Change], ordinals: Iterable[int], *, wants_old: bool) -> Batch:
    return Batch(
        [change.key for change in changes],
        [change.new for change in changes],
        [change.timestamp for change in changes],
        [change.origin.headers for change in changes],
        list(ordinals),
        [change.old for change in changes] if wants_old else None,
    )


def _table_operator(each: PlanNode) -> OperatorSpec | None:
    """The operator, if changes of its table go on from the cache.

    Those of a processor's store go nowhere; what is given out when windows close does not wait in a cache.
    """
    operator = each.node.operator if isinstance(each.node, ProcessorNode) else None
    if isinstance(operator, Wrapped):
        operator = operator.inner
    gives_final = bool(getattr(operator, "emit_final", False))
    return None if gives_final or isinstance(operator, Process) else operator
