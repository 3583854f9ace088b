"""The three kinds of node: sources, processors, sinks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from millstream.streams.options import OffsetReset, Partitioner, TopicExtractor
from millstream.streams.serdes.serde import Serde
from millstream.streams.timestamps import TimestampExtractor
from millstream.streams.topology.operators import OperatorSpec


class ValueForm(Enum):
    """The form that the library gives values in topics of its own; the serde is that of what is inside."""

    PLAIN = "plain"
    CHANGE = "change"
    """Old and new value of a table's row together."""
    SUBSCRIPTION = "subscription"
    """Of a left row of a foreign-key join; inside is the row's key."""
    RESPONSE = "response"
    """To a left row of a foreign-key join; inside is a value of the right table."""


@dataclass(frozen=True, slots=True)
class SourceNode:
    """Reads topics, or every topic that a pattern matches. None means the application's default."""

    name: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    key: Serde[Any] | None = None  # Any: a source of any type
    value: Serde[Any] | None = None  # Any: a source of any type
    timestamps: TimestampExtractor | None = None
    reset: OffsetReset | timedelta | None = None
    form: ValueForm = ValueForm.PLAIN


@dataclass(frozen=True, slots=True)
class ProcessorNode:
    """Does something with the rows of its parents; `stores` are those it may use."""

    name: str
    operator: OperatorSpec
    parents: tuple[str, ...]
    stores: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SinkNode:
    """Writes to a topic, or to the topic that the extractor names for each row."""

    name: str
    parents: tuple[str, ...]
    topic: str | TopicExtractor[Any, Any]  # Any: a sink of any type
    key: Serde[Any] | None = None  # Any: a sink of any type
    value: Serde[Any] | None = None  # Any: a sink of any type
    partitioner: Partitioner[Any, Any] | None = None  # Any: a sink of any type
    form: ValueForm = ValueForm.PLAIN


Node = SourceNode | ProcessorNode | SinkNode


def parents_of(node: Node) -> tuple[str, ...]:
    """Returns the names of the nodes whose rows this one gets."""
    return () if isinstance(node, SourceNode) else node.parents
