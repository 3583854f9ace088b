"""KTable.suppress: how long changes wait, and what happens when the buffer is full."""

from __future__ import annotations

from millstream.streams.dsl.graph.nodes import GraphNode, ProcessorGraphNode
from millstream.streams.dsl.graph.streams import GraphTable
from millstream.streams.dsl.graph.table_definitions import SuppressDefinition
from millstream.streams.errors import TopologyError
from millstream.streams.options import Suppressed
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.names import check_name


def suppress(table: GraphTable, suppressed: Suppressed) -> GraphTable:
    """Add the suppressing node below a table."""
    graph = table.graph
    names = graph.names
    given = suppressed.name  # takes no number, unlike most
    name = names.processor_name("KTABLE-SUPPRESS-") if given is None else check_name(given)
    store = (
        names.store_name("KTABLE-SUPPRESS-")
        if suppressed.name is None
        else f"{suppressed.name}-store"
    )
    if given is None and suppressed.logging is not False:
        graph.unnamed[store] = None
    limit_ms = suppressed.limit_ms
    wait_ms = _grace_above(table.node, name) if limit_ms is None else limit_ms
    if table.definition.history_ms is not None:
        raise TopologyError(
            f"{name} cannot hold back changes of a versioned table, whose rows have a history: suppress an aggregation of it"
        )
    spec = StoreSpec(
        store,
        StoreKind.SUPPRESSION_BUFFER,
        persistent=False,
        key=table.key,
        value=table.value,
        logging=suppressed.logging is not False,
        log_config={} if isinstance(suppressed.logging, bool) else dict(suppressed.logging),
    )
    definition = SuppressDefinition(
        table.definition,
        spec,
        lambda old: ops.Suppress(
            store,
            wait_ms,
            limit_ms is None,
            suppressed.max_records,
            suppressed.max_bytes,
            suppressed.emit_early,
            old,
        ),
    )
    made = ProcessorGraphNode(name, operator=definition.operator, stores=definition.stores)
    graph.add(made, table.node)
    sources = frozenset({table.name})  # as Kafka Streams, which copartitions nothing here
    return GraphTable(graph, made, definition, table.key, table.value, sources)


def _grace_above(node: GraphNode, name: str) -> int:
    """The grace period of the windows above."""
    waiting, found = [node], None
    while waiting:
        each = waiting.pop()
        if each.window_grace_ms is not None:
            found = max(found or 0, each.window_grace_ms)
        else:
            waiting.extend(each.parents)
    if found is None:
        raise TopologyError(
            f"{name} waits for windows to close, but the table above is not windowed: "
            "suppress until a time limit instead"
        )
    return found
