"""Interactive queries of an application on Spark, as `KafkaStreams` has them."""

from __future__ import annotations

from typing import Any

from millstream.spark.pipeline.queries.metadata import TaskHostInfo
from millstream.spark.pipeline.queries.store_queries import (
    QUERY_TIMEOUT_MS,
    StoreQueries,
)
from millstream.streams.arguments import check_kind
from millstream.streams.queries import StateQueryRequest, StateQueryResult, StoreQueryParameters
from millstream.streams.queries.metadata import KeyQueryMetadata, Partitioner, StreamsMetadata
from millstream.streams.serdes.serde import Serde


class Queryable:
    """Stores are asked in the task hosts that have them, between the runs of their tasks:
    an answer is what is committed.
    """

    _queries: StoreQueries

    def store(
        self,
        wanted: str | StoreQueryParameters[Any],  # Any: the rows of every type of store
        *,
        timeout_ms: int = QUERY_TIMEOUT_MS,
    ) -> Any:  # Any: ReadOnlyKeyValueStore or another, as the type says that is wanted
        """Returns a store to be read, over all partitions or that of the parameters.

        A name alone: values as rows, without timestamps.

        `timeout_ms` is that of each question to a task. Raises StreamsNotStarted, InvalidStoreError for a
        store that is not there or not of this type, InvalidStorePartition. Methods of the store raise
        StoreNotAvailable where the task cannot be asked now: ask again; and InvalidStoreError where more than
        100,000 rows of a partition would answer.
        """
        check_kind("store: wanted", wanted, str | StoreQueryParameters)
        return self._queries.store(wanted, timeout_ms)

    def query(
        self, request: StateQueryRequest, *, timeout_ms: int = QUERY_TIMEOUT_MS
    ) -> StateQueryResult:
        """Asks a store (KIP-796). A partition that cannot be asked now has the failure NOT_PRESENT.

        Raises StreamsNotStarted, and InvalidStoreError for a store that the topology does not have.
        """
        check_kind("query: request", request, StateQueryRequest)
        return self._queries.query(request, timeout_ms)

    def query_metadata_for_key(
        self,
        store: str,
        key: object,
        key_serde: Serde[Any] | None = None,  # Any: a key of any type
        *,
        partitioner: Partitioner | None = None,
    ) -> KeyQueryMetadata[TaskHostInfo]:
        """Returns the partition of a key, and the host that has it. Without a serde the store's own writes the key.

        `partitioner` is for keys that another one than Kafka's has spread: it is given the key and
        the number of partitions.
        """
        return self._queries.metadata_of_key(store, key, key_serde, partitioner)

    def metadata_for_all_streams_clients(self) -> list[StreamsMetadata[TaskHostInfo]]:
        """Returns what each task host has: stores and input partitions.

        Hosts whose tasks have not run yet are left out.
        """
        return self._queries.metadata()

    def streams_metadata_for_store(self, store: str) -> list[StreamsMetadata[TaskHostInfo]]:
        """Returns the hosts that have partitions of a store."""
        return [each for each in self._queries.metadata() if store in each.state_store_names]
