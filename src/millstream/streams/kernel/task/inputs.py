"""The topics that a task reads: those that its sources name, and those that their patterns match, whenever they come.

Owns the queue of each; how records get in and out of them is the queues' affair.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from millstream.streams.config import StreamsConfig
from millstream.streams.kernel.current_run import CurrentRun
from millstream.streams.kernel.resolved_serdes import source_serdes
from millstream.streams.kernel.task.failures import Failures
from millstream.streams.kernel.task.partition_group import AlignedGroup, PartitionGroup
from millstream.streams.kernel.task.queues import RecordQueue, SourceReader
from millstream.streams.kernel.task.upstreams import DoneBehind, UpstreamMerge
from millstream.streams.queries.result import Position
from millstream.streams.topology.alignment import NOTHING_ALIGNED, AlignedTopics
from millstream.streams.topology.nodes import SourceNode
from millstream.streams.topology.topology import Topology, source_matching


@dataclass(frozen=True, slots=True)
class TaskTopics:
    """The topics that have a partition for a task. `named`: of those that sources name, None where all have one.

    `matched`: topics that patterns may match; others are passed over.
    """

    named: Collection[str] | None = None
    matched: Iterable[str] = ()
    aligned: AlignedTopics = NOTHING_ALIGNED
    """Those whose records go on, or are to go on elsewhere, in the order of origin time."""
    by_arrival: bool = True
    """Whether among records of one time the topic goes first whose record came first, as in Kafka Streams."""


class Inputs:
    """`sources` are those of the task. Patterns of others are known, too: no topic may belong to two of them."""

    def __init__(
        self,
        sources: Iterable[SourceNode],
        topology: Topology,
        config: StreamsConfig,
        current: CurrentRun,
        failures: Failures,
        *,
        topics: TaskTopics,
    ) -> None:
        self._config = config
        self._current = current
        self._failures = failures
        self._sources = {source.name: source for source in sources}
        self._patterns = topology.patterns
        self._aligned = topics.aligned
        self.pattern_of_topic: dict[str, str] = {}
        """The pattern by which a topic is read, for topics that are read by one."""
        is_behind = bool(topics.aligned.read)
        self.group: PartitionGroup | AlignedGroup = (
            PartitionGroup({})
            if topics.by_arrival and not is_behind
            else AlignedGroup({}, by_origin=is_behind)
        )
        for source in self._sources.values():
            for topic in source.topics:
                name = topology.decorated(topic, config.application_id)
                if topics.named is None or name in topics.named:
                    self._read(source, name)
        for topic in topics.matched:
            self.maybe_read(topic)

    @property
    def queued(self) -> dict[str, int]:
        """By topic, how many records wait."""
        return {topic: len(queue) for topic, queue in self.group.queues.items()}

    @property
    def position(self) -> Position:
        """By topic and partition, the offset of the last record taken, for all stores of the task alike."""
        partition = self._current.partition
        return {topic: {partition: offset - 1} for topic, offset in self.next_offsets.items()}

    @property
    def next_offsets(self) -> dict[str, int]:
        """By topic, the offset after the last record taken, or of the first one that was not."""
        return {
            topic: queue.next_offset
            for topic, queue in self.group.queues.items()
            if queue.next_offset is not None
        }

    def upstreams_of(self, topic: str) -> UpstreamMerge:
        """Returns what keeps the records of an aligned topic in order."""
        upstreams = self.group.queues[topic].upstreams
        assert upstreams is not None, "asked for aligned topics only"
        return upstreams

    @property
    def waiting_for_upstreams(self) -> dict[str, int]:
        """By aligned topic, how many records wait for upstream tasks."""
        return {
            topic: queue.upstreams.waiting
            for topic, queue in self.group.queues.items()
            if queue.upstreams is not None
        }

    @property
    def held(self) -> dict[str, DoneBehind]:
        """By topic of which records behind its next offset are done, which ones."""
        found = {
            topic: queue.upstreams.position()
            for topic, queue in self.group.queues.items()
            if queue.upstreams is not None
        }
        return {topic: each[1] for topic, each in found.items() if each and each[1] is not None}

    def maybe_read(self, topic: str) -> bool:
        """Whether the topic is read, from now on at the latest. Raises TopologyError where two patterns match it."""
        if topic in self.group.queues:
            return True
        name = source_matching(self._patterns, topic)
        if name is None or name not in self._sources:
            return False
        self.pattern_of_topic[topic] = self._patterns[name]
        self._read(self._sources[name], topic)
        return True

    def _read(self, source: SourceNode, topic: str) -> None:
        key, value = source_serdes(source, self._config)
        timestamps = source.timestamps or self._config.default_timestamps
        reader = SourceReader(source.name, topic, key, value, timestamps)
        aligned = self._aligned
        self.group.queues[topic] = RecordQueue(
            reader,
            self._current,
            self._failures,
            upstreams=UpstreamMerge() if topic in aligned.read else None,
            knows_origins=bool(aligned.read or aligned.written),
            tells_newest=bool(aligned.read),
        )
