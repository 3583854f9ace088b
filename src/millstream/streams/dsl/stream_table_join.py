"""KStream joined with KTable: the stream side drives, the table side is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from millstream.streams.arguments import check_kind, check_serdes
from millstream.streams.dsl.global_tables import GlobalKTable
from millstream.streams.dsl.graph import (
    GraphNode,
    ProcessorGraphNode,
    StreamGraph,
    repartition_node,
)
from millstream.streams.dsl.table_definitions import store_names
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology import SinkNode, StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.windows import to_ms

if TYPE_CHECKING:
    from millstream.streams.dsl.stream import KStream
    from millstream.streams.dsl.stream_joins import StreamJoins
    from millstream.streams.dsl.table import KTable


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """The arguments of join and left_join, which is the method."""

    method: str
    joiner: ops.UserFunction
    with_key: bool
    left: bool
    serdes: tuple[Serde[Any] | None, Serde[Any] | None]  # Any: the stream's key and value types
    name: str | None
    on: ops.UserFunction | None = None
    """The key of a global table, as a function of the record."""
    grace: timedelta | None = None


def join_any_table(
    stream: StreamJoins[Any, Any],  # Any: checked by the calling method's signature
    graph: StreamGraph,
    parent: GraphNode,
    table: KTable[Any, Any] | GlobalKTable[Any, Any],  # Any: the same
    options: JoinOptions,
) -> KStream[Any, Any]:  # Any: the same
    """Join with a table on the key, or with a global table on any function of the record."""
    from millstream.streams.dsl.table import KTable

    key, value = options.serdes
    check_serdes(options.method, key=key, value=value)
    check_kind(f"{options.method}: grace", options.grace, timedelta | None)
    key_mapper = options.on
    if isinstance(table, GlobalKTable):
        if key_mapper is None:
            raise TypeError("a join with a global table needs on=, a function of key and value")
        if options.grace is not None:
            raise TypeError("a global table has no history: leave out grace=")
        return _join_global(stream, graph, parent, (table, key_mapper), options)
    if not isinstance(table, KTable):
        raise TypeError(
            f"{options.method}: a stream is joined with a KStream, KTable or GlobalKTable, "
            f"not {type(table).__name__}"
        )
    graph.check_same(options.method, "table", table._graph)
    if key_mapper is not None:
        raise TypeError(
            "a join with a table is on the record's key: change it before, and leave out on="
        )
    return join_table(stream, graph, parent, table, options)


def _join_global(
    stream: StreamJoins[Any, Any],  # Any: see join_any_table
    graph: StreamGraph,
    parent: GraphNode,
    other: tuple[GlobalKTable[Any, Any], ops.UserFunction],  # Any: the same
    options: JoinOptions,
) -> KStream[Any, Any]:  # Any: the same
    """No repartitioning and no co-partitioning: every task sees the whole table (S6)."""
    from millstream.streams.dsl.stream import KStream

    table, key_mapper = other
    parameters = ("key", "left", "right") if options.with_key else ("left", "right")
    check_arity(options.method, "joiner", options.joiner, *parameters, takes_columns=True)
    check_arity(options.method, "on", key_mapper, "key", "value")
    prefix = "KSTREAM-LEFTJOIN-"  # for inner joins as well
    view = ops.StoreView(table.store)
    spec = ops.StreamTableJoin(view, options.joiner, options.with_key, options.left, key_mapper)
    node = ProcessorGraphNode(
        graph.names.name_or_generate(options.name, prefix),
        operator=lambda: spec,
        relaxed_join=options.left,
    )
    graph.add(node, parent)
    return KStream(
        graph,
        node,
        key=options.serdes[0] or stream.key,
        value=None,
        sources=stream.sources,
        repartition_required=stream.repartition_required,
    )


def join_table(
    stream: StreamJoins[Any, Any],  # Any: checked by the calling method's signature
    graph: StreamGraph,
    parent: GraphNode,
    table: KTable[Any, Any],  # Any: the same
    options: JoinOptions,
) -> KStream[Any, Any]:  # Any: the same
    """Join, after a repartition topic where the stream's key was changed."""
    from millstream.streams.dsl.stream import KStream

    parameters = ("key", "left", "right") if options.with_key else ("left", "right")
    check_arity(options.method, "joiner", options.joiner, *parameters, takes_columns=True)
    sources = stream.sources
    if stream.repartition_required:
        parent, sources = _repartitioned(stream, graph, parent, options)
    sources |= table.sources
    prefix = "KSTREAM-LEFTJOIN-" if options.left else "KSTREAM-JOIN-"
    view = table.definition.view()
    name = graph.names.name_or_generate(options.name, prefix)
    buffer = None if options.grace is None else _buffer(graph, name, stream, table, options)
    spec = ops.StreamTableJoin(
        view,
        options.joiner,
        options.with_key,
        options.left,
        buffer=None if buffer is None else buffer.name,
    )
    node = ProcessorGraphNode(
        name,
        operator=lambda: spec,
        stores=lambda: () if buffer is None else (buffer,),
        connected=lambda: store_names(view),
        copartitioned=sources,
        relaxed_join=options.left,
    )
    graph.add(node, parent)
    return KStream(graph, node, key=options.serdes[0] or stream.key, value=None, sources=sources)


def _buffer(
    graph: StreamGraph,
    name: str,
    stream: StreamJoins[Any, Any],  # Any: see join_table
    table: KTable[Any, Any],  # Any: see join_table
    options: JoinOptions,
) -> StoreSpec:
    """Where the stream's records wait. Raises ValueError for a table that does not know what its rows were."""
    assert options.grace is not None, "asked for only where the join waits"
    grace_ms, history_ms = to_ms(options.grace), table.definition.history_ms
    if grace_ms < 0:
        raise ValueError(
            f"{name} has a negative grace period, {grace_ms} ms: it must be at least 0"
        )
    if history_ms is None:
        raise ValueError(
            f"{name} has a grace period, which needs a versioned table: give the table a store with a history"
        )
    if history_ms < grace_ms:
        raise ValueError(
            f"{name} waits {grace_ms} ms, longer than the table's history of {history_ms} ms: raise the history"
        )
    buffer = f"{name}-Buffer"
    if options.name is None:
        graph.unnamed[buffer] = None
    return StoreSpec(
        buffer,
        StoreKind.JOIN_BUFFER,
        key=options.serdes[0] or stream.key,
        value=options.serdes[1] or stream.value,
        retention_ms=grace_ms,
    )


def _repartitioned(
    stream: StreamJoins[Any, Any],  # Any: see join_table
    graph: StreamGraph,
    parent: GraphNode,
    options: JoinOptions,
) -> tuple[GraphNode, frozenset[str]]:
    """The node to join at and its sources.

    Without a name of its own, a join uses the topic of the last join of the same stream, whatever that one's name.
    It then names a source that nobody writes, as Kafka Streams does: nothing more is copartitioned with the topic.
    """
    prefix = options.name or stream.name
    sink = SinkNode("", (), "", options.serdes[0] or stream.key, options.serdes[1] or stream.value)
    node = repartition_node(graph.names, prefix, sink)
    known = graph.join_repartitions.get(stream.name)
    if known is not None and prefix == stream.name:
        return known, frozenset({node.name})
    graph.join_repartitions[stream.name] = node
    if options.name is None:
        graph.unnamed[node.topic] = None
    graph.add(node, parent)
    return node, frozenset({node.name})
