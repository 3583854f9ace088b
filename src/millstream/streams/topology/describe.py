"""The text of `Topology.describe()`, byte for byte that of Kafka Streams."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.streams.topology.java_order import TreeSet, copy_order, hash_order
from millstream.streams.topology.nodes import Node, ProcessorNode, SourceNode, parents_of
from millstream.streams.topology.topology import SubTopology, Topology


def _compare(one: _Described, other: _Described) -> int:
    """Larger sub-trees first, then by name."""
    if one is other:
        return 0
    if one.size != other.size:
        return other.size - one.size
    return -1 if one.node.name < other.node.name else 1


@dataclass(eq=False)
class _Described:
    """A node with its neighbours and the number of rows below it; the size grows while nodes are connected."""

    node: Node
    size: int = 1
    parents: TreeSet[_Described] = field(default_factory=lambda: TreeSet(_compare))
    children: TreeSet[_Described] = field(default_factory=lambda: TreeSet(_compare))

    def grow(self, by: int) -> None:
        self.size += by
        for parent in self.parents:
            parent.grow(by)


def describe(topology: Topology) -> str:
    """Sub-topologies and global stores in the order of their ids."""
    parts = ["Topologies:\n "]
    for group in topology.sub_topologies:
        title = " for global store (will not generate tasks)" if group.is_global else ""
        body = "".join(f"    {_text(each)}\n" for each in _connected(topology, group))
        parts.append(
            f"  Sub-topology: {group.id}{title}\n{body}{'' if group.is_global else chr(10)}"
        )
    return "".join(parts)


def _connected(topology: Topology, group: SubTopology) -> TreeSet[_Described]:
    described = {
        name: _Described(topology.nodes[name]) for name in hash_order(hash_order(group.nodes))
    }
    for each in described.values():
        for name in parents_of(each.node):
            parent = described[name]
            each.parents.add(parent)
            parent.children.add(each)
            parent.grow(each.size)
    nodes: TreeSet[_Described] = TreeSet(_compare)
    for each in described.values():
        nodes.add(each)
    return nodes


def _names(nodes: TreeSet[_Described]) -> str:
    return ", ".join(each.node.name for each in nodes) or "none"


def _text(each: _Described) -> str:
    node = each.node
    below = f"\n      --> {_names(each.children)}"
    above = f"\n      <-- {_names(each.parents)}"
    if isinstance(node, SourceNode):
        topics = node.pattern or f"[{', '.join(copy_order(node.topics))}]"
        return f"Source: {node.name} (topics: {topics}){below}"
    if isinstance(node, ProcessorNode):
        return (
            f"Processor: {node.name} (stores: [{', '.join(copy_order(node.stores))}]){below}{above}"
        )
    if isinstance(node.topic, str):
        return f"Sink: {node.name} (topic: {node.topic}){above}"
    return f"Sink: {node.name} (extractor class: {node.topic}){above}"
