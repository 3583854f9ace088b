"""The stores of a task that runs elsewhere: opened and restored, without processors and input.

Kafka Streams' StandbyTask.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.streams.config import StreamsConfig
from millstream.streams.kernel.task.state import TaskState
from millstream.streams.queries.result import Position, QueryResult, StateQueryRequest
from millstream.streams.state.cache import CacheRoom
from millstream.streams.state.storage.byte_store import StoreFactory
from millstream.streams.state.store import OwningTask
from millstream.streams.topology.topology import Topology


class StandbyStores:
    """Methods and `state` are as those of StreamTask. Stores are opened here and stay open until `close`."""

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
        owner = OwningTask(config, self.id)
        self.state = TaskState(
            topology,
            group,
            stores(self.id),
            partition,
            owner,
            listener=None,
            cache_room=CacheRoom(0),
        )

    def query(self, request: StateQueryRequest, position: Position) -> QueryResult:
        return self.state.ask(self.id, request, position)

    def commit(
        self,
        *,
        marker: str | None = None,
        changelog_offsets: Mapping[str, int] | None = None,
    ) -> None:
        self.state.commit(marker, changelog_offsets or {}, {})

    def close(self) -> None:
        self.state.close()
