"""The record caches of a task: which tables hold their changes back, and how these go on in the end (S38, S39).

A flush goes through the stores in their order. What one of them gives out may be written to the next, which then gives
it out in the same flush; a store that was flushed already keeps it until the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from millstream.streams.kernel.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.plan import Plan, PlanNode
from millstream.streams.kernel.stateless import PassThrough
from millstream.streams.kernel.wrapped_operators import WrappedOperator
from millstream.streams.state.cache import RecordCache
from millstream.streams.state.store import Change, StateStore
from millstream.streams.topology.nodes import ProcessorNode
from millstream.streams.topology.operators import OperatorSpec, Process, Wrapped


class TaskCaches:
    def __init__(
        self,
        stores: Mapping[str, StateStore],
        nodes: Mapping[str, PlanNode],
        context: TaskContext,
        make_plan: Callable[[PlanNode], Plan],
    ) -> None:
        """Marks the nodes whose tables are cached; call it before other plans are made."""
        self._context = context
        self._stores = [store for store in stores.values() if store.cache is not None]
        self._below: dict[str, tuple[Plan, bool]] = {}
        owners: list[tuple[PlanNode, StateStore, OperatorSpec]] = []
        for each in nodes.values():
            operator = _table_operator(each)
            store = stores.get(getattr(operator, "store", None) or "")
            if operator is not None and store is not None and store.cache is not None:
                each.cache = store.cache
                owners.append((each, store, operator))
                if isinstance(each.operator, WrappedOperator):
                    each.operator.hold_back(store.cache)
        # A plan reads the marks of the nodes below it, so all are marked before the first is made.
        for each, store, operator in owners:
            start = PlanNode(each.name, each.node, PassThrough(context), each.children)
            wants_old = bool(getattr(operator, "send_old_values", False))
            self._below[store.name] = (make_plan(start), wants_old)

    @property
    def is_full(self) -> bool:
        """Kafka Streams counts the bytes of a thread's tasks together; here each task has its own bound."""
        held = sum(cache.size_bytes for cache in self._caches())
        return held > self._context.config.cache_max_bytes

    def flush(self) -> None:
        for store in self._stores:
            changes = store.flush_cache(as_changes=store.name in self._below)
            if not changes:
                continue
            plan, wants_old = self._below[store.name]
            for topic, run in groupby(changes, key=lambda change: change.origin.topic):
                self._forward(topic, list(run), plan, wants_old=wants_old)

    def _forward(
        self, topic: str | None, changes: list[Change], plan: Plan, *, wants_old: bool
    ) -> None:
        origins = [change.origin for change in changes]
        self._context.begin(
            topic,
            [origin.offset for origin in origins],
            [origin.raw_key for origin in origins],
            [origin.raw_value for origin in origins],
        )
        plan.run(
            Batch(
                [change.key for change in changes],
                [change.new for change in changes],
                [change.timestamp for change in changes],
                [origin.headers for origin in origins],
                list(range(len(changes))),
                [change.old for change in changes] if wants_old else None,
            )
        )

    def _caches(self) -> Iterator[RecordCache]:
        return (store.cache for store in self._stores if store.cache is not None)


def _table_operator(each: PlanNode) -> OperatorSpec | None:
    """The operator, if it writes a table of its own; stores that users write forward nothing."""
    if not isinstance(each.node, ProcessorNode) or isinstance(each.node.operator, Process):
        return None
    operator = each.node.operator
    return operator.inner if isinstance(operator, Wrapped) else operator
