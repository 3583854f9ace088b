"""Two partitions of a node that was stopped, and a client that asks for both of them in each request."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Final  # Any: handlers and their messages

from millstream.broker.handlers import (
    delete_records,
    describe_producers,
    fetch,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from millstream.broker.requests.handler_services import HandlerServices, bound
from millstream.errors import KafkaError
from millstream.model import TopicPartition
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from millstream.protocol.generated.describe_producers import DescribeProducersRequest, TopicRequest
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from millstream.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.batch import iterate_batches, validate_batch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import AbortedTransactionFilter, TransactionMarker
from millstream.records.record import Record, iterate_records
from millstream.replication.partition import Partition
from millstream.runtime import Instant
from tests.support.handler_services import request_context

NOW = Instant(wall_ms=1_700_000_000_000, monotonic_ms=0)
DAMAGED, HEALTHY, THIRD = "t", "h", "o"
CLEAN, KILLED = "clean stop", "kill"


def batch(values: list[bytes], first_offset: int, **options: Any) -> bytearray:
    records = [
        Record(offset=i, timestamp=NOW.wall_ms + first_offset + i, key=b"k", value=value)
        for i, value in enumerate(values)
    ]
    return build_batch(records, BatchOptions(**options))


def append(partition: Partition, *values: bytes, **options: Any) -> None:
    built = batch(list(values), partition.log_end_offset, **options)
    partition.append(memoryview(built), NOW)


def append_in_transaction(partition: Partition, producer_id: int, *values: bytes) -> None:
    entry = partition.log.producers.get(producer_id)
    sequence = 0 if entry is None else entry.last_sequence + 1
    append(
        partition,
        *values,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )


def end_transaction(partition: Partition, producer_id: int, *, commit: bool) -> None:
    at = Instant(NOW.wall_ms + partition.log_end_offset, 0)
    partition.append_marker(TransactionMarker(producer_id, 0, 0, commit, 0), at)


def fill(partition: Partition, aborting: int = 7, committing: int = 8, longer: bytes = b"") -> None:
    """Three rounds of a plain record, two that are aborted, one that is committed, and the markers; segments at 0, 6 and 10."""
    for number in b"0", b"1", b"2":
        append(partition, b"plain" + number + longer)
        append_in_transaction(
            partition, aborting, b"aborted" + number, b"aborted" + number + longer
        )
        append_in_transaction(partition, committing, b"committed" + number)
        if number == b"1":
            partition.log.roll(NOW)
        end_transaction(partition, aborting, commit=False)
        end_transaction(partition, committing, commit=True)
        if number == b"0":
            partition.log.roll(NOW)


TOPICS: Final = (DAMAGED, HEALTHY)
"""Asked for in the same requests."""
Seen = dict[str, Any]  # Any: what the answers to very different requests say


@dataclass
class Client:
    """Each question names both partitions; each answer is told by topic."""

    services: HandlerServices

    async def ask(self, handler: Any, request: Any, version: int) -> Any:
        context = request_context(version, now=NOW)
        answer = bound(handler.handle, self.services)(request, context)
        return await answer if isinstance(answer, Awaitable) else answer

    async def fetched(self, isolation: int) -> Seen:
        """What a consumer gets from offset 1 on, and the error that ends it."""
        found: dict[str, list[bytes]] = {topic: [] for topic in TOPICS}
        offsets = dict.fromkeys(TOPICS, 1)
        errors: dict[str, int] = {}
        while len(errors) < len(TOPICS):
            topics = [
                FetchTopic(
                    topic=topic,
                    partitions=[FetchPartition(fetch_offset=offset, partition_max_bytes=1 << 20)],
                )
                for topic, offset in offsets.items()
            ]
            request = FetchRequest(
                topics=topics, isolation_level=isolation, session_epoch=-1, max_wait_ms=0
            )
            for topic in (await self.ask(fetch, request, 12)).responses:
                (told,) = topic.partitions
                values, offset = read_by_consumer(told)
                found[topic.topic] += values
                offsets[topic.topic] = offset or offsets[topic.topic]
                if told.error_code or not offset:
                    errors[topic.topic] = told.error_code
        return {topic: (found[topic], errors[topic]) for topic in TOPICS}

    async def listed(self, timestamp: int, isolation: int = 0) -> Seen:
        asked = [
            ListOffsetsTopic(topic, [ListOffsetsPartition(timestamp=timestamp)]) for topic in TOPICS
        ]
        request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=asked)
        answer = await self.ask(list_offsets, request, 7)
        return {
            topic.name: (told.error_code, told.offset, told.timestamp)
            for topic in answer.topics
            for told in topic.partitions
        }

    async def epoch_ended(self, epoch: int) -> Seen:
        asked = [
            OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(leader_epoch=epoch)])
            for topic in TOPICS
        ]
        request = OffsetForLeaderEpochRequest(topics=asked)
        answer = await self.ask(offset_for_leader_epoch, request, 4)
        return {
            topic.topic: (told.error_code, told.leader_epoch, told.end_offset)
            for topic in answer.topics
            for told in topic.partitions
        }

    async def producers(self) -> Seen:
        request = DescribeProducersRequest([TopicRequest(topic, [0]) for topic in TOPICS])
        answer = await self.ask(describe_producers, request, 0)
        return {
            topic.name: (
                told.error_code,
                {
                    (each.producer_id, each.last_sequence, each.current_txn_start_offset)
                    for each in told.active_producers
                },
            )
            for topic in answer.topics
            for told in topic.partitions
        }

    async def produced(self) -> Seen:
        data = [
            TopicProduceData(
                name=topic,
                partition_data=[PartitionProduceData(0, memoryview(batch([b"new"], 20)))],
            )
            for topic in TOPICS
        ]
        answer = await self.ask(produce, ProduceRequest(acks=1, topic_data=data), 9)
        return {
            topic.name: (told.error_code, told.base_offset)
            for topic in answer.responses
            for told in topic.partition_responses
        }

    async def deleted(self) -> Seen:
        asked = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 7)]) for topic in TOPICS]
        answer = await self.ask(delete_records, DeleteRecordsRequest(topics=asked), 2)
        return {
            topic.name: (told.error_code, told.low_watermark)
            for topic in answer.topics
            for told in topic.partitions
        }

    async def aborted_later(self) -> Seen:
        """A transaction that is aborted now; the marker as the coordinator writes it."""
        for topic in TOPICS:
            with contextlib.suppress(KafkaError):
                partition = self.services.partitions.get(topic, 0)
                append_in_transaction(partition, 7, b"aborted later")
        refusals = await self.services.transaction_markers.write(
            [TopicPartition(topic, 0) for topic in TOPICS], TransactionMarker(7, 0, 0, False, 0)
        )
        return {
            name.topic: 0 if refusal is None else refusal.code for name, refusal in refusals.items()
        }


def read_by_consumer(told: PartitionData) -> tuple[list[bytes], int]:
    """Values, and where the next fetch begins; 0 when there was nothing. A consumer compares checksums."""
    values: list[bytes] = []
    next_offset = 0
    is_wanted = AbortedTransactionFilter(
        (each.producer_id, each.first_offset) for each in told.aborted_transactions or ()
    )
    records: Any = told.records or b""
    data = records if isinstance(records, bytes) else records.read()
    for header, view in iterate_batches(data, strict=True):
        validate_batch(header, view)
        if not header.is_control and is_wanted(header, view):
            values += [bytes(each.value or b"") for each in iterate_records(header, view)]
        next_offset = header.next_offset
    return values, next_offset


async def observed(services: HandlerServices) -> dict[str, Seen]:
    """What clients see of both partitions, by topic; the last questions change something."""
    client = Client(services)
    seen = {
        "committed": await client.fetched(1),
        "all": await client.fetched(0),
        "latest": await client.listed(-1),
        "latest committed": await client.listed(-1, 1),
        "earliest": await client.listed(-2),
        "largest timestamp": await client.listed(-3),
        "offset of a time": await client.listed(NOW.wall_ms + 8),
        "end of epoch 0": await client.epoch_ended(0),
        "end of epoch 2": await client.epoch_ended(2),
        "producers": await client.producers(),
        "produced": await client.produced(),
        "aborted later": await client.aborted_later(),
        "committed later": await client.fetched(1),
        "deleted": await client.deleted(),
    }
    return {topic: {what: told[topic] for what, told in seen.items()} for topic in TOPICS}
