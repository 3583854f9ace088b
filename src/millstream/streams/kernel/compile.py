"""From nodes of a topology to running operators: one operator per node, with its stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from millstream.streams.kernel import async_calls, retries, stateless
from millstream.streams.kernel.aggregation import (
    session_windows,
    sliding_windows,
    stream,
    table,
    time_windows,
)
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.joins import (
    foreign_key,
    self_join,
    stream_stream,
    stream_table,
    table_reader,
    table_table,
)
from millstream.streams.kernel.operator import KeepsRecordHeaders, Operator
from millstream.streams.kernel.processors import processor, wrapped
from millstream.streams.kernel.resolved_serdes import resolve
from millstream.streams.kernel.tables import operators as tables
from millstream.streams.kernel.tables import suppress, transform_values
from millstream.streams.queries.views import read_only
from millstream.streams.state.buffers.join import JoinBuffer
from millstream.streams.state.buffers.unmatched import UnmatchedStore
from millstream.streams.state.key_value.store import TimestampedKeyValueStore
from millstream.streams.state.session.store import SessionStore
from millstream.streams.state.store import StateStore
from millstream.streams.state.window.plain import PlainWindowStore
from millstream.streams.topology import operators as ops
from millstream.streams.topology.execution_plan import NodePlan
from millstream.streams.topology.nodes import ProcessorNode

_ALONE: Mapping[type[ops.OperatorSpec], Callable[[NodeContext], Operator]] = {
    ops.PassThrough: stateless.PassThroughOperator,
    ops.TableToStream: stateless.TableToStreamOperator,
}
_STATELESS: Mapping[type[ops.OperatorSpec], Any] = {  # Any: each class takes its own specification
    ops.Filter: stateless.FilterOperator,
    ops.NullKeyFilter: stateless.NullKeyFilterOperator,
    ops.Map: stateless.MapOperator,
    ops.SelectKey: stateless.SelectKeyOperator,
    ops.MapValues: stateless.MapValuesOperator,
    ops.FlatMap: stateless.FlatMapOperator,
    ops.FlatMapValues: stateless.FlatMapValuesOperator,
    ops.MapAsync: async_calls.MapAsyncOperator,
    ops.MapValuesAsync: async_calls.MapValuesAsyncOperator,
    ops.ProcessAsync: async_calls.ProcessAsyncOperator,
    ops.Peek: stateless.PeekOperator,
    ops.Branch: stateless.BranchOperator,
    ops.TableRegroup: table.TableRegroupOperator,
}
_WITH_STORE: Mapping[type[ops.OperatorSpec], Any] = {  # Any: each class takes its own specification
    ops.MapValuesWithRetries: retries.MapValuesWithRetriesOperator,
    ops.StreamAggregate: stream.StreamAggregateOperator,
    ops.StreamCount: stream.StreamCountOperator,
    ops.StreamReduce: stream.StreamReduceOperator,
    ops.WindowAggregate: time_windows.WindowAggregateOperator,
    ops.SlidingAggregate: sliding_windows.SlidingAggregateOperator,
    ops.Suppress: suppress.SuppressOperator,
    ops.JoinWindow: stream_stream.JoinWindowOperator,
    ops.SelfJoin: self_join.SelfJoinOperator,
    ops.TableSource: tables.TableSourceOperator,
    ops.TableFilter: tables.TableFilterOperator,
    ops.TableMapValues: tables.TableMapValuesOperator,
    ops.TableAggregate: table.TableAggregateOperator,
    ops.TableReduce: table.TableReduceOperator,
    ops.TableJoinMerge: table_table.TableJoinMergeOperator,
}


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts with which operators of one node are made.

    `stores` are all there are, `allowed` what the node's own code may use.
    """

    context: NodeContext
    plan: NodePlan
    stores: Mapping[str, StateStore]
    allowed: Mapping[str, object]

    @property
    def reader(self) -> table_reader.TableReader:
        """Of tables, which may have to be transformed when they are read."""
        tables_only = {
            n: s for n, s in self.stores.items() if isinstance(s, table_reader.TABLE_STORES)
        }
        return table_reader.TableReader(tables_only, self._open_transformer)

    def _open_transformer(self, supplier: ops.UserFunction) -> transform_values.Transform:
        return transform_values.open_transformer(self.context, supplier, self.allowed)[0]


def make_operator(
    node: ProcessorNode,
    plan: NodePlan,
    context: NodeContext,
    stores: Mapping[str, StateStore],
    global_stores: Mapping[str, StateStore],
) -> Operator:
    """Returns the running operator of a node. `stores` are those of the task, `global_stores` all others."""
    allowed: dict[str, object] = {name: read_only(store) for name, store in global_stores.items()}
    allowed |= {name: stores[name].exposed for name in node.stores if name in stores}
    return _make(node, _Parts(context, plan, {**global_stores, **stores}, allowed))


def _make(node: ProcessorNode, parts: _Parts) -> Operator:
    spec, context = node.operator, parts.context
    kind = type(spec)
    if kind in _ALONE:
        return _ALONE[kind](context)
    if kind in _STATELESS:
        made: Operator = _STATELESS[kind](context, spec)
        return made
    if kind in _WITH_STORE:
        name: str | None = spec.store  # type: ignore[attr-defined]  # every specification of that table has one
        store = None if name is None else parts.stores[name]
        return _logging_headers(_WITH_STORE[kind](context, spec, store), store)
    found = (
        _sessions(spec, parts)
        or _with_code(node, parts)
        or _join(spec, parts)
        or _foreign_key_join(spec, parts)
    )
    assert found is not None, f"no operator for {spec}"
    return found


def _sessions(spec: ops.OperatorSpec, parts: _Parts) -> Operator | None:
    """An aggregation of sessions; None for any other specification."""
    if not isinstance(spec, ops.SessionAggregate):
        return None
    store = parts.stores[spec.store]
    assert isinstance(store, SessionStore), "as the DSL made it"
    in_turn = parts.plan.writes_in_turn
    operator = session_windows.SessionAggregateOperator(
        parts.context, spec, store, writes_in_turn=in_turn
    )
    return _logging_headers(operator, store)


def _with_code(node: ProcessorNode, parts: _Parts) -> Operator | None:
    """An operator around an object of the user's; None for any other specification."""
    context, allowed = parts.context, parts.allowed
    match node.operator:
        case ops.Process() as spec:
            opened = processor.ProcessorContextImpl(context, allowed, fixed_key=spec.fixed_key)
            return processor.ProcessOperator(context, spec.supplier, opened)
        case ops.Wrapped() as spec:
            inner = _make(replace(node, operator=spec.inner), parts)
            is_cached = parts.plan.is_cached
            return wrapped.WrappedOperator(context, spec, allowed, inner, is_cached=is_cached)
        case ops.TableTransformValues() as spec:
            store = None if spec.store is None else parts.stores[spec.store]
            assert store is None or isinstance(store, tables.ROW_STORES), "as the DSL made it"
            operator = transform_values.TableTransformValuesOperator(context, spec, store, allowed)
            return _logging_headers(operator, store)
        case _:
            return None


def _join(spec: ops.OperatorSpec, parts: _Parts) -> Operator | None:
    """An operator of a join on the key; None for any other specification."""
    context, stores = parts.context, parts.stores
    match spec:
        case ops.StreamJoin():
            other = stores[spec.other_store]
            unmatched = None if spec.unmatched_store is None else stores[spec.unmatched_store]
            assert isinstance(other, PlainWindowStore), "a join reads the other side's window store"
            assert unmatched is None or isinstance(unmatched, UnmatchedStore), "as the DSL made it"
            return stream_stream.StreamJoinOperator(context, spec, other, unmatched)
        case ops.StreamTableJoin():
            join = stream_table.StreamTableJoinOperator(context, spec, parts.reader)
            if spec.buffer is None:
                return join
            buffer = stores[spec.buffer]
            assert isinstance(buffer, JoinBuffer), "as the DSL made it"
            return stream_table.BufferedStreamTableJoin(context, join, buffer)
        case ops.TableJoin():
            return table_table.TableJoinOperator(context, spec, parts.reader.lookup(spec.view))
        case _:
            return None


def _foreign_key_join(spec: ops.OperatorSpec, parts: _Parts) -> Operator | None:
    """An operator of a foreign-key join; None for any other specification."""
    context, stores = parts.context, parts.stores
    match spec:
        case ops.ForeignKeySubscribe():
            serdes = _join_serdes(spec.serdes, context)
            return foreign_key.Subscribe(context, spec, serdes)
        case ops.ForeignKeyReceive():
            kept, serdes = stores[spec.store], _join_serdes(spec.serdes, context)
            assert isinstance(kept, TimestampedKeyValueStore), "as the DSL made it"
            return foreign_key.ReceiveSubscription(context, kept, serdes)
        case ops.ForeignKeyAnswer():
            return foreign_key.AnswerSubscription(context, parts.reader.lookup(spec.view))
        case ops.ForeignKeyNotify():
            kept, serdes = stores[spec.store], _join_serdes(spec.serdes, context)
            assert isinstance(kept, TimestampedKeyValueStore), "as the DSL made it"
            return foreign_key.AnswerSubscribers(context, kept, serdes)
        case ops.ForeignKeyResolve():
            left_value = _join_serdes(spec.serdes, context).left_value
            return foreign_key.ResolveResponse(
                context, spec, parts.reader.lookup(spec.view), left_value
            )
        case _:
            return None


def _join_serdes(serdes: ops.TableSerdes, context: NodeContext) -> foreign_key.JoinSerdes:
    config, node = context.config, context.node
    return foreign_key.JoinSerdes(
        resolve(serdes.left_key, config.default_key, f"the left keys of {node}"),
        resolve(serdes.left_value, config.default_value, f"the left values of {node}"),
        resolve(serdes.right_key, config.default_key, f"the right keys of {node}"),
    )


def _logging_headers(operator: Operator, store: StateStore | None) -> Operator:
    """The operator of a table, with what its store needs to log deletions, or to hold changes back."""
    keeps_headers = store is not None and store.spec.with_headers
    return KeepsRecordHeaders(operator) if keeps_headers else operator
