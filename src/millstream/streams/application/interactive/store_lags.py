"""The lag of the stores of an instance: how far they are behind their changelogs (KIP-535). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from millstream.model import TopicPartition
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.topology.topology import Topology

StoreOffsets = Mapping[StreamsTaskId, Mapping[str, int] | None]
"""By task and changelog topic, how far its stores have been restored; None for a running active
task, which writes the changelogs."""


@dataclass(frozen=True, slots=True)
class LagInfo:
    """The lag of one partition of a store.

    The position of an active task's store is the end; that of one whose restoration has not begun is 0.
    """

    current_offset_position: int
    end_offset_position: int

    @property
    def offset_lag(self) -> int:
        """The number of offsets of the changelog that the store has not seen."""
        return max(0, self.end_offset_position - self.current_offset_position)


StoreLags = dict[str, dict[int, LagInfo]]
"""By store and partition."""


class LagsOfStores:
    """Computes the lags of one application's stores."""

    def __init__(self, topology: Topology, application_id: str) -> None:
        self._topology = topology
        self._application_id = application_id

    def changelogs(self, offsets: StoreOffsets) -> set[TopicPartition]:
        """Returns the changelogs of the tasks."""
        return {changelog for _, changelog, _ in self._stores(offsets)}

    def lags(self, offsets: StoreOffsets, ends: Mapping[TopicPartition, int]) -> StoreLags:
        """Returns the lag of each store. `ends`: of all changelogs."""
        found: StoreLags = {}
        for store, changelog, current in self._stores(offsets):
            end = ends[changelog]
            info = LagInfo(end if current is None else current, end)
            found.setdefault(store, {})[changelog.partition] = info
        return {store: dict(sorted(found[store].items())) for store in sorted(found)}

    def _stores(self, offsets: StoreOffsets) -> Iterator[tuple[str, TopicPartition, int | None]]:
        """Yields each store with its changelog and how far it is restored, None for an active one."""
        for task, restored_to in offsets.items():
            group = self._topology.sub_topologies[task.sub_topology]
            topics = self._topology.topics_of(group, self._application_id).changelogs
            for spec in self._topology.stores_of(group):
                topic = self._topology.changelog_topic(spec.name, self._application_id)
                if topic in topics:
                    current = None if restored_to is None else restored_to.get(topic, 0)
                    yield spec.name, TopicPartition(topic, task.partition), current
