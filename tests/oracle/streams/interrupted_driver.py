"""Test drivers whose task is thrown away after every record and made again, as when a process ends.

`RestartedDriver` keeps the stores, as a clean stop does. `BereavedDriver` loses those that have a changelog and restores them
from it. Both resume the times of the topics, which are part of a commit; what operators know besides rows (stream times)
goes with the stores, or is handed on by `BereavedDriver`, since no changelog has it.
"""

from __future__ import annotations

from typing import Any

from millstream.streams import StreamsConfig, Topology
from millstream.streams.kernel import RawBatch, SinkBatch, StreamTask, TaskTopics
from millstream.streams.state.storage.byte_store import ByteStore, MemoryByteStore
from millstream.streams.state.storage.factory import MemoryTaskStores
from millstream.streams.topology import StoreSpec, SubTopology
from millstream.testing.streams.topology_test_driver import TopologyTestDriver


class KeptStores(MemoryTaskStores):
    """Rows in memory that outlive their task."""

    def __init__(self) -> None:
        self.rows: dict[str, ByteStore] = {}

    def open(self, spec: StoreSpec) -> ByteStore:
        if spec.name not in self.rows:
            self.rows[spec.name] = _Unclosed()
        return self.rows[spec.name]


class _Unclosed(MemoryByteStore):
    def close(self) -> None:
        """Its rows are opened again."""


class RestartedDriver(TopologyTestDriver):
    def __init__(self, topology: Topology, config: StreamsConfig, **options: Any) -> None:
        self._topology = topology
        self._kept: dict[str, KeptStores] = {}
        super().__init__(topology, config, stores=self._stores_of, **options)

    def _stores_of(self, task_id: str) -> KeptStores:
        return self._kept.setdefault(task_id, KeptStores())

    def _run(self) -> None:
        super()._run()
        old = self._task
        times = old.prepare_commit().partition_times
        old.close()
        self._task = self._again(old)
        self._task.resume(times)
        self._tasks = {t: self._task if task is old else task for t, task in self._tasks.items()}

    def _again(self, old: StreamTask) -> StreamTask:
        nodes = [
            name
            for group in self._topology.sub_topologies
            if not group.is_global
            for name in group.nodes
        ]
        stores = {name: store for task in self._global_tasks for name, store in task.stores.items()}
        return StreamTask(
            self._topology,
            SubTopology(0, tuple(nodes)),
            0,
            self._stores_of,
            self._config,
            topics=TaskTopics(matched=old.source_topics),
            global_stores=stores,
        )


class BereavedDriver(RestartedDriver):
    def __init__(self, topology: Topology, config: StreamsConfig, **options: Any) -> None:
        self._logs: dict[str, list[SinkBatch]] = {}
        super().__init__(topology, config, **options)

    def _note(self, batch: SinkBatch) -> None:
        super()._note(batch)
        self._logs.setdefault(batch.topic, []).append(batch)

    def _again(self, old: StreamTask) -> StreamTask:
        lost = {n: s.changelog.topic for n, s in old.stores.items() if s.changelog is not None}
        for kept in self._kept.values():
            kept.rows = {name: rows for name, rows in kept.rows.items() if name not in lost}
        task = super()._again(old)
        for topic in dict.fromkeys(lost.values()):
            for batch in self._logs.get(topic, []):
                offsets = range(len(batch.keys))
                task.state.restore(
                    topic,
                    RawBatch(batch.keys, batch.values, batch.timestamps, offsets, batch.headers),
                )
        for name, store in old.stores.items():
            task.stores[name].times.update(store.times)
        task.commit()
        return task
