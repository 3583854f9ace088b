"""KTable.suppress: how long changes wait, and what happens when the buffer is full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from millstream.streams.arguments import check_fields
from millstream.streams.dsl.graph import GraphNode, ProcessorGraphNode, StreamGraph
from millstream.streams.dsl.table_definitions import SuppressDefinition, TableDefinition
from millstream.streams.errors import TopologyError
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.names import check_name
from millstream.streams.windows import to_ms


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Use `until_window_closes` or `until_time_limit`."""

    limit_ms: int | None
    max_records: int | None
    max_bytes: int | None
    emit_early: bool
    logging: bool | Mapping[str, str]
    name: str | None

    def __post_init__(self) -> None:
        check_fields(
            self,
            max_records=int | None,
            max_bytes=int | None,
            emit_early=bool,
            logging=bool | Mapping,
            name=str | None,
        )
        for what in ("limit_ms", "max_records", "max_bytes"):
            given: int | None = getattr(self, what)
            if given is not None and given < 0:
                raise ValueError(f"suppress: {what} must not be negative, it is {given}")

    @classmethod
    def until_window_closes(
        cls,
        *,
        max_records: int | None = None,
        max_bytes: int | None = None,
        logging: bool | Mapping[str, str] = True,
        name: str | None = None,
    ) -> Suppressed:
        """One final result per window. A full buffer stops the task, since results would not be final."""
        return cls(None, max_records, max_bytes, False, logging, name)

    @classmethod
    def until_time_limit(
        cls,
        limit: timedelta,
        *,
        max_records: int | None = None,
        max_bytes: int | None = None,
        emit_early: bool = True,
        logging: bool | Mapping[str, str] = True,
        name: str | None = None,
    ) -> Suppressed:
        """At most one result per key and time limit; a full buffer emits early or stops the task."""
        return cls(to_ms(limit), max_records, max_bytes, emit_early, logging, name)


def suppress_node(
    graph: StreamGraph,
    parent: tuple[GraphNode, TableDefinition],
    suppressed: Suppressed,
    serdes: tuple[Serde[Any] | None, Serde[Any] | None],  # Any: the table's types
) -> tuple[GraphNode, TableDefinition]:
    """Add the suppressing node below a table."""
    node, table = parent
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
    wait_ms = _grace_above(node, name) if limit_ms is None else limit_ms
    if table.history_ms is not None:
        raise TopologyError(
            f"{name} cannot hold back changes of a versioned table, whose rows have a history: suppress an aggregation of it"
        )
    spec = StoreSpec(
        store,
        StoreKind.SUPPRESSION_BUFFER,
        persistent=False,
        key=serdes[0],
        value=serdes[1],
        logging=suppressed.logging is not False,
        log_config={} if isinstance(suppressed.logging, bool) else dict(suppressed.logging),
    )
    definition = SuppressDefinition(
        table,
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
    graph.add(made, node)
    return made, definition


def _grace_above(node: GraphNode, name: str) -> int:
    """How long after their end the windows above stay open."""
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
