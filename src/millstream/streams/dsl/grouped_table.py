"""KGroupedTable: rows of a table under a new key. An update takes the old row off and adds the new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from millstream.streams.aggregates import Aggregate
from millstream.streams.dsl.graph import (
    GraphNode,
    ProcessorGraphNode,
    RepartitionGraphNode,
    StreamGraph,
)
from millstream.streams.dsl.materialize import AnyMaterialized, key_value_store
from millstream.streams.dsl.table import KTable
from millstream.streams.dsl.table_definitions import AggregateDefinition
from millstream.streams.options import Materialized
from millstream.streams.serdes.serde import Serde, long
from millstream.streams.topology import SinkNode, SourceNode
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.topology.names import REPARTITION_SUFFIX
from millstream.streams.topology.nodes import ValueForm

K = TypeVar("K")
V = TypeVar("V")
VA = TypeVar("VA")


@dataclass(slots=True)
class TableGrouping:
    """Serdes of the regrouped rows and the name of their repartition topic."""

    key: Serde[Any] | None  # Any: grouped tables of any type
    value: Serde[Any] | None  # Any: grouped tables of any type
    name: str | None
    shared: RepartitionGraphNode | None = None

    def repartition(self, graph: StreamGraph, name: str | None, store: str) -> RepartitionGraphNode:
        """The repartition topic of one aggregation; one with a name of its own is shared."""
        sink = graph.names.suffixed_or_generate(name, "-sink", "KSTREAM-SINK-")
        source = graph.names.suffixed_or_generate(name, "-source", "KSTREAM-SOURCE-")
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


_AnySerde = Serde[Any]  # Any: the aggregate's type is the caller's
_Options = tuple[str, str | None, AnyMaterialized | None, _AnySerde | None]
"""Prefix of the node's name, name, materialized, serde of the aggregate."""


class KGroupedTable(Generic[K, V]):
    """Aggregations of a regrouped table (S25)."""

    def __init__(self, graph: StreamGraph, node: GraphNode, grouping: TableGrouping) -> None:
        self._graph = graph
        self._node = node
        self._grouping = grouping

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node.name}>"

    def count(
        self, *, name: str | None = None, materialized: Materialized[K, int] | None = None
    ) -> KTable[K, int]:
        """How many rows each new key has."""
        return self._aggregate(
            ("KTABLE-AGGREGATE-", name, materialized, long()),
            lambda store, old: ops.TableAggregate(store, _zero, _add_one, _take_one, old),
        )

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        *,
        name: str | None = None,
        materialized: Materialized[K, V] | None = None,
    ) -> KTable[K, V]:
        """adder(aggregate, value) and subtractor(aggregate, value) give the new aggregate."""
        check_arity("reduce", "adder", adder, "aggregate", "value")
        check_arity("reduce", "subtractor", subtractor, "aggregate", "value")
        return self._aggregate(
            ("KTABLE-REDUCE-", name, materialized, self._grouping.value),
            lambda store, old: ops.TableReduce(store, adder, subtractor, old),
        )

    @overload
    def aggregate(
        self,
        initializer: Aggregate[V, VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]: ...
    @overload
    def aggregate(
        self,
        initializer: Callable[[], VA],
        adder: Callable[[K, V, VA], VA],
        subtractor: Callable[[K, V, VA], VA],
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]: ...
    def aggregate(
        self,
        initializer: Aggregate[V, VA] | Callable[[], VA],
        adder: Any = None,  # Any: as the overloads say
        subtractor: Any = None,  # Any: as the overloads say
        *,
        value: Serde[VA] | None = None,
        name: str | None = None,
        materialized: Materialized[K, VA] | None = None,
    ) -> KTable[K, VA]:
        """adder(key, value, aggregate) and subtractor(key, value, aggregate) give the new aggregate.

        A ready-made aggregation, of `millstream.streams.aggregates`, stands for the functions, if it can take values
        off again: TypeError for `min_of` and `max_of`.
        """
        if isinstance(initializer, Aggregate):
            value = value or initializer.serde(self._grouping.value)
            adder, subtractor = initializer, initializer.subtractor
            initializer = initializer.initializer
        check_arity("aggregate", "initializer", initializer)
        check_arity("aggregate", "adder", adder, "key", "value", "aggregate")
        check_arity("aggregate", "subtractor", subtractor, "key", "value", "aggregate")
        return self._aggregate(
            ("KTABLE-AGGREGATE-", name, materialized, value),
            lambda store, old: ops.TableAggregate(store, initializer, adder, subtractor, old),
        )

    def _aggregate(
        self,
        options: _Options,
        make: ops.UserFunction,
    ) -> KTable[Any, Any]:  # Any: the caller's declared result
        prefix, name, materialized, value = options
        graph, grouping = self._graph, self._grouping
        spec = key_value_store(graph, materialized, "KTABLE-AGGREGATE-", grouping.key, value).spec
        repartition = grouping.repartition(graph, name, spec.name)
        node_name = graph.names.name_or_generate(name, prefix)
        definition = AggregateDefinition(spec, lambda old: make(spec.name, old))
        graph.add(repartition, self._node)
        node = ProcessorGraphNode(node_name, operator=definition.operator, stores=definition.stores)
        graph.add(node, repartition)
        return KTable(
            graph,
            node,
            definition,
            key=spec.key,
            value=spec.value,
            sources=frozenset({repartition.name}),
        )


def _zero() -> int:
    return 0


def _add_one(_key: object, _value: object, aggregate: int) -> int:
    return aggregate + 1


def _take_one(_key: object, _value: object, aggregate: int) -> int:
    return aggregate - 1
