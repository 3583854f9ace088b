"""KStream joined with KTable: the stream side drives, the table side is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from millstream.streams.arguments import check_kind, check_serdes
from millstream.streams.dsl.graph.nodes import ProcessorGraphNode
from millstream.streams.dsl.graph.streams import AnySerde, GraphStream, GraphTable
from millstream.streams.dsl.graph.table_definitions import store_names
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.windows import to_ms


@dataclass(frozen=True, slots=True)
class TableJoinOptions:
    """The arguments of a stream's join and left_join with a table; `method` is which."""

    method: str
    joiner: ops.UserFunction
    with_key: bool
    left: bool
    key: AnySerde | None
    value: AnySerde | None
    name: str | None
    on: ops.UserFunction | None = None
    """The key of a global table, as a function of the record."""
    grace: timedelta | None = None

    def check(self) -> None:
        """Raises TypeError for serdes and a grace period of the wrong kind."""
        check_serdes(self.method, key=self.key, value=self.value)
        check_kind(f"{self.method}: grace", self.grace, timedelta | None)

    def check_joiner(self) -> None:
        """Raises TypeError for a joiner that cannot take its arguments."""
        parameters = ("key", "left", "right") if self.with_key else ("left", "right")
        check_arity(self.method, "joiner", self.joiner, *parameters, takes_columns=True)


def join_global_table(stream: GraphStream, store: str, options: TableJoinOptions) -> GraphStream:
    """Look up a global table by any function of the record.

    Nothing is repartitioned or copartitioned: every task has the whole table.
    """
    options.check()
    if options.on is None:
        raise TypeError("a join with a global table needs on=, a function of key and value")
    if options.grace is not None:
        raise TypeError("a global table has no history: leave out grace=")
    options.check_joiner()
    check_arity(options.method, "on", options.on, "key", "value")
    prefix = "KSTREAM-LEFTJOIN-"  # for inner joins as well
    view = ops.StoreView(store)
    spec = ops.StreamTableJoin(view, options.joiner, options.with_key, options.left, options.on)
    node = ProcessorGraphNode(
        stream.graph.names.name_or_generate(options.name, prefix),
        operator=lambda: spec,
        relaxed_join=options.left,
    )
    stream.graph.add(node, stream.node)
    return stream.then(node, options.key or stream.key, None)


def join_table(stream: GraphStream, table: GraphTable, options: TableJoinOptions) -> GraphStream:
    """Look up a table by the record's key, behind a repartition topic where that was changed."""
    graph = stream.graph
    options.check()
    graph.check_same(options.method, "table", table.graph)
    if options.on is not None:
        raise TypeError(
            "a join with a table is on the record's key: change it before, and leave out on="
        )
    options.check_joiner()
    if stream.repartition_required:
        stream = stream.repartitioned_for_join(
            options.name or stream.name,
            key=options.key,
            value=options.value,
            is_named=options.name is not None,
        )
    sources = stream.sources | table.sources
    prefix = "KSTREAM-LEFTJOIN-" if options.left else "KSTREAM-JOIN-"
    view = table.definition.view()
    name = graph.names.name_or_generate(options.name, prefix)
    buffer = None if options.grace is None else _buffer(name, stream, table, options)
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
    graph.add(node, stream.node)
    return GraphStream(graph, node, options.key or stream.key, None, sources)


def _buffer(
    name: str, stream: GraphStream, table: GraphTable, options: TableJoinOptions
) -> StoreSpec:
    """The store in which the stream's records wait.

    Raises ValueError for a table that does not know what its rows were.
    """
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
        stream.graph.unnamed[buffer] = None
    return StoreSpec(
        buffer,
        StoreKind.JOIN_BUFFER,
        key=options.key or stream.key,
        value=options.value or stream.value,
        retention_ms=grace_ms,
    )
