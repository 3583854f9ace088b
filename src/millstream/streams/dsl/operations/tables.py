"""Tables of streams, streams of tables, and operators of tables that make new rows of each."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.streams.dsl.graph.nodes import ProcessorGraphNode
from millstream.streams.dsl.graph.streams import AnySerde, GraphStream, GraphTable
from millstream.streams.dsl.graph.table_definitions import (
    FilterDefinition,
    MapValuesDefinition,
    SourceDefinition,
    TableDefinition,
    TransformValuesDefinition,
)
from millstream.streams.dsl.operations.materialize import AnyMaterialized, key_value_store
from millstream.streams.dsl.operations.stateless import select_key
from millstream.streams.options import Materialized
from millstream.streams.topology import StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity, check_supplier, names_of_stores


def stream_to_table(
    stream: GraphStream, name: str | None, materialized: AnyMaterialized | None
) -> GraphTable:
    """Returns the table of a stream, behind a repartition topic where the key was changed."""
    graph = stream.graph
    table_name = graph.names.name_or_generate(name, "KSTREAM-TOTABLE-")
    request = key_value_store(graph, materialized, "KSTREAM-TOTABLE-", stream.key, stream.value)
    spec = request.spec
    if stream.repartition_required:
        stream = stream.repartitioned(
            table_name, key=spec.key, value=spec.value, is_named=name is not None
        )
    definition = SourceDefinition(spec, materialized=request.queryable)
    node = ProcessorGraphNode(table_name, operator=definition.operator, stores=definition.stores)
    graph.add(node, stream.node)
    return GraphTable(graph, node, definition, spec.key, spec.value, stream.sources)


def table_to_stream(
    table: GraphTable, mapper: ops.UserFunction | None, name: str | None
) -> GraphStream:
    """Returns the changes of a table, with new keys where there is a mapper."""
    if mapper is not None:
        check_arity("to_stream", "mapper", mapper, "key", "value")
    node_name = table.graph.names.name_or_generate(name, "KTABLE-TOSTREAM-")
    node = ProcessorGraphNode(node_name, operator=ops.TableToStream)
    table.graph.add(node, table.node)
    stream = GraphStream(table.graph, node, table.key, table.value, table.sources)
    return stream if mapper is None else select_key(stream, mapper)


def filter_rows(
    table: GraphTable,
    method: str,
    predicate: ops.UserFunction,
    name: str | None,
    materialized: AnyMaterialized | None,
    *,
    negate: bool,
) -> GraphTable:
    """Keep the rows for which the predicate holds, or with `negate` the others."""
    check_arity(method, "predicate", predicate, "key", "value")
    prefix = "KTABLE-FILTER-"
    spec, key, value = _store(table, prefix, materialized, table.value)
    definition = FilterDefinition(
        table.definition, predicate, spec, negate=negate, is_view=materialized is None
    )
    return _add(table, name, prefix, definition, (key, value))


def map_values(
    table: GraphTable,
    mapper: ops.UserFunction,
    name: str | None,
    materialized: AnyMaterialized | None,
    *,
    with_key: bool,
) -> GraphTable:
    """Give each row a new value."""
    check_arity("map_values", "mapper", mapper, *(("key", "value") if with_key else ("value",)))
    prefix = "KTABLE-MAPVALUES-"
    spec, key, value = _store(table, prefix, materialized, None)
    definition = MapValuesDefinition(
        table.definition, mapper, spec, with_key=with_key, is_view=materialized is None
    )
    return _add(table, name, prefix, definition, (key, value))


def transform_values(
    table: GraphTable,
    supplier: ops.UserFunction,
    stores: Iterable[str],
    name: str | None,
    materialized: AnyMaterialized | None,
) -> GraphTable:
    """Give each row the new value that a user's transformer makes."""
    check_supplier("transform_values", supplier, "transform", "key", "value")
    connected = names_of_stores("transform_values", stores)
    prefix = "KTABLE-TRANSFORMVALUES-"
    spec, key, value = None, table.key, None
    if isinstance(materialized, Materialized) and materialized.store_name is None:
        key, value = materialized.key or key, materialized.value  # takes no number here
    else:
        spec, key, value = _store(table, prefix, materialized, None)
    definition = TransformValuesDefinition(
        table.definition, supplier, spec, is_view=materialized is None
    )
    return _add(table, name, prefix, definition, (key, value), connected=connected)


def _store(
    table: GraphTable,
    prefix: str,
    materialized: AnyMaterialized | None,
    value: AnySerde | None,
) -> tuple[StoreSpec | None, AnySerde | None, AnySerde | None]:
    """The operator's store (only a named one exists) and the serdes of its result."""
    if materialized is None:
        return None, table.key, value
    request = key_value_store(table.graph, materialized, prefix, table.key, value)
    spec = request.spec
    if request.queryable:
        return spec, spec.key, spec.value
    del table.graph.unnamed[spec.name]  # it will never exist
    return None, spec.key, spec.value


def _add(
    table: GraphTable,
    name: str | None,
    prefix: str,
    definition: TableDefinition,
    serdes: tuple[AnySerde | None, AnySerde | None],
    *,
    connected: tuple[str, ...] = (),
) -> GraphTable:
    """Add the node of an operator; the new table comes from the same sources."""
    node = ProcessorGraphNode(
        table.graph.names.name_or_generate(name, prefix),
        operator=definition.operator,
        stores=definition.stores,
        connected=lambda: connected,
    )
    table.graph.add(node, table.node)
    return GraphTable(table.graph, node, definition, *serdes, table.sources)
