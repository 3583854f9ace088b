"""A running application answers about its stores: those it has itself as read-only views,
those of others by their hosts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

from millstream.clients import Admin
from millstream.clients.admin import OffsetSpec
from millstream.streams.application.group.known_hosts import KnownHosts
from millstream.streams.application.interactive.hosts_of_stores import (
    NOT_AVAILABLE,
    HostsOfStores,
)
from millstream.streams.application.interactive.live_partitions import Ask, LivePartitions
from millstream.streams.application.interactive.live_stores import LiveStore, live_store
from millstream.streams.application.interactive.store_lags import (
    LagsOfStores,
    StoreLags,
    StoreOffsets,
)
from millstream.streams.errors import InvalidStoreError
from millstream.streams.host_info import HostInfo
from millstream.streams.queries import StoreQueryParameters
from millstream.streams.queries.metadata import KeyQueryMetadata, Partitioner, StreamsMetadata
from millstream.streams.queries.remote_stores import type_of
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology.topology import Topology


class InteractiveQueries:
    """Answers for one instance while it runs. `closers` end the connection that asks about topics, if it was needed."""

    def __init__(
        self,
        topology: Topology,
        hosts: HostsOfStores,
        known: Callable[[], KnownHosts],
        make_admin: Callable[[], Admin],
        closers: AsyncExitStack,
        *,
        lags: LagsOfStores,
    ) -> None:
        self._topology = topology
        self._hosts = hosts
        self._lags = lags
        self._known = known
        self._make_admin = make_admin
        self._closers = closers
        self._admin: Admin | None = None
        self._counts: dict[str, int] = {}

    def store(
        self,
        wanted: StoreQueryParameters[Any] | str,  # Any: rows of any type
        ask: Ask,
        is_restoring: Callable[[], bool],
    ) -> LiveStore:
        """Returns a store to be read.

        Raises UnknownStore, and InvalidStoreError for one that operators keep for themselves.
        """
        name = wanted if isinstance(wanted, str) else wanted.store
        self._hosts.require_store(name)
        seen_as = type_of(self._topology.stores[name].kind)
        if seen_as is None:
            raise InvalidStoreError(
                f"store {name} is an operator's own or of your own making, and cannot be asked: it has no read-only view"
            )
        if isinstance(wanted, str):
            wanted = StoreQueryParameters(name, seen_as)
        return live_store(LivePartitions(wanted, ask, is_restoring))

    def metadata(self) -> list[StreamsMetadata[HostInfo]]:
        """Returns what each host has."""
        return self._hosts.metadata(self._known())

    def metadata_of_store(self, store: str) -> list[StreamsMetadata[HostInfo]]:
        """Returns the hosts of a store. Raises UnknownStore."""
        return self._hosts.metadata_of_store(store, self._known())

    async def metadata_of_key(
        self,
        store: str,
        key: object,
        key_serde: Serde[Any] | None,  # Any: keys of any type
        partitioner: Partitioner | None,
    ) -> KeyQueryMetadata[HostInfo]:
        """Returns the place of a key. Raises UnknownStore, SerializationError, and what the cluster answers."""
        sources = self._hosts.sources_of(store, self._known())
        if not self._known().hosts or sources == frozenset():
            return NOT_AVAILABLE
        if sources is None:
            return self._hosts.metadata_of_partition(store, -1, self._known())
        count = await self._partitions_of(sources)
        partition = self._hosts.partition_of(store, key, count, key_serde, partitioner)
        return self._hosts.metadata_of_partition(store, partition, self._known())

    async def lags(self, offsets: StoreOffsets) -> StoreLags:
        """Returns how far stores are behind their changelogs. Raises what the cluster answers."""
        changelogs = self._lags.changelogs(offsets)
        if not changelogs:
            return {}
        latest = dict.fromkeys(changelogs, OffsetSpec.LATEST)
        listed = (await self._asking().list_offsets(latest)).raise_errors()
        return self._lags.lags(offsets, {each: listed.result(each).offset for each in changelogs})

    async def _partitions_of(self, topics: frozenset[str]) -> int:
        """Returns the number of partitions of the widest topic.

        Topics are described once, and again when they have grown.
        """
        held = {
            each for host in self._known().hosts for each in host.active if each.topic in topics
        }
        is_known = topics <= self._counts.keys()
        if not is_known or any(each.partition >= self._counts[each.topic] for each in held):
            described = (await self._asking().describe_topics(list(topics))).raise_errors()
            self._counts |= {name: len(described.result(name).partitions) for name in topics}
        return max(self._counts[name] for name in topics)

    def _asking(self) -> Admin:
        if self._admin is None:
            self._admin = self._make_admin()
            self._closers.push_async_callback(self._admin.close)
        return self._admin
