"""From nodes of a topology to running operators: one operator per node, stores and serdes resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from millstream.errors import ConfigError
from millstream.streams.config import StreamsConfig
from millstream.streams.errors import StreamsError
from millstream.streams.kernel import (
    aggregates,
    foreign_key_joins,
    joins,
    processors,
    self_join,
    session_aggregates,
    sliding_aggregates,
    stateless,
    stream_joins,
    suppress,
    table_aggregates,
    table_joins,
    tables,
    transform_values,
    window_aggregates,
    wrapped_operators,
)
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.record_headers import KeepsRecordHeaders
from millstream.streams.queries.views import read_only
from millstream.streams.serdes import bytes_
from millstream.streams.serdes.change import changes
from millstream.streams.serdes.foreign_key import responses, subscriptions
from millstream.streams.serdes.serde import Serde
from millstream.streams.state.join_buffer import JoinBuffer
from millstream.streams.state.key_value import TimestampedKeyValueStore
from millstream.streams.state.plain_window import PlainWindowStore
from millstream.streams.state.store import StateStore
from millstream.streams.state.unmatched import UnmatchedStore
from millstream.streams.topology import operators as ops
from millstream.streams.topology.nodes import ProcessorNode, SinkNode, SourceNode, ValueForm
from millstream.streams.topology.stores import StoreKind, StoreSpec

_STATELESS: Mapping[type[ops.OperatorSpec], Any] = {  # Any: each class takes its own specification
    ops.Filter: stateless.Filter,
    ops.NullKeyFilter: stateless.NullKeyFilter,
    ops.Map: stateless.Map,
    ops.SelectKey: stateless.SelectKey,
    ops.MapValues: stateless.MapValues,
    ops.FlatMap: stateless.FlatMap,
    ops.FlatMapValues: stateless.FlatMapValues,
    ops.Peek: stateless.Peek,
    ops.Branch: stateless.Branch,
    ops.TableRegroup: table_aggregates.TableRegroup,
}
_WITH_STORE: Mapping[type[ops.OperatorSpec], Any] = {  # Any: each class takes its own specification
    ops.StreamAggregate: aggregates.StreamAggregate,
    ops.StreamCount: aggregates.StreamCount,
    ops.StreamReduce: aggregates.StreamReduce,
    ops.WindowAggregate: window_aggregates.WindowAggregate,
    ops.SlidingAggregate: sliding_aggregates.SlidingAggregate,
    ops.SessionAggregate: session_aggregates.SessionAggregate,
    ops.Suppress: suppress.Suppress,
    ops.JoinWindow: stream_joins.JoinWindow,
    ops.SelfJoin: self_join.SelfJoin,
    ops.TableSource: tables.TableSource,
    ops.TableFilter: tables.TableFilter,
    ops.TableMapValues: tables.TableMapValues,
    ops.TableAggregate: table_aggregates.TableAggregate,
    ops.TableReduce: table_aggregates.TableReduce,
    ops.TableJoinMerge: table_joins.TableJoinMerge,
}


def make_operator(
    node: ProcessorNode,
    context: TaskContext,
    stores: Mapping[str, StateStore],
    global_stores: Mapping[str, StateStore],
) -> Operator:
    """The running operator of a node. `stores` are those of the task, `global_stores` all others."""
    spec = node.operator
    context.node = node.name
    kind = type(spec)
    allowed: dict[str, object] = {name: read_only(store) for name, store in global_stores.items()}
    allowed |= {name: stores[name].exposed for name in node.stores if name in stores}
    stores = {**global_stores, **stores}

    def open_transformer(supplier: ops.UserFunction) -> transform_values.Transform:
        return transform_values.open_transformer(context, supplier, allowed)[0]

    tables_only = {n: s for n, s in stores.items() if isinstance(s, joins.TABLE_STORES)}
    reader = joins.TableReader(tables_only, open_transformer)

    if kind is ops.PassThrough:
        return stateless.PassThrough(context)
    if kind is ops.TableToStream:
        return stateless.TableToStream(context)
    if kind in _STATELESS:
        made: Operator = _STATELESS[kind](context, spec)
        return made
    if kind in _WITH_STORE:
        name: str | None = spec.store  # type: ignore[attr-defined]  # every specification of that table has one
        store = None if name is None else stores[name]
        return _logging_headers(_WITH_STORE[kind](context, spec, store), store)
    if isinstance(spec, ops.Wrapped):
        inner = make_operator(replace(node, operator=spec.inner), context, stores, global_stores)
        return wrapped_operators.WrappedOperator(context, spec, node.name, allowed, inner)
    if isinstance(spec, ops.Process):
        opened = processors.ProcessorContext(context, node.name, allowed, spec.fixed_key)
        return processors.Process(context, spec.supplier, opened)
    if isinstance(spec, ops.StreamJoin):
        other = stores[spec.other_store]
        unmatched = None if spec.unmatched_store is None else stores[spec.unmatched_store]
        assert isinstance(other, PlainWindowStore), "a join reads the other side's window store"
        assert unmatched is None or isinstance(unmatched, UnmatchedStore), "as the DSL made it"
        return stream_joins.StreamJoin(context, spec, other, unmatched)
    if isinstance(spec, ops.StreamTableJoin):
        join = joins.StreamTableJoin(context, spec, reader)
        if spec.buffer is None:
            return join
        buffer = stores[spec.buffer]
        assert isinstance(buffer, JoinBuffer), "as the DSL made it"
        return joins.BufferedStreamTableJoin(context, join, buffer)
    if isinstance(spec, ops.TableJoin):
        return table_joins.TableJoin(context, spec, reader.lookup(spec.view))
    if isinstance(spec, ops.TableTransformValues):
        own = None if spec.store is None else stores[spec.store]
        assert own is None or isinstance(own, tables.ROW_STORES), "as the DSL made it"
        operator = transform_values.TableTransformValues(context, spec, own, allowed)
        return _logging_headers(operator, own)
    foreign = _foreign_key_join(spec, context, stores, reader.lookup)
    assert foreign is not None, f"no operator for {spec}"
    return foreign


def _logging_headers(operator: Operator, store: StateStore | None) -> Operator:
    """The operator of a table, with what its store needs to log deletions, or to hold changes back."""
    keeps_headers = store is not None and store.spec.with_headers
    return KeepsRecordHeaders(operator) if keeps_headers else operator


def resolve(
    serde: Serde[Any] | None,  # Any: serdes of any type
    default: Serde[Any] | None,  # Any: serdes of any type
    what: str,
) -> Serde[Any]:  # Any: serdes of any type
    """The serde, or the default one; StreamsError where there is neither."""
    found = serde or default
    if found is None:
        missing = ConfigError(f"no serde for {what} and no default serde")
        raise StreamsError(
            f"{what} has no serde: give it one, or set a default serde of the application"
        ) from missing
    return found


def source_serdes(
    node: SourceNode | SinkNode, config: StreamsConfig
) -> tuple[Serde[Any], Serde[Any]]:  # Any: a source or sink of any type
    """The serdes of a source or sink."""
    key = resolve(node.key, config.default_key, f"the key of {node.name}")
    if node.form is ValueForm.SUBSCRIPTION:
        inside = resolve(node.value, config.default_key, f"the left keys of {node.name}")
    else:
        inside = resolve(node.value, config.default_value, f"the value of {node.name}")
    return key, _in_form(inside, node.form)


def store_serdes(
    spec: StoreSpec, config: StreamsConfig
) -> tuple[Serde[Any], Serde[Any]]:  # Any: a store of any type
    """The serdes of a store. What a store of the user's keeps is its own affair."""
    if spec.kind is StoreKind.CUSTOM:
        return bytes_(), bytes_()
    key = resolve(spec.key, config.default_key, f"the key of store {spec.name}")
    if spec.kind is StoreKind.SUBSCRIPTIONS:
        left_key = resolve(spec.value, config.default_key, f"the left keys of store {spec.name}")
        return key, subscriptions(left_key)
    return key, resolve(spec.value, config.default_value, f"the value of store {spec.name}")


def _in_form(
    inside: Serde[Any],  # Any: values of any type
    form: ValueForm,
) -> Serde[Any]:  # Any: the same
    match form:
        case ValueForm.PLAIN:
            return inside
        case ValueForm.CHANGE:
            return changes(inside)
        case ValueForm.SUBSCRIPTION:
            return subscriptions(inside)
        case ValueForm.RESPONSE:
            return responses(inside)


def _foreign_key_join(
    spec: ops.OperatorSpec,
    context: TaskContext,
    stores: Mapping[str, StateStore],
    read: Callable[[ops.TableView], joins.Lookup],
) -> Operator | None:
    """An operator of a foreign-key join; None for any other specification."""
    match spec:
        case ops.ForeignKeySubscribe():
            serdes = _join_serdes(spec.serdes, context)
            return foreign_key_joins.Subscribe(context, spec, serdes)
        case ops.ForeignKeyReceive():
            kept, serdes = stores[spec.store], _join_serdes(spec.serdes, context)
            assert isinstance(kept, TimestampedKeyValueStore), "as the DSL made it"
            return foreign_key_joins.ReceiveSubscription(context, kept, serdes)
        case ops.ForeignKeyAnswer():
            return foreign_key_joins.AnswerSubscription(context, read(spec.view))
        case ops.ForeignKeyNotify():
            kept, serdes = stores[spec.store], _join_serdes(spec.serdes, context)
            assert isinstance(kept, TimestampedKeyValueStore), "as the DSL made it"
            return foreign_key_joins.AnswerSubscribers(context, kept, serdes)
        case ops.ForeignKeyResolve():
            left_value = _join_serdes(spec.serdes, context).left_value
            return foreign_key_joins.ResolveResponse(context, spec, read(spec.view), left_value)
        case _:
            return None


def _join_serdes(serdes: ops.TableSerdes, context: TaskContext) -> foreign_key_joins.JoinSerdes:
    config, node = context.config, context.node
    return foreign_key_joins.JoinSerdes(
        resolve(serdes.left_key, config.default_key, f"the left keys of {node}"),
        resolve(serdes.left_value, config.default_value, f"the left values of {node}"),
        resolve(serdes.right_key, config.default_key, f"the right keys of {node}"),
    )
