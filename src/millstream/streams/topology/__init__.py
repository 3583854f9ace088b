"""The topology: frozen data that says which nodes there are, how they hang together and what they store."""

from __future__ import annotations

from millstream.streams.topology.builder import TopologyBuilder
from millstream.streams.topology.nodes import ProcessorNode, SinkNode, SourceNode
from millstream.streams.topology.stores import StoreKind, StoreSpec
from millstream.streams.topology.topology import SubTopology, Topology
from millstream.streams.topology.writer import TopologyWriter

__all__ = [
    "ProcessorNode",
    "SinkNode",
    "SourceNode",
    "StoreKind",
    "StoreSpec",
    "SubTopology",
    "Topology",
    "TopologyBuilder",
    "TopologyWriter",
]
