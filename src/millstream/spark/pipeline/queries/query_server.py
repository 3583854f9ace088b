"""Answers queries of an application's stores as JSON over HTTP, from its driver: who asks needs
neither Spark nor the driver's Python.

One server for all task hosts: the driver asks the host that has the task, so nothing is forwarded between instances.
Addresses and answers are those of `streams.query_server`. Needs the extra `queries`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Final, Self

from millstream.clients.blocking.blocking_client import BlockingClient
from millstream.spark.pipeline.spark_streams import SparkStreams
from millstream.streams.application.interactive.store_lags import StoreLags
from millstream.streams.config import StreamsConfig
from millstream.streams.host_info import HostInfo
from millstream.streams.metrics import MetricName
from millstream.streams.queries import StateQueryRequest, StateQueryResult
from millstream.streams.queries.metadata import KeyQueryMetadata, Partitioner, StreamsMetadata
from millstream.streams.query_server import QueryServer, QueryTls
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology.topology import Topology

THREADS_MAX: Final = 16
"""Questions that wait for task hosts at a time: a host answers one after another, and may be in a run for seconds."""


class SparkQueryServer(BlockingClient[QueryServer]):
    """Serves as long as its `with` block lasts, at `address`, on a thread of its own; before the
    application runs it says 503.

    Who may ask is said as for `QueryServer`: by `token`, `tls` or `open_to_all`. `partitioners`: by store, for keys
    that another partitioner than Kafka's has spread.
    """

    def __init__(
        self,
        application: SparkStreams,
        address: str,
        *,
        partitioners: Mapping[str, Partitioner] | None = None,
        token: str | None = None,
        tls: QueryTls | None = None,
        open_to_all: bool = False,
    ) -> None:
        """`address`: the host and port to listen at, as "0.0.0.0:8080".

        Raises ConfigError for one that makes no sense, and for a server that everybody could ask by accident.
        """
        asked = _StoresOfDriver(application, HostInfo.parsed(address))
        self._asked = asked
        super().__init__(
            lambda: QueryServer(
                asked, partitioners=partitioners, token=token, tls=tls, open_to_all=open_to_all
            )
        )

    def __enter__(self) -> Self:
        """Begins to listen. Raises ConfigError for an address that cannot be listened at."""
        self._loop.run(self._client.__aenter__())
        return self


class _StoresOfDriver:
    """An application on Spark as the one instance that has every partition."""

    def __init__(self, application: SparkStreams, own: HostInfo) -> None:
        self._application = application
        self._own = own
        self._threads = ThreadPoolExecutor(THREADS_MAX, "spark-queries")

    @property
    def topology(self) -> Topology:
        return self._application.topology

    @property
    def config(self) -> StreamsConfig:
        return replace(self._application.config, application_server=str(self._own))

    def metrics(self) -> Mapping[MetricName, float]:
        return self._application.metrics()

    async def query(self, request: StateQueryRequest) -> StateQueryResult:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(self._application.query, request))

    async def all_local_store_partition_lags(self) -> StoreLags:
        """Returns nothing: copies are kept for the tasks that move to them, and are not asked."""
        return {}

    def streams_metadata_for_store(self, _store: str) -> list[StreamsMetadata[HostInfo]]:
        """Returns no other instances."""
        return []

    async def query_metadata_for_key(
        self,
        store: str,
        key: object,
        key_serde: Serde[Any] | None = None,  # Any: a key of any type
        *,
        partitioner: Partitioner | None = None,
    ) -> KeyQueryMetadata[HostInfo]:
        if store in self.topology.global_stores:
            return KeyQueryMetadata(-1, self._own, frozenset())
        found = self._application.query_metadata_for_key(
            store, key, key_serde, partitioner=partitioner
        )
        return KeyQueryMetadata(found.partition, self._own, frozenset())
