"""Finds the repartition topics whose records go on in the order of their origin time (ADR 0021). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from millstream.streams.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class AlignedTopics:
    """The aligned topics of one sub-topology: those that its tasks read, and those that they write.

    `followed`: all topics that they write and whose readers must know how far they have come, those of cycles included.
    """

    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    followed: frozenset[str] = frozenset()


NOTHING_ALIGNED: Final = AlignedTopics()


@dataclass(frozen=True, slots=True)
class Alignment:
    """`writers`: by aligned topic, the sub-topology that writes it.

    `read`: by sub-topology, the aligned topics that it reads.

    `circular`: by topic of a cycle, which is not aligned, the sub-topology that writes it.
    """

    writers: Mapping[str, int] = field(default_factory=dict)
    read: Mapping[int, frozenset[str]] = field(default_factory=dict)
    circular: Mapping[str, int] = field(default_factory=dict)

    def of(self, sub_topology: int) -> AlignedTopics:
        """Returns those of one sub-topology."""
        written = {topic for topic, writer in self.writers.items() if writer == sub_topology}
        circular = {topic for topic, writer in self.circular.items() if writer == sub_topology}
        return AlignedTopics(
            self.read.get(sub_topology, frozenset()),
            frozenset(written),
            frozenset(written | circular if self.writers else ()),
        )

    def upstream_of(self, sub_topology: int) -> frozenset[int]:
        """Returns the sub-topologies whose records come to this one, through however many aligned topics."""
        found: set[int] = set()
        left = [sub_topology]
        while left:
            writers = {self.writers[topic] for topic in self.read.get(left.pop(), frozenset())}
            left += writers - found
            found |= writers
        return frozenset(found)


def aligned_topics(topology: Topology, application_id: str) -> Alignment:
    """Returns the internal topics that one sub-topology writes and another one reads.

    Those of a cycle are left out, as the subscriptions and answers of a join on a foreign key: their tasks
    would wait for each other.
    """
    groups = [group for group in topology.sub_topologies if not group.is_global]
    topics = {group.id: topology.topics_of(group, application_id) for group in groups}
    readers = {name: number for number, mine in topics.items() for name in mine.repartition}
    writers = {
        name: number for number, mine in topics.items() for name in mine.sinks if name in readers
    }
    downstream: dict[int, set[int]] = {number: set() for number in topics}
    for name, writer in writers.items():
        downstream[writer].add(readers[name])
    aligned = {
        name: writer
        for name, writer in writers.items()
        if not _reaches(downstream, readers[name], writer)
    }
    read: dict[int, set[str]] = {}
    for name in aligned:
        read.setdefault(readers[name], set()).add(name)
    return Alignment(
        aligned,
        {number: frozenset(names) for number, names in read.items()},
        {name: writer for name, writer in writers.items() if name not in aligned},
    )


def _reaches(downstream: Mapping[int, set[int]], start: int, goal: int) -> bool:
    seen: set[int] = set()
    left = [start]
    while left:
        number = left.pop()
        if number == goal:
            return True
        if number not in seen:
            seen.add(number)
            left += downstream[number]
    return False
