"""Grouped streams and tables: the nodes that aggregate them, behind repartition topics where equal
keys need not meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.streams.aggregates import Aggregate
from millstream.streams.arguments import check_kind, check_serdes
from millstream.streams.dsl.graph.nodes import (
    GraphNode,
    ProcessorGraphNode,
    RepartitionGraphNode,
    repartition_node,
)
from millstream.streams.dsl.graph.streams import AnySerde, GraphStream, GraphTable
from millstream.streams.dsl.graph.table_definitions import AggregateDefinition
from millstream.streams.dsl.operations.materialize import (
    AnyMaterialized,
    count_store,
    key_value_store,
)
from millstream.streams.serdes.serde import long
from millstream.streams.topology import SinkNode, SourceNode, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import add_one, check_arity
from millstream.streams.topology.names import REPARTITION_SUFFIX
from millstream.streams.topology.nodes import ValueForm


@dataclass(slots=True, eq=False)
class StreamGrouping:
    """A grouped stream. A grouping with a name makes one repartition topic for all aggregations of it."""

    stream: GraphStream
    """The records; its serdes are those of the grouping."""
    name: str | None
    shared: RepartitionGraphNode | None = None

    def add_aggregation(
        self, name: str, definition: AggregateDefinition, key: AnySerde | None
    ) -> GraphTable:
        """Returns the table of an aggregating node, behind a repartition topic where the key was changed."""
        stream = self.stream
        graph, parent, sources = stream.graph, stream.node, stream.sources
        store = definition.store
        if stream.repartition_required:
            sink = SinkNode("", (), "", stream.key, stream.value)
            node = repartition_node(graph.names, self.name or store.name, sink)
            if self.name is not None:
                node = self.shared = self.shared or node
            elif store.name in graph.unnamed:
                graph.unnamed[node.topic] = None
            graph.add(node, parent)
            parent, sources = node, frozenset({node.name})
        aggregation = ProcessorGraphNode(
            name, operator=definition.operator, stores=definition.stores
        )
        graph.add(aggregation, parent)
        return GraphTable(graph, aggregation, definition, key, store.value, sources)


def group_by_key(
    stream: GraphStream, key: AnySerde | None, value: AnySerde | None, name: str | None
) -> StreamGrouping:
    """Group records by the key that they have."""
    check_serdes("group_by_key", key=key, value=value)
    check_kind("group_by_key: name", name, str | None)
    return StreamGrouping(stream.then(stream.node, key or stream.key, value or stream.value), name)


def group_by(
    stream: GraphStream,
    mapper: ops.UserFunction,
    key: AnySerde | None,
    value: AnySerde | None,
    name: str | None,
) -> StreamGrouping:
    """Group records by a new key."""
    check_arity("group_by", "mapper", mapper, "key", "value")
    check_serdes("group_by", key=key, value=value)
    node = stream.add(name, "KSTREAM-KEY-SELECT-", ops.SelectKey(mapper))
    return StreamGrouping(stream.then(node, key, value or stream.value, rekeyed=True), name)


def count_records(
    grouping: StreamGrouping, name: str | None, materialized: AnyMaterialized | None
) -> GraphTable:
    """Count the records of each key."""
    spec = count_store(grouping.stream.graph, materialized, grouping.stream.key).spec
    return _aggregate_stream(
        grouping, name, "KSTREAM-AGGREGATE-", spec, lambda old: ops.StreamCount(spec.name, old)
    )


def reduce_records(
    grouping: StreamGrouping,
    reducer: ops.UserFunction,
    name: str | None,
    materialized: AnyMaterialized | None,
) -> GraphTable:
    """Combine the values of each key."""
    check_arity("reduce", "reducer", reducer, "aggregate", "value")
    stream, prefix = grouping.stream, "KSTREAM-REDUCE-"
    spec = key_value_store(stream.graph, materialized, prefix, stream.key, stream.value).spec
    return _aggregate_stream(
        grouping, name, prefix, spec, lambda old: ops.StreamReduce(spec.name, reducer, old)
    )


def aggregate_records(
    grouping: StreamGrouping,
    functions: tuple[ops.UserFunction, ops.UserFunction],
    value: AnySerde | None,
    name: str | None,
    materialized: AnyMaterialized | None,
) -> GraphTable:
    """Aggregate the records of each key.

    `functions` are the initializer, or a ready-made aggregation, and the aggregator.
    """
    stream, prefix = grouping.stream, "KSTREAM-AGGREGATE-"
    initializer, aggregator = functions
    if isinstance(initializer, Aggregate):
        value = value or initializer.serde(stream.value)
        initializer, aggregator = initializer.initializer, initializer
    check_arity("aggregate", "initializer", initializer)
    check_arity("aggregate", "aggregator", aggregator, "key", "value", "aggregate")
    spec = key_value_store(stream.graph, materialized, prefix, stream.key, value).spec
    return _aggregate_stream(
        grouping,
        name,
        prefix,
        spec,
        lambda old: ops.StreamAggregate(spec.name, initializer, aggregator, old),
    )


def _aggregate_stream(
    grouping: StreamGrouping,
    name: str | None,
    prefix: str,
    spec: StoreSpec,
    make: Callable[[bool], ops.OperatorSpec],
) -> GraphTable:
    node_name = grouping.stream.graph.names.name_or_generate(name, prefix)
    return grouping.add_aggregation(node_name, AggregateDefinition(spec, make), spec.key)


@dataclass(slots=True, eq=False)
class TableGrouping:
    """Rows of a table under a new key: the node that regroups them, their serdes, the name of their
    repartition topic.
    """

    table: GraphTable
    node: GraphNode
    key: AnySerde | None
    value: AnySerde | None
    name: str | None
    shared: RepartitionGraphNode | None = None

    def repartition(self, name: str | None, store: str) -> RepartitionGraphNode:
        """Returns the repartition topic of one aggregation; one with a name of its own is shared."""
        names = self.table.graph.names
        sink = names.suffixed_or_generate(name, "-sink", "KSTREAM-SINK-")
        source = names.suffixed_or_generate(name, "-source", "KSTREAM-SOURCE-")
        if self.shared is not None:
            return self.shared
        topic = (self.name or store) + REPARTITION_SUFFIX
        node = RepartitionGraphNode(
            source,
            topic=topic,
            sink=SinkNode(sink, (), topic, self.key, self.value, form=ValueForm.CHANGE),
            source=SourceNode(
                source, (topic,), key=self.key, value=self.value, form=ValueForm.CHANGE
            ),
            mergeable=False,
        )
        if self.name is not None:
            self.shared = node
        return node


def regroup(
    table: GraphTable,
    mapper: ops.UserFunction,
    key: AnySerde | None,
    value: AnySerde | None,
    name: str | None,
) -> TableGrouping:
    """Group rows by a new key; each update takes the row off its old group and adds it to the new one."""
    check_arity("group_by", "mapper", mapper, "key", "value")
    check_serdes("group_by", key=key, value=value)
    check_kind("group_by: name", name, str | None)
    table.definition.enable_old_values(force=True)
    node = ProcessorGraphNode(
        table.graph.names.name_or_generate(name, "KTABLE-SELECT-"),
        operator=lambda: ops.TableRegroup(mapper),
    )
    table.graph.add(node, table.node)
    return TableGrouping(table, node, key, value, name)


def count_rows(
    grouping: TableGrouping, name: str | None, materialized: AnyMaterialized | None
) -> GraphTable:
    """Count the rows of each new key."""
    return _aggregate_table(
        grouping,
        name,
        "KTABLE-AGGREGATE-",
        _table_store(grouping, materialized, long()),
        lambda store, old: ops.TableAggregate(store, _zero, add_one, _subtract_one, old),
    )


def reduce_rows(
    grouping: TableGrouping,
    functions: tuple[ops.UserFunction, ops.UserFunction],
    name: str | None,
    materialized: AnyMaterialized | None,
) -> GraphTable:
    """Combine the values of each new key. `functions` are the adder and the subtractor."""
    adder, subtractor = functions
    check_arity("reduce", "adder", adder, "aggregate", "value")
    check_arity("reduce", "subtractor", subtractor, "aggregate", "value")
    return _aggregate_table(
        grouping,
        name,
        "KTABLE-REDUCE-",
        _table_store(grouping, materialized, grouping.value),
        lambda store, old: ops.TableReduce(store, adder, subtractor, old),
    )


def aggregate_rows(
    grouping: TableGrouping,
    functions: tuple[ops.UserFunction, ops.UserFunction, ops.UserFunction],
    value: AnySerde | None,
    name: str | None,
    materialized: AnyMaterialized | None,
) -> GraphTable:
    """Aggregate the rows of each new key. `functions` are the initializer, the adder and the subtractor."""
    initializer, adder, subtractor = functions
    if isinstance(initializer, Aggregate):
        value = value or initializer.serde(grouping.value)
        adder, subtractor = initializer, initializer.subtractor
        initializer = initializer.initializer
    check_arity("aggregate", "initializer", initializer)
    check_arity("aggregate", "adder", adder, "key", "value", "aggregate")
    check_arity("aggregate", "subtractor", subtractor, "key", "value", "aggregate")
    return _aggregate_table(
        grouping,
        name,
        "KTABLE-AGGREGATE-",
        _table_store(grouping, materialized, value),
        lambda store, old: ops.TableAggregate(store, initializer, adder, subtractor, old),
    )


def _table_store(
    grouping: TableGrouping, materialized: AnyMaterialized | None, value: AnySerde | None
) -> StoreSpec:
    graph = grouping.table.graph
    return key_value_store(graph, materialized, "KTABLE-AGGREGATE-", grouping.key, value).spec


def _aggregate_table(
    grouping: TableGrouping,
    name: str | None,
    prefix: str,
    spec: StoreSpec,
    make: Callable[[str, bool], ops.OperatorSpec],
) -> GraphTable:
    graph = grouping.table.graph
    repartition = grouping.repartition(name, spec.name)
    node_name = graph.names.name_or_generate(name, prefix)
    definition = AggregateDefinition(spec, lambda old: make(spec.name, old))
    graph.add(repartition, grouping.node)
    node = ProcessorGraphNode(node_name, operator=definition.operator, stores=definition.stores)
    graph.add(node, repartition)
    sources = frozenset({repartition.name})
    return GraphTable(graph, node, definition, spec.key, spec.value, sources)


def _zero() -> int:
    return 0


def _subtract_one(_key: object, _value: object, aggregate: int) -> int:
    return aggregate - 1
