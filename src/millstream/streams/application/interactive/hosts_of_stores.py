"""Finds the hosts of stores and keys among those that the coordinator has told of. Pure.

`partitions`: how many a sub-topology has, which the hosts do not tell while tasks move from one to another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from millstream.model import TopicPartition
from millstream.streams.application.group.known_hosts import KnownHosts
from millstream.streams.errors import UnknownStore
from millstream.streams.host_info import HostInfo
from millstream.streams.queries.metadata import (
    KeyQueryMetadata,
    Partitioner,
    StreamsMetadata,
    partition_of_key,
)
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology.topology import SubTopology, Topology, source_matching

NOT_AVAILABLE: Final[KeyQueryMetadata[HostInfo]] = KeyQueryMetadata(-1, None)
"""No hosts are known yet."""


class HostsOfStores:
    """Finds the hosts of one application. `own` is the address of this instance, if it has one."""

    def __init__(
        self,
        topology: Topology,
        application_id: str,
        default_key: Serde[Any] | None,  # Any: keys of any type
        own: HostInfo | None,
    ) -> None:
        self._topology = topology
        self._default_key = default_key
        self._own = own
        groups = [group for group in topology.sub_topologies if not group.is_global]
        self._readers = {
            topic: group.id
            for group in groups
            for topic in topology.source_topics(group, application_id)
        }
        """By topic that a source names, the sub-topology that reads it."""
        self._readers_by_pattern = {
            source: group.id
            for group in groups
            for source in topology.patterns.keys() & set(group.nodes)
        }

    def require_store(self, store: str) -> None:
        """Raises UnknownStore for a store that the topology does not have."""
        if store not in self._topology.stores:
            raise UnknownStore(
                f"there is no store {store}; there are {sorted(self._topology.stores)}"
            )

    def sources_of(self, store: str, known: KnownHosts) -> frozenset[str] | None:
        """Returns what the tasks read that keep a store, by pattern what hosts have of it; None for a global store.

        Raises UnknownStore.
        """
        group = self._group_of(store)
        if group is None:
            return None
        told = {each.topic for host in known.hosts for each in host.active | host.standby}
        return frozenset(
            topic for topic in told | self._readers.keys() if self._reader_of(topic) == group.id
        )

    def metadata(self, known: KnownHosts) -> list[StreamsMetadata[HostInfo]]:
        """Returns what each host has. Global stores are in every one."""
        return [
            StreamsMetadata(
                each.host,
                self._stores(each.active) | self._topology.global_stores,
                each.active,
                self._stores(each.standby),
                each.standby,
            )
            for each in known.hosts
        ]

    def metadata_of_store(self, store: str, known: KnownHosts) -> list[StreamsMetadata[HostInfo]]:
        """Returns the hosts that have partitions of a store. Raises UnknownStore."""
        self.require_store(store)
        return [
            each
            for each in self.metadata(known)
            if store in each.state_store_names or store in each.standby_state_store_names
        ]

    def partition_of(
        self,
        store: str,
        key: object,
        partitions: int,
        key_serde: Serde[Any] | None = None,  # Any: keys of any type
        partitioner: Partitioner | None = None,
    ) -> int:
        """Returns the partition that Kafka's default partitioner gives a key, or another partitioner.

        Raises InvalidStoreError where no serde is known, and SerializationError for a key that it cannot write.
        """
        serde = key_serde or self._topology.stores[store].key or self._default_key
        return partition_of_key(store, key, partitions, serde, partitioner)

    def metadata_of_partition(
        self, store: str, partition: int, known: KnownHosts
    ) -> KeyQueryMetadata[HostInfo]:
        """Returns the host of a partition of a store, with partition -1 for a global one: that is this host, or any."""
        if not known.hosts:
            return NOT_AVAILABLE
        sources = self.sources_of(store, known)
        if sources is None:
            return KeyQueryMetadata(-1, self._own or known.hosts[0].host)
        wanted = {TopicPartition(topic, partition) for topic in sources}
        active = [each.host for each in known.hosts if wanted & each.active]
        standby = frozenset(each.host for each in known.hosts if wanted & each.standby)
        return KeyQueryMetadata(partition, active[0] if active else None, standby)

    def _group_of(self, store: str) -> SubTopology | None:
        self.require_store(store)
        if store in self._topology.global_stores:
            return None
        return next(
            group
            for group in self._topology.sub_topologies
            if any(spec.name == store for spec in self._topology.stores_of(group))
        )

    def _stores(self, inputs: Iterable[TopicPartition]) -> frozenset[str]:
        readers = {self._reader_of(topic) for topic in {each.topic for each in inputs}}
        return frozenset(
            spec.name
            for group in self._topology.sub_topologies
            if group.id in readers
            for spec in self._topology.stores_of(group)
        )

    def _reader_of(self, topic: str) -> int | None:
        """Returns the sub-topology whose tasks read a topic."""
        if topic in self._readers:
            return self._readers[topic]
        source = source_matching(self._topology.patterns, topic)
        return None if source is None else self._readers_by_pattern[source]
