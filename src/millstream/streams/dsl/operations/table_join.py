"""KTable joined with KTable on the same key: two operators, one per side, and the node where they meet."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.streams.dsl.graph.nodes import TableJoinGraphNode
from millstream.streams.dsl.graph.streams import GraphTable
from millstream.streams.dsl.graph.table_definitions import JoinDefinition
from millstream.streams.dsl.operations.materialize import AnyMaterialized, key_value_store
from millstream.streams.topology.functions import check_arity
from millstream.streams.topology.operators import UserFunction


@dataclass(frozen=True, slots=True)
class EqualKeyJoinOptions:
    """The arguments of a table's join, left_join and outer_join.

    `kinds`: whether left and right rows need no partner.
    """

    method: str
    joiner: UserFunction
    kinds: tuple[bool, bool]
    name: str | None
    materialized: AnyMaterialized | None


def join_tables(left: GraphTable, right: GraphTable, options: EqualKeyJoinOptions) -> GraphTable:
    """Join two tables."""
    graph = left.graph
    graph.check_same(options.method, "table", right.graph)
    check_arity(options.method, "joiner", options.joiner, "left", "right")
    spec, key, value = None, left.key, None
    if options.materialized is not None:
        request = key_value_store(graph, options.materialized, "KTABLE-MERGE-", key, None)
        spec, key, value = request.spec, request.spec.key, request.spec.value
    names = graph.names
    name = names.name_or_generate(options.name, "KTABLE-MERGE-")
    side_names = (
        names.suffixed_or_generate(options.name, "-join-this", "KTABLE-JOINTHIS-"),
        names.suffixed_or_generate(options.name, "-join-other", "KTABLE-JOINOTHER-"),
    )
    sides = (left.definition, right.definition)
    definition = JoinDefinition(sides, options.joiner, options.kinds, spec)
    definition.side(left=True)  # both sides are read from now on, so both keep their rows
    definition.side(left=False)
    sources = left.sources | right.sources
    node = TableJoinGraphNode(
        name,
        definition=definition,
        side_names=side_names,
        side_parents=(left.name, right.name),
        copartitioned=sources,
    )
    graph.add(node, left.node, right.node)
    return GraphTable(graph, node, definition, key, value, sources)
