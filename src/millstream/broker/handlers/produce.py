"""Produce: batches appended to partitions, acknowledged as far as the producer asks.

Versions 3-13. Topics by name up to 12, by topic id from 13 on. Everything is appended before this function returns, so that
requests of one connection are appended in order; only acknowledgements wait. acks=0 gets no answer, and when a partition
refuses it the connection is closed, as by Kafka: nothing else could tell the producer. acks=1 is answered at once, acks=-1
when every in-sync replica has the records. A partition with a single in-sync replica has nobody else to remember them:
`millstream.flush.on.ack=auto` then waits for a group-commit fsync too (`always`: for acks=1 as well and whatever the
replicas; `never`: not at all). Records with which flush.messages is reached are synced before any answer, as in Kafka.
One batch per partition; of several for the same one the last is taken. A retry of an idempotent producer gets the offsets of the first time. zstd from version 7 on.
Errors per partition; from version 8 on with a message and the records at fault, from 10 on with the current leader.
The first batch of a transaction in a partition waits for the transaction coordinator: from version 12 on it adds the partition
(KIP-890), before that it is asked whether the producer has. What the same producer sends behind it waits as well. A
transactional batch needs the transactional id in the request (CVE-2018-17196).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Final

from millstream.broker.api_spec import ApiSpec
from millstream.broker.error_responses import NoAnswer
from millstream.broker.flush_policy import must_sync
from millstream.broker.leader_hints import leader_endpoints, leader_hint
from millstream.broker.node import Node
from millstream.broker.request_context import RequestContext
from millstream.broker.transaction_produce import (
    NOTHING_TO_VERIFY,
    TransactionalProduce,
    Verdict,
    verdict_of_coordinator,
)
from millstream.errors import (
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidRequiredAcks,
    InvalidTimestamp,
    InvalidTopic,
    KafkaError,
    KafkaStorageError,
    NotEnoughReplicasAfterAppend,
    OutOfOrderSequenceNumber,
    RequestTimedOut,
    UnknownTopicId,
    UnsupportedCompressionType,
    UnsupportedForMessageFormat,
)
from millstream.log.append_check import RefusedRecords, RefusedTimestamps
from millstream.metadata.topic_names import is_internal
from millstream.model import TopicPartition, Uuid, uuid_text
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from millstream.records.batch import BATCH_HEADER_BYTES, read_header
from millstream.records.compression import Codec
from millstream.replication.partition import ACKS_ALL, Partition

_LOGGER = logging.getLogger(__name__)

API = ApiSpec(ApiKey.PRODUCE, versions=range(3, 14))

ADMIN_CLIENT_ID: Final = "__admin_client"
"""The one client that may write to internal topics, as in Kafka."""
_NO_ACKS: Final = 0
_TOPIC_ID_VERSION: Final = 13
_LEADER_HINT_VERSION: Final = 10
_ZSTD_VERSION: Final = 7
_TELLS_LOG_START: Final = (
    InvalidRecord,
    InvalidTimestamp,
    OutOfOrderSequenceNumber,
    InvalidProducerEpoch,
)
"""Refusals that a producer may answer by looking at what the log still holds (KIP-360); so they say where it starts."""


@dataclass(slots=True)
class _Written:
    """Records that are in the log and not acknowledged yet."""

    partition: Partition
    end_offset: int
    response: PartitionProduceResponse
    must_sync: bool

    @property
    def is_safe(self) -> bool:
        is_synced = not self.must_sync or self.partition.log.recovery_point >= self.end_offset
        return is_synced and self.partition.high_watermark >= self.end_offset


@dataclass(slots=True)
class _Appending:
    """One request on its way into the logs."""

    request: ProduceRequest
    context: RequestContext
    verdict: Verdict = field(default_factory=lambda: NOTHING_TO_VERIFY)
    waiting: list[_Written] = field(default_factory=list)


def handle(
    request: ProduceRequest, context: RequestContext
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    appending = _Appending(request, context)
    transactional = TransactionalProduce.of(request, context)
    if transactional is not None:
        appending.verdict = transactional.verdict_of_logs(context.node)
        appends = context.node.transactional_appends
        if appending.verdict.begins or appends.is_waiting(transactional.claim.producer_id):
            return _append_in_turn(transactional, appending)
    return _answer(appending, _append(appending))


def _append_in_turn(
    transactional: TransactionalProduce, appending: _Appending
) -> Awaitable[ProduceResponse | None]:
    """Queued now, behind what its producer is waiting for. Appended even if the connection closes meanwhile."""
    node = appending.context.node

    async def append() -> ProduceResponse:
        appending.verdict = await verdict_of_coordinator(transactional, node)
        return _append(appending)

    appended = node.transactional_appends.run(transactional.claim.producer_id, append)

    async def answer() -> ProduceResponse | None:
        answered = _answer(appending, await asyncio.shield(appended))
        return await answered if isinstance(answered, Awaitable) else answered

    return answer()


def _append(appending: _Appending) -> ProduceResponse:
    topics = appending.request.topic_data
    if len(topics) != 1 or len(topics[0].partition_data) != 1:
        topics = _without_repetition(topics)
    return ProduceResponse(responses=[_produce_topic(topic, appending) for topic in topics])


def _without_repetition(topics: Sequence[TopicProduceData]) -> list[TopicProduceData]:
    """A partition that is named twice gets the last of its batches, as in Kafka; topics without partitions are left out."""
    named: dict[tuple[str, Uuid], TopicProduceData] = {}
    partitions: dict[tuple[str, Uuid], dict[int, PartitionProduceData]] = {}
    for topic in topics:
        key = (topic.name, topic.topic_id)
        named.setdefault(key, topic)
        partitions.setdefault(key, {}).update({data.index: data for data in topic.partition_data})
    return [
        TopicProduceData(topic.name, topic.topic_id, list(partitions[key].values()))
        for key, topic in named.items()
        if partitions[key]
    ]


def _answer(
    appending: _Appending, response: ProduceResponse
) -> ProduceResponse | Awaitable[ProduceResponse] | None:
    request, context, waiting = appending.request, appending.context, appending.waiting
    if request.acks == _NO_ACKS:
        _check_all_written(response)
        return None
    if context.version >= _LEADER_HINT_VERSION:
        _add_endpoints(response, context)
    if waiting:
        return _acknowledge(response, waiting, request.timeout_ms, context.node)
    return response


def _produce_topic(topic: TopicProduceData, appending: _Appending) -> TopicProduceResponse:
    context = appending.context
    name: str | None = topic.name
    if context.version >= _TOPIC_ID_VERSION:
        found = context.node.metadata.image.topic_by_id(topic.topic_id)
        name = found.name if found is not None else None
    return TopicProduceResponse(
        name=topic.name,
        topic_id=topic.topic_id,
        partition_responses=[
            _produce_partition(name, data, appending) for data in topic.partition_data
        ],
    )


def _produce_partition(
    topic: str | None, data: PartitionProduceData, appending: _Appending
) -> PartitionProduceResponse:
    request, context = appending.request, appending.context
    try:
        if topic is None:
            raise UnknownTopicId
        partition = context.node.partitions.get(topic, data.index)
        records = _checked_records(topic, data, request, context)
        appending.verdict.check(partition, records)
    except KafkaError as error:
        if topic is not None and topic in context.node.metadata.image.topics:
            context.node.metrics.topics.of(topic).refused(error, len(data.records or b""))
        return _refused(topic or "", data.index, error, context)
    try:
        appended = partition.append(records, context.now, acks=request.acks)
    except KafkaError as error:
        context.node.metrics.topics.of(topic).refused(error, len(records))
        if isinstance(error, KafkaStorageError):
            _LOGGER.warning("records of client %r are refused: %s", context.client_id, error)
        response = _refused(topic, data.index, error, context)
        if isinstance(error, _TELLS_LOG_START):
            response.log_start_offset = partition.log_start_offset
        return response
    messages = appended.last_offset - appended.first_offset + 1
    context.node.metrics.topics.of(topic).appended(messages, len(records))
    response = PartitionProduceResponse(
        index=data.index,
        base_offset=appended.first_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=partition.log_start_offset,
    )
    end_offset, policy = appended.last_offset + 1, context.node.config.millstream_flush_on_ack
    waits_for_disk = must_sync(policy, partition, request.acks, end_offset)
    if waits_for_disk and request.acks == _NO_ACKS:
        context.node.log_flusher.start_flush(partition.log)
    if waits_for_disk or request.acks == ACKS_ALL:
        written = _Written(partition, end_offset, response, waits_for_disk)
        if not written.is_safe:
            appending.waiting.append(written)
    return response


def _checked_records(
    topic: str, data: PartitionProduceData, request: ProduceRequest, context: RequestContext
) -> memoryview:
    """What can be refused before the log sees it; the log checks the batch itself."""
    records = data.records
    if records is None or len(records) < BATCH_HEADER_BYTES:
        raise InvalidRecord("there is no whole record batch")
    assert isinstance(records, memoryview), "the codec gives records as a view of the request frame"
    try:
        header = read_header(records)
    except UnsupportedForMessageFormat as error:
        raise InvalidRecord(str(error)) from error
    if header.size_bytes != len(records):
        raise InvalidRecord(
            f"the batch says it has {header.size_bytes} bytes, there are {len(records)}: send one whole batch per partition"
        )
    if header.codec is Codec.ZSTD and context.version < _ZSTD_VERSION:
        raise UnsupportedCompressionType(f"zstd needs version {_ZSTD_VERSION} of Produce")
    if request.acks not in (ACKS_ALL, 0, 1):
        raise InvalidRequiredAcks(f"acks must be -1 (all), 0 or 1, not {request.acks}")
    if is_internal(topic) and context.client_id != ADMIN_CLIENT_ID:
        raise InvalidTopic(f"clients may not write to the internal topic {topic}")
    return records


# --- errors


def _check_all_written(response: ProduceResponse) -> None:
    """Raises NoAnswer for the first partition that refused its records."""
    for topic in response.responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                raise NoAnswer(
                    f"a produce with acks=0 to partition {partition.index} of {topic.name or uuid_text(topic.topic_id)} "
                    f"failed: {partition.error_message}"
                )


def _refused(
    topic: str, index: int, error: KafkaError, context: RequestContext
) -> PartitionProduceResponse:
    response = PartitionProduceResponse(index=index)
    _refuse(response, error)
    if isinstance(error, RefusedRecords | RefusedTimestamps):
        response.record_errors = [
            BatchIndexAndErrorMessage(e.index, e.message) for e in error.record_errors
        ]
    hint = (
        leader_hint(error, topic, index, context)
        if context.version >= _LEADER_HINT_VERSION
        else None
    )
    if hint is not None:
        response.current_leader = LeaderIdAndEpoch(hint.leader_id, hint.leader_epoch)
    return response


def _refuse(response: PartitionProduceResponse, error: KafkaError) -> None:
    response.error_code = error.code
    response.error_message = error.detail
    response.base_offset = -1
    response.log_append_time_ms = -1
    response.log_start_offset = -1


def _add_endpoints(response: ProduceResponse, context: RequestContext) -> None:
    leaders = [
        partition.current_leader.leader_id
        for topic in response.responses
        for partition in topic.partition_responses
        if partition.error_code and partition.current_leader.leader_id >= 0
    ]
    if leaders:
        response.node_endpoints = [
            NodeEndpoint(*found) for found in leader_endpoints(leaders, context)
        ]


# --- acknowledgement


async def _acknowledge(
    response: ProduceResponse, waiting: Sequence[_Written], timeout_ms: int, node: Node
) -> ProduceResponse:
    """Answers when every partition is safe or has failed.

    The producer's time limit is for the replicas, as in Kafka: what is written is not told to be lost because this disk is slow.
    """
    if len(waiting) == 1:
        await _until_safe(waiting[0], timeout_ms, node)
    else:
        async with asyncio.TaskGroup() as group:
            for written in waiting:
                group.create_task(_until_safe(written, timeout_ms, node))
    return response


async def _until_safe(written: _Written, timeout_ms: int, node: Node) -> None:
    partition = written.partition
    try:
        if written.must_sync:
            await node.log_flusher.flush_to(partition.log, written.end_offset)
        if partition.high_watermark < written.end_offset:
            await _until_committed(partition, written.end_offset, timeout_ms, node)
    except KafkaError as error:
        _refuse(written.response, error)


async def _until_committed(
    partition: Partition, end_offset: int, timeout_ms: int, node: Node
) -> None:
    """Raises NotLeaderOrFollower, NotEnoughReplicasAfterAppend, RequestTimedOut."""

    def has_ended(_partition: TopicPartition) -> bool:
        return partition.high_watermark >= end_offset or not partition.is_leader

    operation = node.purgatory.watch([partition.topic_partition], timeout_ms, has_ended)
    await operation.wait()
    partition.check_leader()
    if partition.high_watermark < end_offset:
        raise RequestTimedOut(
            f"the in-sync replicas did not have the records within {timeout_ms} ms"
        )
    if partition.is_short_of_replicas:
        raise NotEnoughReplicasAfterAppend
