"""Global tables and stores: every instance fills them from a topic, by itself or by the user's processor."""

from __future__ import annotations

from dataclasses import replace

from millstream.streams.dsl.graph.nodes import GlobalStoreGraphNode
from millstream.streams.processor import ProcessorSupplier
from millstream.streams.topology import SourceNode, StoreSpec
from millstream.streams.topology.operators import Process, TableSource


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
