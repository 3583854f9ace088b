"""Exact ranges of a partition as Arrow batches, fast: for readers that plan their own offsets, such as Spark's tasks.

No group, no position kept between calls. While one answer is turned into Arrow the next one travels.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, Unpack

from millstream.clients.async_client import refuse_copy
from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.cluster.core.cluster_metadata import TopicMetadata
from millstream.clients.config import ConsumerConfig, ConsumerSettings
from millstream.clients.config.settings import parse_settings
from millstream.clients.consumer.core.errors import TopicDeleted
from millstream.clients.consumer.core.fetched import (
    BatchSummary,
    FetchedChunk,
    batch_summaries,
    next_offset_of,
    partition_error,
)
from millstream.clients.consumer.offset_lookup import list_offsets, lookup_offsets
from millstream.clients.core.client_names import described
from millstream.errors import (
    ConfigError,
    KafkaError,
    OffsetOutOfRange,
    RequestTimedOut,
    UnknownServerError,
    UnknownTopicOrPartition,
    error_for,
)
from millstream.model import ZERO_UUID, TopicPartition, Uuid
from millstream.net.client.tasks import TaskScope
from millstream.net.network import Environment, system_environment
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

if TYPE_CHECKING:
    import pyarrow as pa

_PARTITION_FETCH_BYTES = 8 * 1024 * 1024
_SPARE_BYTES = 64 * 1024
_LAST_VERSION_BY_NAME = 12


@dataclass(slots=True)
class _Source:
    """The partition that a read is of.

    The topic is known once it has answered: metadata may be of one that was deleted before.
    """

    partition: TopicPartition
    bytes_max: int
    """Of the next fetch."""
    topic_id: Uuid | None = None


_OF_BATCHES: Final = frozenset({"timestampType", "leaderEpoch"})
_FURTHER_COLUMNS: Final = _OF_BATCHES | {"headers", "baseOffset"}


class RangeReader:
    """Settings are a Consumer's; fetches are 8 MiB unless max_partition_fetch_bytes says otherwise.

    Keep one per process and reuse it: connections and metadata stay. Several reads may run at the same time.
    """

    def __init__(
        self, *, environment: Environment | None = None, **settings: Unpack[ConsumerSettings]
    ) -> None:
        settings.setdefault("max_partition_fetch_bytes", _PARTITION_FETCH_BYTES)
        self.config = parse_settings(ConsumerConfig, settings)
        self._read_committed = self.config.isolation_level == "read_committed"
        self._scope = TaskScope("range reader")
        self._cluster = Cluster(
            self.config,
            self._scope,
            system_environment() if environment is None else environment,
            allow_auto_create_topics=False,
        )

    __reduce_ex__ = refuse_copy

    def __repr__(self) -> str:
        return described(self, self.config, is_closed=self._scope.is_closed)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the reads that are going on, and disconnects. Idempotent."""
        self._scope.check_place()
        try:
            await self._scope.close()
        finally:
            await self._cluster.close()

    async def read(
        self,
        topic: str,
        partition: int,
        start_offset: int,
        end_offset: int,
        *,
        columns: Collection[str] = (),
        topic_id: Uuid | None = None,
        timeout_ms: int | None = None,
    ) -> AsyncIterator[pa.RecordBatch]:
        """Yields the records with start_offset <= offset < end_offset, in order, in batches that are not empty.

        Columns: key, value (binary), offset, timestamp (int64, ms), and of `columns` headers, timestampType (0 create
        time, 1 log append time) and leaderEpoch, the last two together, and baseOffset, with which the records come
        that stand before the start in the same record batch, too. Offsets that hold no record (compacted, control) are
        passed over. Waits for records that are not written yet.

        Raises ConfigError for other columns, OffsetOutOfRange when the start is no longer, or not yet, in the log,
        TopicDeleted when the topic is deleted meanwhile or has another id than `topic_id`, RequestTimedOut after
        `timeout_ms` (default_api_timeout_ms) without progress, and CorruptBatch where a batch cannot be read.
        """
        if unknown := set(columns) - _FURTHER_COLUMNS:
            raise ConfigError(
                f"columns are {', '.join(sorted(_FURTHER_COLUMNS))}, not {', '.join(sorted(unknown))}"
            )
        from millstream.clients.core.arrow_batches import readable_rows, rows_before

        topic_partition = TopicPartition(topic, partition)
        async with aclosing(
            self._chunks(topic_partition, topic_id, start_offset, end_offset, timeout_ms)
        ) as chunks:
            async for at, chunk in chunks:
                records, broken = readable_rows(
                    chunk,
                    topic_partition,
                    at,
                    check_crcs=self.config.check_crcs,
                    headers="headers" in columns,
                    batch_columns=not _OF_BATCHES.isdisjoint(columns),
                    whole_batches="baseOffset" in columns,
                )
                records = rows_before(records, end_offset)
                if records.num_rows:
                    yield records
                if broken is not None and broken.offset < end_offset:
                    raise broken

    async def batches(
        self,
        topic: str,
        partition: int,
        start_offset: int,
        end_offset: int,
        *,
        timeout_ms: int | None = None,
    ) -> AsyncIterator[BatchSummary]:
        """Yields what the headers say of each batch that has offsets in start_offset <= offset < end_offset, in order.

        The batches travel as for `read`, but no record is decompressed or parsed. Control batches, and at
        read_committed those of aborted transactions, are among them without a time. Waits, and raises, as `read` does.
        """
        topic_partition = TopicPartition(topic, partition)
        async with aclosing(
            self._chunks(topic_partition, None, start_offset, end_offset, timeout_ms)
        ) as chunks:
            async for at, chunk in chunks:
                for batch in batch_summaries(chunk, at):
                    if batch.first_offset >= end_offset:
                        return
                    yield batch

    async def _chunks(
        self,
        topic_partition: TopicPartition,
        topic_id: Uuid | None,
        start_offset: int,
        end_offset: int,
        timeout_ms: int | None,
    ) -> AsyncGenerator[tuple[int, FetchedChunk], None]:
        """Yields what the fetches bring with the offset that each was for. The next one travels meanwhile."""
        source = _Source(topic_partition, self.config.max_partition_fetch_bytes, topic_id)
        patience_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        position = start_offset
        fetch: asyncio.Task[FetchedChunk] | None = None
        try:
            while position < end_offset:
                if fetch is None:
                    fetch = self._start(source, position, patience_ms)
                chunk = await fetch
                fetch = None
                at, position = position, chunk.next_offset
                if position < end_offset:
                    expected = len(chunk.records) * (end_offset - position) // (position - at)
                    source.bytes_max = self._bytes_max(expected)
                    fetch = self._start(source, position, patience_ms)
                yield at, chunk
        finally:
            if fetch is not None:
                fetch.cancel()

    async def offsets(
        self, topic: str, timestamp: int, timeout_ms: int | None = None
    ) -> dict[int, int]:
        """Returns for each partition the first offset at or after `timestamp` (ms), -1 for the end, -2 for the start.

        It is the end where no record is that late.
        """
        limit = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self._cluster.now_ms() + limit
        metadata = await self._cluster.topic(topic, deadline_ms)
        partitions = [TopicPartition(topic, partition) for partition in metadata.partitions]
        found = await lookup_offsets(
            self._cluster,
            dict.fromkeys(partitions, timestamp),
            read_committed=self._read_committed,
            deadline_ms=deadline_ms,
        )
        late = [tp for tp, result in found.items() if result.offset < 0]
        ends = await lookup_offsets(
            self._cluster,
            dict.fromkeys(late, -1),
            read_committed=self._read_committed,
            deadline_ms=deadline_ms,
        )
        return {tp.partition: ends.get(tp, result).offset for tp, result in found.items()}

    async def offset_results(
        self, topic: str, timestamp: int, timeout_ms: int | None = None
    ) -> dict[int, int | KafkaError]:
        """Returns the same for -1 and -2, with an error in the place of each partition
        whose leader does not answer in time.
        """
        limit = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self._cluster.now_ms() + limit
        metadata = await self._cluster.topic(topic, deadline_ms)
        found = await list_offsets(
            self._cluster,
            {TopicPartition(topic, partition): timestamp for partition in metadata.partitions},
            read_committed=self._read_committed,
            deadline_ms=deadline_ms,
        )
        return {
            tp.partition: result if isinstance(result, KafkaError) else result.offset
            for tp, result in found.items()
        }

    def _bytes_max(self, expected: int) -> int:
        """Little more than the rest of a range is asked for: what lies behind it would travel for nothing."""
        return min(self.config.max_partition_fetch_bytes, expected * 9 // 8 + _SPARE_BYTES)

    def _start(self, source: _Source, offset: int, patience_ms: int) -> asyncio.Task[FetchedChunk]:
        self._scope.check()
        return self._scope.start(
            self._fetch(source, offset, patience_ms), f"fetch {source.partition}", awaited=True
        )

    async def _fetch(self, source: _Source, offset: int, patience_ms: int) -> FetchedChunk:
        """Asks the leader again and again until something is there."""
        deadline_ms = self._cluster.now_ms() + patience_ms

        async def attempt() -> FetchedChunk:
            while True:
                answer = await self._ask_leader(source, offset, deadline_ms)
                records = answer.records or memoryview(b"")
                assert isinstance(records, memoryview), "decoded records are views of their frame"
                if (next_offset := next_offset_of(records, offset)) > offset:
                    aborted = answer.aborted_transactions if self._read_committed else None
                    return FetchedChunk(
                        records,
                        next_offset,
                        [(entry.first_offset, entry.producer_id) for entry in aborted or ()],
                    )

        try:
            return await self._cluster.retrying(attempt, deadline_ms)
        except RequestTimedOut as error:
            raise RequestTimedOut(
                f"{source.partition}: no record at or after offset {offset} within {patience_ms} ms: {error}"
            ) from error

    async def _ask_leader(self, source: _Source, offset: int, deadline_ms: int) -> PartitionData:
        topic_partition = source.partition
        topic = await self._same_topic(source, deadline_ms)

        def leader_of() -> int | None:
            node_id = self._cluster.snapshot.leader(topic_partition)
            if node_id is None:  # or a partition that was added waits for the next refresh
                self._cluster.request_metadata()
            return node_id

        leader = await self._cluster.until(
            leader_of, deadline_ms, f"{topic_partition} has no leader"
        )
        known = self._cluster.snapshot.partition(topic_partition)
        entry = FetchPartition(
            partition=topic_partition.partition,
            current_leader_epoch=-1 if known is None else known.leader_epoch,
            fetch_offset=offset,
            partition_max_bytes=source.bytes_max,
        )
        request = FetchRequest(
            max_wait_ms=self.config.fetch_max_wait_ms,
            min_bytes=self.config.fetch_min_bytes,
            max_bytes=self.config.fetch_max_bytes,
            isolation_level=int(self._read_committed),
            topics=[FetchTopic(topic=topic.name, topic_id=topic.topic_id, partitions=[entry])],
            rack_id=self.config.client_rack,
        )
        response = await self._cluster.request(
            leader,
            ApiKey.FETCH,
            request,
            FetchResponse,
            lane=Lane.FETCH,
            version_max=_LAST_VERSION_BY_NAME if topic.topic_id == ZERO_UUID else 2**15,
        )
        answer = self._checked(topic_partition, offset, response)
        source.topic_id = topic.topic_id
        return answer

    async def _same_topic(self, source: _Source, deadline_ms: int) -> TopicMetadata:
        """Raises TopicDeleted where the metadata say so: offsets of a topic mean nothing in another one of its name."""
        name = source.partition.topic
        code = self._cluster.snapshot.topic_errors.get(name)
        if source.topic_id is not None and code == UnknownTopicOrPartition.code:
            raise TopicDeleted(f"topic {name!r} was deleted while it was read")
        topic = await self._cluster.topic(name, deadline_ms)
        if source.topic_id not in (None, topic.topic_id):
            await self._cluster.refresh_metadata(deadline_ms)  # ours may be the older one
            topic = await self._cluster.topic(name, deadline_ms)
        if source.topic_id not in (None, topic.topic_id):
            raise TopicDeleted(f"topic {name!r} was deleted and made anew while it was read")
        return topic

    def _checked(
        self, topic_partition: TopicPartition, offset: int, response: FetchResponse
    ) -> PartitionData:
        if response.error_code:
            raise error_for(response.error_code)
        if not response.responses or not response.responses[0].partitions:
            raise UnknownServerError(f"the broker's answer leaves {topic_partition} out")
        answer = response.responses[0].partitions[0]
        if answer.error_code == OffsetOutOfRange.code:
            raise OffsetOutOfRange(f"{topic_partition}: offset {offset} is not in the log")
        if answer.error_code:
            error: KafkaError = partition_error(answer.error_code, topic_partition)
            if error.retriable:
                self._cluster.request_metadata()
            raise error
        return answer
