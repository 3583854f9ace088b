"""The topics that an application reads, by name and by pattern: what its members subscribe to, and what a
task of theirs reads. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from millstream.streams.errors import TopologyError
from millstream.streams.topology.plan import internal_names
from millstream.streams.topology.topology import Topology, source_matching


class SourceTopics:
    """The source topics of one application. Global stores have none: no task reads for them."""

    def __init__(self, topology: Topology, application_id: str) -> None:
        self._topology = topology
        self._application_id = application_id
        self._internal = frozenset(internal_names(topology, application_id))
        self.named = frozenset(
            topic
            for group in topology.sub_topologies
            if not group.is_global
            for topic in topology.source_topics(group, application_id)
        )
        """The topics that sources name, repartition topics included."""
        self.external = self.named - {
            f"{application_id}-{topic}" for topic in topology.internal_topics
        }
        """Those that the application does not make itself."""

    @property
    def has_patterns(self) -> bool:
        return bool(self._topology.patterns)

    def matched(self, existing: Iterable[str]) -> frozenset[str]:
        """Returns the topics that patterns match. Raises TopologyError for a topic that two of them match."""
        patterns = self._topology.patterns
        others = sorted(set(existing) - self._internal) if patterns else ()
        return frozenset(topic for topic in others if source_matching(patterns, topic) is not None)

    def subscription(self, existing: Iterable[str]) -> frozenset[str]:
        """Returns what a member subscribes to: all names, and with patterns only what exists, as in Kafka Streams.

        Raises TopologyError as `matched` does.
        """
        if not self.has_patterns:
            return self.named
        there = frozenset(existing)
        return self.named & there | self.matched(there)

    def of_task(self, sub_topology: int, assigned: Iterable[str]) -> tuple[str, ...]:
        """Returns the topics that a task was given, in the order of its sources.

        Raises TopologyError for one that no source of the task reads: whoever has assigned it runs another topology.
        """
        topics = frozenset(assigned)
        topology = self._topology.with_pattern_topics(self.matched(topics))
        groups = topology.sub_topologies
        known = (
            topology.source_topics(groups[sub_topology], self._application_id)
            if sub_topology < len(groups)
            else ()
        )
        unread = sorted(topics.difference(known))
        if unread:
            raise TopologyError(
                f"topic {unread[0]} was assigned to a task of sub-topology {sub_topology}, and no source of it reads that topic: the "
                "instances of the application have different topologies, or a pattern that means something else in Java than in Python"
            )
        return tuple(topic for topic in dict.fromkeys(known) if topic in topics)
