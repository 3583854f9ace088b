"""The stores of a task that runs elsewhere: opened and restored, without processors and input.

Kafka Streams' StandbyTask.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.streams.config import StreamsConfig
from millstream.streams.kernel.columns.batch import RawBatch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.task.questions import ask_store
from millstream.streams.kernel.task.state import TaskState
from millstream.streams.queries.result import Position, QueryResult, StateQueryRequest
from millstream.streams.state.cache import CacheRoom
from millstream.streams.state.storage.task_stores import StoreFactory
from millstream.streams.state.store import StateStore
from millstream.streams.topology.topology import Topology


class StandbyStores:
    """Methods are those of StreamTask. Stores are opened here and stay open until `close`."""

    def __init__(
        self,
        topology: Topology,
        sub_topology: int,
        partition: int,
        stores: StoreFactory,
        config: StreamsConfig,
    ) -> None:
        group = topology.sub_topologies[sub_topology]
        self.id = f"{group.id}_{partition}"
        context = TaskContext(config, partition, self.id)
        room = CacheRoom(0)
        self._state = TaskState(
            topology, group, stores(self.id), context, listener=None, cache_room=room
        )

    @property
    def stores(self) -> Mapping[str, StateStore]:
        return self._state.stores

    def store_marker(self, store: str) -> str | None:
        return self.stores[store].rows.metadata.marker

    def restore_positions(self) -> dict[str, int | None]:
        return self._state.restore_positions()

    def go_back(self, store_times: Mapping[str, Mapping[str, int]]) -> None:
        self._state.go_back(store_times)

    def restore(self, topic: str, raw: RawBatch) -> None:
        self._state.restore(topic, raw)

    def query(self, request: StateQueryRequest, position: Position) -> QueryResult:
        return ask_store(self.id, self.stores, request, position)

    def commit(
        self,
        *,
        marker: str | None = None,
        changelog_offsets: Mapping[str, int] | None = None,
    ) -> None:
        self._state.commit(marker, changelog_offsets or {}, {})

    def close(self) -> None:
        self._state.close()
