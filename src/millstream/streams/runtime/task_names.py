"""The name of a sub-topology that outlives an upgrade, and the names of its tasks on disks and at brokers. Pure.

Kafka Streams numbers sub-topologies in the order of their first nodes, so the numbers shift when a stream is added in
front. A topic is read by one sub-topology only, and stays its topic. ADR 14 says what an upgrade may change.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from millstream.streams.topology.nodes import SourceNode
from millstream.streams.topology.topology import SubTopology, Topology

LENGTH_MAX: Final = 200
"""A name of a file has 255 bytes; a partition and a suffix follow."""
_DIGEST_CHARS: Final = 16
_NOT_IN_TOPICS: Final = "~"
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9._-]+")


def sub_topology_name(topology: Topology, group: SubTopology, application_id: str) -> str:
    """Returns the first of its source topics by name; those of the user go before repartition
    topics, and topics before patterns.

    No other sub-topology of the application has the same. It is fit for a name of a file, and has no `@`.
    """
    nodes = [topology.nodes[name] for name in group.nodes]
    sources = [node for node in nodes if isinstance(node, SourceNode)]
    topics = {topic for node in sources if node.pattern is None for topic in node.topics}
    named = topics - topology.internal_topics.keys() or topics
    if named:
        return _shortened(topology.decorated(min(named), application_id))
    return _with_digest(min(node.pattern for node in sources if node.pattern is not None))


def task_name(name: str, partition: int) -> str:
    """Returns the name of a task's directory."""
    return f"{name}_{partition}"


def transactional_id(application_id: str, name: str, partition: int) -> str:
    """Returns the transactional id of a task. The id of another application never begins with this one's and `@`."""
    return f"{application_id}@{task_name(name, partition)}"


def _shortened(topic: str) -> str:
    return topic if len(topic) <= LENGTH_MAX else _with_digest(topic)


def _with_digest(text: str) -> str:
    """Returns as much of a text as a name takes, and a digest of all of it. No topic has such a name."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
    legible = _ILLEGAL.sub("", text)[: LENGTH_MAX - _DIGEST_CHARS - len(_NOT_IN_TOPICS)]
    return f"{legible}{_NOT_IN_TOPICS}{digest}"
