"""A runner of tests: topics with several partitions and a task for each, in memory, without threads or time.

Records go where murmur2 of their partition key says, unless the topology's own partitioner decided.
"""

from __future__ import annotations

from collections import defaultdict

from millstream.clients.producer.core.murmur2 import murmur2
from millstream.streams import StreamsConfig, Topology
from millstream.streams.kernel import RawBatch, SinkBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores
from millstream.streams.state.store import StateStore
from millstream.streams.topology import SubTopology
from millstream.streams.topology.partition_counts import partition_counts

Row = tuple[bytes | None, bytes | None, int]


class PartitionedRun:
    def __init__(self, topology: Topology, partitions: dict[str, int]) -> None:
        self.counts = partitions | partition_counts(topology, "app", partitions)
        self.logs: dict[str, list[list[Row]]] = {
            topic: [[] for _ in range(count)] for topic, count in self.counts.items()
        }
        config = StreamsConfig("app", string(), string(), partition_count=self.counts.__getitem__)
        self._tasks: list[tuple[StreamTask, int]] = []
        self._globals: list[StreamTask] = []
        stores: dict[str, StateStore] = {}
        for group in topology.sub_topologies:
            if group.is_global:
                task = StreamTask(topology, group, 0, in_memory_stores(), config)
                self._globals.append(task)
                stores.update(task.stores)
        for group in topology.sub_topologies:
            for partition in range(0 if group.is_global else self._tasks_of(topology, group)):
                task = StreamTask(
                    topology, group, partition, in_memory_stores(), config, global_stores=stores
                )
                self._tasks.append((task, partition))
        self._read: dict[tuple[int, str, int], int] = defaultdict(int)

    def _tasks_of(self, topology: Topology, group: SubTopology) -> int:
        return max(self.counts[topic] for topic in topology.source_topics(group, "app"))

    def pipe(
        self,
        topic: str,
        key: str | None,
        value: str | None,
        at: int,
        partition: int | None = None,
    ) -> None:
        data = None if key is None else key.encode()
        self._append(topic, partition, data, (data, None if value is None else value.encode(), at))
        self.run()

    def run(self) -> None:
        """Until no task has anything to read."""
        progress = True
        while progress:
            progress = False
            for task in self._globals:
                for topic in task.source_topics:
                    for partition in range(self.counts[topic]):
                        progress |= self._feed(task, topic, partition)
            for task, partition in self._tasks:
                for topic in task.source_topics:
                    if partition < self.counts[topic]:
                        progress |= self._feed(task, topic, partition)

    def latest(self, topic: str) -> dict[bytes | None, bytes]:
        """The table in a topic: the last value of each key."""
        table = {key: value for log in self.logs[topic] for key, value, _ in log}
        return {key: value for key, value in table.items() if value is not None}

    def partitions_of(self, topic: str) -> dict[bytes | None, set[int]]:
        """Where the records of each key went."""
        found: dict[bytes | None, set[int]] = defaultdict(set)
        for partition, log in enumerate(self.logs[topic]):
            for key, _, _ in log:
                found[key].add(partition)
        return dict(found)

    def _feed(self, task: StreamTask, topic: str, partition: int) -> bool:
        log, place = self.logs[topic][partition], (id(task), topic, partition)
        first = self._read[place]
        if first == len(log):
            return False
        self._read[place] = len(log)
        keys, values, timestamps = zip(*log[first:], strict=True)
        offsets = range(first, len(log))
        task.add(topic, RawBatch(list(keys), list(values), list(timestamps), offsets))
        for batch in (
            *task.process(0).sinks.values(),
            *task.prepare_commit().output.sinks.values(),
        ):
            self._write(batch)
        task.commit()
        return True

    def _write(self, batch: SinkBatch) -> None:
        for row, key in enumerate(batch.keys):
            partition = None if batch.partitions is None else batch.partitions[row]
            partition_key = None if batch.partition_keys is None else batch.partition_keys[row]
            self._append(
                batch.topic,
                partition,
                key if partition_key is None else partition_key,
                (key, batch.values[row], batch.timestamps[row]),
            )

    def _append(
        self, topic: str, partition: int | None, partition_key: bytes | None, row: Row
    ) -> None:
        if partition is None:
            hashed = 0 if partition_key is None else murmur2(partition_key) & 0x7FFFFFFF
            partition = hashed % self.counts[topic]
        self.logs[topic][partition].append(row)
