"""KTable joined with KTable on the same key: two operators, one per side, and the node where they meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millstream.streams.dsl.graph import GraphNode, StreamGraph
from millstream.streams.dsl.materialize import AnyMaterialized, key_value_store
from millstream.streams.dsl.table_definitions import JoinDefinition, store_names
from millstream.streams.topology import TopologyWriter
from millstream.streams.topology.functions import check_arity
from millstream.streams.topology.nodes import ProcessorNode
from millstream.streams.topology.operators import TableJoin, UserFunction

if TYPE_CHECKING:
    from millstream.streams.dsl.table import KTable


@dataclass(eq=False, slots=True)
class TableJoinGraphNode(GraphNode):
    """The two sides and their meeting, named after the latter."""

    definition: JoinDefinition | None = None
    side_names: tuple[str, str] = ("", "")
    side_parents: tuple[str, str] = ("", "")
    copartitioned: frozenset[str] = frozenset()

    def write(self, topology: TopologyWriter) -> None:
        definition = self.definition
        assert definition is not None, "a join node is built with its definition"
        sides = [definition.side(left=True), definition.side(left=False)]
        for name, parent, side in zip(self.side_names, self.side_parents, sides, strict=True):
            topology.add_processor(ProcessorNode(name, side, (parent,)))
        topology.add_processor(ProcessorNode(self.name, definition.operator(), self.side_names))
        for name, side in zip(self.side_names, sides, strict=True):
            assert isinstance(side, TableJoin), "each side reads the other"
            topology.connect(name, store_names(side.view))
        for store in definition.stores():
            topology.add_store(store, (self.name,))
        topology.copartition(self.copartitioned)


@dataclass(frozen=True, slots=True)
class TableJoinOptions:
    """The arguments of join, left_join and outer_join. `kinds`: left and right rows that need no partner."""

    method: str
    joiner: UserFunction
    kinds: tuple[bool, bool]
    name: str | None
    materialized: AnyMaterialized | None


def join_tables(
    graph: StreamGraph,
    left: tuple[KTable[Any, Any], GraphNode],  # Any: checked by the calling method's signature
    right: tuple[KTable[Any, Any], GraphNode],  # Any: the same
    options: TableJoinOptions,
    make: Callable[..., KTable[Any, Any]],  # Any: the same
) -> KTable[Any, Any]:  # Any: the same
    """Join two tables; `make` is the constructor of KTable."""
    check_arity(options.method, "joiner", options.joiner, "left", "right")
    (left_table, left_node), (right_table, right_node) = left, right
    spec, key, value = None, left_table.key, None
    if options.materialized is not None:
        request = key_value_store(graph, options.materialized, "KTABLE-MERGE-", key, None)
        spec, key, value = request.spec, request.spec.key, request.spec.value
    names = graph.names
    name = names.name_or_generate(options.name, "KTABLE-MERGE-")
    side_names = (
        names.suffixed_or_generate(options.name, "-join-this", "KTABLE-JOINTHIS-"),
        names.suffixed_or_generate(options.name, "-join-other", "KTABLE-JOINOTHER-"),
    )
    sides = (left_table.definition, right_table.definition)
    definition = JoinDefinition(sides, options.joiner, options.kinds, spec)
    definition.side(left=True)  # both sides are read from now on, so both keep their rows
    definition.side(left=False)
    sources = left_table.sources | right_table.sources
    node = TableJoinGraphNode(
        name,
        definition=definition,
        side_names=side_names,
        side_parents=(left_node.name, right_node.name),
        copartitioned=sources,
    )
    graph.add(node, left_node, right_node)
    return make(graph, node, definition, key=key, value=value, sources=sources)
