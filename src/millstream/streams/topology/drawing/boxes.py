"""The parts of a drawing: a box for every node with its words, its stores, and the arrows between boxes.

Owns words and sizes, not places (`layers`) and not drawing (`svg`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from millstream.streams.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode
from millstream.streams.topology.operators import (
    Branch,
    OperatorSpec,
    PassThrough,
    StoreView,
    StreamTableJoin,
)
from millstream.streams.topology.topology import SubTopology, Topology

_TITLE_SMALL: Final = 7.0
_TITLE_CAPITAL: Final = 9.0
_NAME_CHARACTER: Final = 6.1
"""Widths in pixels of characters in the two sizes of text, generously."""
PADDING: Final = 12.0
LINE_HEIGHT: Final = 15.0
STORE_HEIGHT: Final = 30.0
STORE_GAP: Final = 10.0
_CHARACTERS_MAX: Final = 38
_WIDTH_MIN: Final = 90.0
_WORDS: Final = re.compile(r"[A-Z][a-z]+")


class BoxKind(Enum):
    SOURCE = "source"
    PROCESSOR = "processor"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Store:
    """Drawn below the first node that uses it."""

    name: str

    @property
    def width(self) -> float:
        return len(shortened(self.name)) * _NAME_CHARACTER + 2 * PADDING


@dataclass(frozen=True, slots=True)
class Box:
    """A node. `title` says what it does, or which topic it reads or writes; `notes` are small lines below the name."""

    name: str
    kind: BoxKind
    title: str
    notes: tuple[str, ...] = ()
    stores: tuple[Store, ...] = ()
    is_read_again: bool = False
    """A sink whose topic another group reads: a link leaves it to the right."""

    @property
    def width(self) -> float:
        lines = [_title_width(shortened(self.title))]
        lines += [len(shortened(line)) * _NAME_CHARACTER for line in (self.name, *self.notes)]
        own = max(lines) + 2 * PADDING
        return max(own, _WIDTH_MIN, *(store.width for store in self.stores))

    @property
    def body_height(self) -> float:
        return (2 + len(self.notes)) * LINE_HEIGHT + PADDING

    @property
    def height(self) -> float:
        """The height with the stores below."""
        return self.body_height + len(self.stores) * (STORE_HEIGHT + STORE_GAP)


@dataclass(frozen=True, slots=True)
class SubtopologyBox:
    """A sub-topology: its boxes, arrows between them, and (node, store) pairs drawn as dashed lines."""

    id: int
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[tuple[str, str], ...]
    shared_stores: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """`links` go from a sink to a source of another group, by the topic between them."""

    groups: tuple[SubtopologyBox, ...]
    links: tuple[tuple[str, str], ...]


def scene_of(topology: Topology) -> Scene:
    groups = tuple(_group(topology, group) for group in topology.sub_topologies)
    sources = _read_topics(topology)
    links = tuple(
        (name, sources[node.topic])
        for name, node in topology.nodes.items()
        if isinstance(node, SinkNode) and isinstance(node.topic, str) and node.topic in sources
    )
    return Scene(groups, links)


def _read_topics(topology: Topology) -> dict[str, str]:
    """The source that reads each topic."""
    return {
        topic: name
        for name, node in topology.nodes.items()
        if isinstance(node, SourceNode)
        for topic in node.topics
    }


def shortened(text: str) -> str:
    """Long names keep their beginning and their end, which is where generated names differ."""
    if len(text) <= _CHARACTERS_MAX:
        return text
    kept = _CHARACTERS_MAX - 1
    return f"{text[: kept - 14]}…{text[-14:]}"


def _title_width(text: str) -> float:
    return sum(_TITLE_CAPITAL if each.isupper() else _TITLE_SMALL for each in text)


def _group(topology: Topology, group: SubTopology) -> SubtopologyBox:
    owners: dict[str, str] = {}
    shared = []
    for name in group.nodes:
        node = topology.nodes[name]
        for store in node.stores if isinstance(node, ProcessorNode) else ():
            if store in topology.global_stores and not group.is_global:
                continue
            if owners.setdefault(store, name) != name:
                shared.append((name, store))
    boxes = tuple(_box(topology, group, name, owners) for name in group.nodes)
    arrows = tuple(
        (name, child) for name in group.nodes for child in topology.children.get(name, ())
    )
    title = f"Sub-topology {group.id}"
    if group.is_global:
        title += ", a global store: in every instance"
    return SubtopologyBox(group.id, title, boxes, arrows, tuple(shared))


def _box(topology: Topology, group: SubTopology, name: str, owners: dict[str, str]) -> Box:
    node: Node = topology.nodes[name]
    if isinstance(node, SourceNode):
        return Box(name, BoxKind.SOURCE, node.pattern or ", ".join(node.topics))
    if isinstance(node, SinkNode):
        topic = node.topic if isinstance(node.topic, str) else "topic chosen by record"
        return Box(name, BoxKind.SINK, topic, is_read_again=topic in _read_topics(topology))
    looked_up = _looked_up(node.operator)
    remote = [
        store
        for store in dict.fromkeys((*node.stores, *looked_up))
        if store in topology.global_stores and not group.is_global
    ]
    stores = tuple(Store(store) for store, owner in owners.items() if owner == name)
    notes = tuple(f"reads {store}" for store in remote)
    return Box(name, BoxKind.PROCESSOR, _words(node), notes, stores)


def _looked_up(operator: OperatorSpec) -> tuple[str, ...]:
    """The store of the table that a stream is joined with."""
    if isinstance(operator, StreamTableJoin) and isinstance(operator.view, StoreView):
        return (operator.view.store,)
    return ()


def _words(node: ProcessorNode) -> str:
    """`StreamTableJoin` → "stream table join"; what only hands on is one branch of several, or a merge."""
    if isinstance(node.operator, PassThrough):
        return "merge" if len(node.parents) > 1 else "branch"
    if isinstance(node.operator, Branch):
        return "split"
    return " ".join(_WORDS.findall(type(node.operator).__name__)).lower()
