"""GlobalKTable: a table that every instance holds whole, and stores filled from a topic by the user's processor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from millstream.streams.dsl.graph import GraphNode
from millstream.streams.processor import ProcessorSupplier
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology import SourceNode, StoreSpec, TopologyWriter
from millstream.streams.topology.nodes import ProcessorNode
from millstream.streams.topology.operators import OperatorSpec, Process, TableSource

K = TypeVar("K")
V = TypeVar("V")


@dataclass(eq=False, slots=True)
class StoreGraphNode(GraphNode):
    """A store that processors are connected with by name."""

    store: StoreSpec | None = None

    def write(self, topology: TopologyWriter) -> None:
        assert self.store is not None, "a store node is built with its store"
        topology.add_store(self.store)


@dataclass(eq=False, slots=True)
class GlobalStoreGraphNode(GraphNode):
    """A source, the processor that fills the store, and the store; named after the processor."""

    source: SourceNode | None = None
    store: StoreSpec | None = None
    operator: OperatorSpec | None = None

    def write(self, topology: TopologyWriter) -> None:
        assert self.source is not None, "a global store is built with its source"
        assert self.store is not None, "a global store is built with its store"
        assert self.operator is not None, "a global store is built with its operator"
        processor = ProcessorNode(self.name, self.operator, (self.source.name,))
        topology.add_global_store(self.store, self.source, processor)


class GlobalKTable(Generic[K, V]):
    """A table that is read by any key from any task."""

    __slots__ = ("key", "queryable_store_name", "store", "value")

    def __init__(
        self,
        store: str,
        *,
        key: Serde[K] | None,
        value: Serde[V] | None,
        queryable_store_name: str | None = None,
    ) -> None:
        self.store = store
        self.queryable_store_name = queryable_store_name
        """The store's name if the user gave it, for queries."""
        self.key = key
        self.value = value

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in store {self.store}>"


def global_table_node(name: str, source: SourceNode, store: StoreSpec) -> GlobalStoreGraphNode:
    """The node of a global table; its topic is its changelog."""
    operator = TableSource(store.name)
    return GlobalStoreGraphNode(
        name, source=source, store=replace(store, logging=False), operator=operator
    )


def global_store_node(
    name: str, source: SourceNode, store: StoreSpec, supplier: ProcessorSupplier
) -> GlobalStoreGraphNode:
    """The node of a global store that the user's processor fills."""
    operator = Process(supplier)
    return GlobalStoreGraphNode(
        name, source=source, store=replace(store, logging=False), operator=operator
    )


AnyGlobalTable = GlobalKTable[Any, Any]  # Any: joins take global tables of any type
