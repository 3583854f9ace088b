"""Metrics of a task, with Kafka Streams' names, groups and tags.

What needs a clock is measured by that of the calls of `process`, as in Kafka Streams, where it stands still
for a round. A task counts what passes once for a run of records, not for each. Tasks that fill global stores
count what they process and drop. The guide's page on processors lists what of Kafka Streams' is not there,
and why; `thread-id` is the runner's tag as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final

from millstream.streams.kernel.context import TaskParts
from millstream.streams.kernel.counts import TaskCounts
from millstream.streams.kernel.task.queues import RecordQueue
from millstream.streams.kernel.task.state import TaskState
from millstream.streams.kernel.task.traversal import RunningNode
from millstream.streams.metrics import MetricName, RecordingLevel, Sensor, Statistic, metric_name
from millstream.streams.topology.nodes import SinkNode, SourceNode
from millstream.streams.topology.stores import StoreKind, StoreSpec

PROCESS = "process"
PUNCTUATE = "punctuate"
ENFORCED_PROCESSING = "enforced-processing"
_OF_TASKS = (PROCESS, PUNCTUATE, ENFORCED_PROCESSING)
_OF_GLOBAL_TASKS = (PROCESS,)
_TASK, _NODE = "stream-task-metrics", "stream-processor-node-metrics"
_TOPIC, _STATE = "stream-topic-metrics", "stream-state-metrics"
_DATABASE_EVERY_MS: Final = 10_000
"""So often RocksDB is asked for its properties: reports come with every commit, and each property is a call."""
_ALL_STORES: Final = "all"
"""The id of a task's one database, which holds all of its persistent stores."""
_TAGS_IN_MEMORY: Final = {
    StoreKind.KEY_VALUE: "in-memory-state-id",
    StoreKind.TIMESTAMPED_KEY_VALUE: "in-memory-state-id",
    StoreKind.WINDOW: "in-memory-window-state-id",
    StoreKind.TIMESTAMPED_WINDOW: "in-memory-window-state-id",
    StoreKind.SESSION: "in-memory-session-state-id",
}


class TaskMetrics:
    """The metrics of one task. `nodes` are all of it; those at its ends measure how old records are that pass."""

    def __init__(
        self,
        parts: TaskParts,
        nodes: Collection[RunningNode],
        queues: Mapping[str, RecordQueue],
        state: TaskState,
    ) -> None:
        """`queues` by topic, those included that come while the task runs."""
        self._facts = facts = parts.facts
        self._current = parts.current
        self._counts = counts = parts.counts
        self._queues = queues
        self._state = state
        self._task = ("task-id", facts.task_id)
        self._latencies: list[tuple[Sensor, list[int]]] = []
        self._lateness: Sensor | None = None
        self._rates: dict[tuple[str, str], Sensor] | None = None
        """At DEBUG, by node and what it counts; `""` is the task."""
        self._rated = Counter[tuple[str, str]]()
        """What the rates have taken of the counts."""
        self._database: Mapping[str, int] = {}
        self._database_ms: int | None = None
        counts.dropped.rate = self._sensor(
            _TASK, "dropped-records", {"rate": Statistic.RATE_OF_SUM}, ()
        )
        if facts.is_global:
            return
        if facts.config.metrics_recording_level is RecordingLevel.DEBUG:
            statistics = {"avg": Statistic.AVG, "max": Statistic.MAX}
            self._lateness = self._sensor(_TASK, "record-lateness", statistics, ())
            self._rates = {each: self._rate_of(*each) for each in _rated(counts, nodes)}
        counts.sole_sinks = _sole_sinks(counts, nodes)
        for each in nodes:
            if not each.children or isinstance(each.plan.node, SourceNode):
                each.arrivals = []
                self._latencies.append((self._latency_of(each.name), each.arrivals))

    def record_lateness(self, timestamps: Iterable[int]) -> None:
        """Takes the timestamps of records that are to be processed.

        Lateness costs a call for each, so it is there on request alone.
        """
        if self._lateness is None:
            return
        newest = self._current.stream_time
        for timestamp in timestamps:
            newest = max(newest, timestamp)
            self._lateness.record(newest - timestamp)

    def record_round(self) -> None:
        """Takes how old the records are that have passed the ends of the task since this was last called, and at DEBUG
        how many have passed its nodes.
        """
        if self._rates is not None:
            self._record_rates(self._rates)
        now_ms = self._current.wall_clock_ms
        for sensor, arrivals in self._latencies:
            if arrivals:
                count = len(arrivals)
                total = now_ms * count - sum(arrivals)
                sensor.record_several(count, total, now_ms - max(arrivals), now_ms - min(arrivals))
                arrivals.clear()

    def values(self) -> dict[MetricName, float]:
        """Returns totals by Kafka Streams' names, of the task, its nodes, topics and stores, and what processors
        have added.
        """
        self.record_round()
        found = self._of_task() | self._of_nodes()
        if not self._facts.is_global:
            found |= self._of_topics() | self._of_stores()
        return {**found, **self._facts.metrics.metrics()}

    def _of_task(self) -> dict[MetricName, float]:
        is_global, counts = self._facts.is_global, self._counts
        counted = _OF_GLOBAL_TASKS if is_global else _OF_TASKS
        values = {f"{name}-total": counts.by_node["", name] for name in counted}
        values["dropped-records-total"] = counts.dropped.total
        if not is_global:
            values["restore-total"] = self._state.restored
            values["active-buffer-count"] = sum(map(len, self._queues.values()))
        return {_name(_TASK, name, self._task): float(value) for name, value in values.items()}

    def _of_nodes(self) -> dict[MetricName, float]:
        return {
            _name(_NODE, f"{name}-total", self._task, ("processor-node-id", node)): float(value)
            for (node, name), value in self._by_node().items()
            if node
        }

    def _by_node(self) -> Counter[tuple[str, str]]:
        """Returns all counts, those of sources included, which their queues know."""
        counts = Counter(self._counts.by_node)
        for queue in self._queues.values():
            counts[queue.reader.node, PROCESS] += queue.taken
        return counts

    def _record_rates(self, rates: Mapping[tuple[str, str], Sensor]) -> None:
        counts = self._by_node()
        for each, sensor in rates.items():
            if counts[each] > self._rated[each]:
                sensor.record(counts[each] - self._rated[each])
        self._rated = counts

    def _rate_of(self, node: str, name: str) -> Sensor:
        statistics, tags = {"rate": Statistic.RATE_OF_SUM}, (("processor-node-id", node),)
        if not node:
            return self._sensor(_TASK, name, statistics, ())
        return self._sensor(_NODE, name, statistics, tags)

    def _of_topics(self) -> dict[MetricName, float]:
        consumed: dict[tuple[str, str], tuple[int, int]] = {}
        for queue in self._queues.values():
            consumed[queue.reader.node, queue.reader.topic] = queue.taken, queue.taken_bytes
        counts = self._counts
        produced = {
            each: (records, counts.produced_bytes[each])
            for each, records in counts.produced.items()
        }
        found = {}
        for verb, topics in (("consumed", consumed), ("produced", produced)):
            for (node, topic), (records, size_bytes) in topics.items():
                tags = self._task, ("processor-node-id", node), ("topic", topic)
                found[_name(_TOPIC, f"records-{verb}-total", *tags)] = float(records)
                found[_name(_TOPIC, f"bytes-{verb}-total", *tags)] = float(size_bytes)
        return found

    def _of_stores(self) -> dict[MetricName, float]:
        found = {}
        for name, store in self._state.stores.items():
            tag, keys = _tag_in_memory(store.spec), store.rows.keys_in_memory
            if tag is not None and keys is not None:
                found[_name(_STATE, "num-keys", self._task, (tag, name))] = float(keys)
        now_ms = self._current.wall_clock_ms
        if self._database_ms is None or now_ms - self._database_ms >= _DATABASE_EVERY_MS:
            self._database, self._database_ms = self._state.database_properties(), now_ms
        tags = self._task, ("rocksdb-state-id", _ALL_STORES)
        return found | {
            _name(_STATE, name, *tags): float(value) for name, value in self._database.items()
        }

    def _latency_of(self, node: str) -> Sensor:
        statistics = {"avg": Statistic.AVG, "min": Statistic.MIN, "max": Statistic.MAX}
        return self._sensor(_NODE, "record-e2e-latency", statistics, (("processor-node-id", node),))

    def _sensor(
        self,
        group: str,
        name: str,
        statistics: Mapping[str, Statistic],
        tags: tuple[tuple[str, str], ...],
    ) -> Sensor:
        sensor = self._facts.metrics.add_sensor(" ".join((name, *(tag for _, tag in tags))))
        for ending, statistic in statistics.items():
            sensor.add(f"{name}-{ending}", group, statistic, dict((self._task, *tags)))
        return sensor


def _rated(counts: TaskCounts, nodes: Collection[RunningNode]) -> set[tuple[str, str]]:
    """Returns what has a rate, by node: what sources process and what operators count."""
    sources = {(each.name, PROCESS) for each in nodes if isinstance(each.plan.node, SourceNode)}
    return sources | {each for each in counts.by_node if each[0]} | {("", ENFORCED_PROCESSING)}


def _sole_sinks(counts: TaskCounts, nodes: Collection[RunningNode]) -> dict[str, str]:
    """Returns the sinks of the topics that one alone writes to; none where a sink chooses its topics."""
    sinks = [each.plan.node for each in nodes if isinstance(each.plan.node, SinkNode)]
    if not all(isinstance(each.topic, str) for each in sinks):
        return {}
    topics = Counter(topic for _, topic in counts.produced)
    return {topic: sink for sink, topic in counts.produced if topics[topic] == 1}


def _tag_in_memory(spec: StoreSpec) -> str | None:
    if spec.persistent:
        return None
    return "in-memory-lru-state-id" if spec.entries_max else _TAGS_IN_MEMORY.get(spec.kind)


@lru_cache(100_000)  # which every report asks for: of a thousand tasks a hundred each
def _name(group: str, name: str, *tags: tuple[str, str]) -> MetricName:
    return metric_name(group, name, dict(tags))
