"""Produce: batches appended to partitions, acknowledged as far as the producer asks.

Versions 3-13. Topics by name up to 12, by topic id from 13 on. Every record is checked before it is appended. What does not
take long is appended before this function returns, so that requests of one connection are appended in order; only
acknowledgements wait. Large or strongly packed batches are checked in a thread, and what the connection sends behind them waits.
acks=0 gets no answer, and when a partition refuses it the connection is closed, as by Kafka: nothing else could tell the
producer. acks=1 is answered at once, acks=-1 when every in-sync replica has the records. A partition with a single in-sync
replica has no other to remember them: `millstream.flush.on.ack=auto` then waits for a group-commit fsync too (`always`: for
acks=1 as well and whatever the replicas; `never`: not at all). Records with which flush.messages is reached are synced before
any answer, as in Kafka. One batch per partition; of several for the same one the last is taken. A retry of an idempotent
producer gets the offsets of the first time. zstd from version 7 on.
Errors per partition; from version 8 on with a message and the records at fault, from 10 on with the current leader.
The first batch of a transaction in a partition waits for the transaction coordinator: from version 12 on it adds the partition
(KIP-890), before that it is asked whether the producer has. What the same producer sends behind it waits as well. A
transactional batch needs the transactional id in the request (CVE-2018-17196).
Not supported: batches that unpack to more than 100 MiB are refused with MESSAGE_TOO_LARGE, whatever `max.message.bytes` says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Self

from millstream.broker.cluster.leader_hints import leader_endpoints, leader_hint
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.long_work import LongWork
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.produce.ordered_appends import OrderedAppends
from millstream.broker.produce.produce_guard import handle_what_is_allowed
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, NoAnswer, Permission
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import LogFlusher, Metadata, Partitions
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.durability import AppendedRecords, Durability
from millstream.broker.transactions.coordinator_channel import TransactionCoordinatorChannel
from millstream.broker.transactions.transactional_produce import (
    NOTHING_TO_VERIFY,
    TransactionalProduce,
    Verification,
    verify_with_coordinator,
)
from millstream.errors import (
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidRequiredAcks,
    InvalidTimestamp,
    InvalidTopic,
    KafkaError,
    NotEnoughReplicasAfterAppend,
    OutOfOrderSequenceNumber,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnsupportedCompressionType,
    UnsupportedForMessageFormat,
)
from millstream.log.append_check import (
    NEW_LOG_COST_BYTES,
    PART_COST_BYTES,
    Allowance,
    CheckedBatches,
    RefusedRecords,
    RefusedTimestamps,
    TooMuchWork,
    checked_batch,
)
from millstream.metadata.topic_names import is_internal
from millstream.model import TopicPartition, Uuid, uuid_text
from millstream.net.client.tasks import TaskGroup
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
from millstream.records.batch import (
    BATCH_HEADER_BYTES,
    BatchHeader,
    is_transactional_batch,
    read_header,
)
from millstream.records.compression import Codec
from millstream.replication.partition import ACKS_ALL, Partition
from millstream.runtime import Clock, Instant
from millstream.security.acl import Operation, ResourceType

_LOGGER = logging.getLogger(__name__)

API = ApiSpec(
    ApiKey.PRODUCE,
    versions=range(3, 14),
    permissions=(
        Permission(Operation.WRITE, ResourceType.TRANSACTIONAL_ID),
        Permission(Operation.WRITE, ResourceType.TOPIC),
    ),
    lists=(Lists(("topic_data", "partition_data"), ("responses", "partition_responses")),),
)

ADMIN_CLIENT_ID: Final = "__admin_client"
"""The one client that may write to internal topics, as in Kafka."""
_NO_ACKS: Final = 0
_TOPIC_ID_VERSION: Final = 13
_LEADER_HINT_VERSION: Final = 10
_ZSTD_VERSION: Final = 7
_SYNCED_AT_ONCE: Final = 4
"""Logs of one request: as many as there are threads for the disk."""
_TELLS_LOG_START: Final = (
    InvalidRecord,
    InvalidTimestamp,
    OutOfOrderSequenceNumber,
    InvalidProducerEpoch,
)
"""Refusals that a producer may answer by looking at what the log still holds (KIP-360); so they say where it starts."""


@dataclass(frozen=True, slots=True)
class Services:
    access: Access
    clock: Clock
    config: DynamicConfig
    disk_pool: DiskPool
    durability: Durability
    failures: FailureLog
    log_flusher: LogFlusher
    long_work: LongWork
    metadata: Metadata
    metrics: NodeMetrics
    ordered_appends: OrderedAppends
    partitions: Partitions
    transaction_coordinator_channel: TransactionCoordinatorChannel


_Unacknowledged = tuple[AppendedRecords, PartitionProduceResponse]
"""Records that are not acknowledged yet, and their answer."""


@dataclass(slots=True)
class _Part:
    """The records for one partition, and the place of its answer. `partition` is known once the records may be looked at."""

    topic: str | None
    data: PartitionProduceData
    responses: list[PartitionProduceResponse]
    partition: Partition | None = None


@dataclass(slots=True)
class _ProduceAppend:
    """One request on its way into the logs. `part` is the next to be appended; those behind it are made when it is their turn."""

    request: ProduceRequest
    context: RequestContext
    services: Services
    now: Instant
    response: ProduceResponse
    later: Iterator[_Part]
    part: _Part | None
    verification: Verification = NOTHING_TO_VERIFY
    unacknowledged: list[_Unacknowledged] = field(default_factory=list)

    @classmethod
    def of(cls, request: ProduceRequest, context: RequestContext, services: Services) -> Self:
        topics = request.topic_data
        if len(topics) == 1 and len(topics[0].partition_data) == 1:  # mostly, and faster so
            topic, told = topics[0], list[PartitionProduceResponse]()
            response = ProduceResponse([TopicProduceResponse(topic.name, topic.topic_id, told)])
            part = _Part(
                _topic_name(topic, context.version, services.metadata),
                topic.partition_data[0],
                told,
            )
            return cls(request, context, services, context.now, response, iter(()), part)
        response = ProduceResponse()
        parts = _parts(_without_repetition(topics), context, services, response.responses)
        return cls(request, context, services, context.now, response, parts, next(parts, None))

    def answer(self, response: PartitionProduceResponse) -> None:
        """Answers `part`, and goes on to the next."""
        assert self.part is not None, "only what was asked is answered"
        self.part.responses.append(response)
        self.part = next(self.later, None)


def _parts(
    topics: Sequence[TopicProduceData],
    context: RequestContext,
    services: Services,
    responses: list[TopicProduceResponse],
) -> Iterator[_Part]:
    """Yields the partitions asked for, each with its place in `responses`."""
    for topic in topics:
        name = _topic_name(topic, context.version, services.metadata)
        told: list[PartitionProduceResponse] = []
        responses.append(TopicProduceResponse(topic.name, topic.topic_id, told))
        for data in topic.partition_data:
            yield _Part(name, data, told)


def handle(
    request: ProduceRequest, context: RequestContext, services: Services
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    """Appends what the producer may write. Raises TransactionalIdAuthorizationFailed, InvalidProducerIdMapping."""
    access, topics = services.access, request.topic_data
    if access.is_open:
        return _handle(request, context, services)
    if len(topics) == 1 and len(topics[0].partition_data) == 1 and context.cut_from is None:
        topic = topics[0]  # mostly, and in half the time
        if not is_transactional_batch(topic.partition_data[0].records):
            name = _topic_name(topic, context.version, services.metadata)
            if name is None or access.allows(context, Operation.WRITE, ResourceType.TOPIC, name):
                return _handle(request, context, services)
            return failed(request, context.version, TopicAuthorizationFailed())
    return handle_what_is_allowed(request, context, services, _handle, failed)


def _handle(
    request: ProduceRequest, context: RequestContext, services: Services
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    produce = _ProduceAppend.of(request, context, services)
    appends = services.ordered_appends
    transactional = TransactionalProduce.of(request, context.version, services.metadata.image)
    if transactional is None:
        sender = ("connection", context.connection_id)
        if not appends.is_waiting(sender) and _append_at_once(produce):
            return _answer(produce)
        return _answer_later(produce, appends.run(sender, partial(_append_in_steps, produce)))
    sender = ("producer", transactional.producer.producer_id)
    produce.verification = transactional.verify_in_logs(
        services.partitions, services.config.current
    )
    is_known = not (produce.verification.begins or appends.is_waiting(sender))
    if is_known and _append_at_once(produce):
        return _answer(produce)
    append = partial(_append_transactional, produce, transactional)
    return _answer_later(produce, appends.run(sender, append))


def failed(request: ProduceRequest, _version: int, error: KafkaError) -> ProduceResponse:
    if request.acks == 0:
        raise NoAnswer(f"a produce with acks=0 failed: {error}")
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(
                        index=data.index,
                        error_code=error.code,
                        base_offset=-1,
                        error_message=error.detail,
                    )
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


async def _answer_later(
    produce: _ProduceAppend, appended: asyncio.Future[None]
) -> ProduceResponse | None:
    """It is queued already, and appended even if the connection closes meanwhile."""
    await asyncio.shield(appended)
    answered = _answer(produce)
    return await answered if isinstance(answered, Awaitable) else answered


def _append_at_once(produce: _ProduceAppend) -> bool:
    """False as soon as a check takes longer than one request may hold the others; that part and those behind it remain."""
    allowance = Allowance()
    while (part := produce.part) is not None:
        try:
            checked = _check(part, produce, allowance)
        except TooMuchWork:
            return False
        produce.answer(_append(part, checked, produce))
    return True


async def _append_in_steps(produce: _ProduceAppend) -> None:
    """Each part is appended before the next is checked: nothing that was unpacked piles up."""
    while not _append_at_once(produce):
        part = produce.part
        assert part is not None, "something was too much work"
        checked = await _checked_elsewhere(part, produce)
        produce.answer(_append(part, checked, produce))


async def _append_transactional(
    produce: _ProduceAppend, transactional: TransactionalProduce
) -> None:
    """All is checked before the coordinator is asked: between its answer and the append nothing may happen."""
    services = produce.services
    parts = [] if produce.part is None else [produce.part, *produce.later]
    produce.later = iter(parts[1:])
    outcomes: list[CheckedBatches | KafkaError] = []
    allowance = Allowance()
    async for part in services.long_work.in_turns(parts):
        outcome: CheckedBatches | KafkaError | None
        try:
            outcome = _check(part, produce, allowance)
        except TooMuchWork:
            outcome = None
        if outcome is None:
            outcome = await _checked_elsewhere(part, produce)
            allowance = Allowance()
        outcomes.append(_with_log(part, outcome, produce))
    produce.verification = await verify_with_coordinator(
        transactional,
        services.partitions,
        services.config.current,
        services.transaction_coordinator_channel,
    )
    for part, outcome in zip(parts, outcomes, strict=True):
        produce.answer(_append(part, outcome, produce))


def _with_log(
    part: _Part, checked: CheckedBatches | KafkaError, produce: _ProduceAppend
) -> CheckedBatches | KafkaError:
    """A new log gets its files now, while there is time: those of all partitions together would take too long."""
    if isinstance(checked, KafkaError):
        return checked
    assert part.partition is not None, "what was checked has a partition"
    try:
        part.partition.log.materialize()
    except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
        return produce.services.failures.of(str(part.partition.topic_partition), error)
    return checked


async def _checked_elsewhere(part: _Part, produce: _ProduceAppend) -> CheckedBatches | KafkaError:
    """Makes a check that is too much work in a thread; other requests have their turn in any case."""
    services = produce.services
    await services.long_work.next_turn()
    produce.now = services.clock.now()
    try:
        partition, header, batch = _addressed(part, produce)
        check = partial(checked_batch, header, batch, partition.log.config, produce.now)
        return await services.disk_pool.unpack(check)
    except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
        return _told(part, error, produce)
    finally:
        produce.now = services.clock.now()


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


def _answer(produce: _ProduceAppend) -> ProduceResponse | Awaitable[ProduceResponse] | None:
    request, context, response = produce.request, produce.context, produce.response
    if request.acks == _NO_ACKS:
        _check_all_written(response)
        return None
    if context.version >= _LEADER_HINT_VERSION:
        _add_endpoints(response, context.listener_name, produce.services.metadata)
    if produce.unacknowledged:
        return _acknowledge(response, produce.unacknowledged, request.timeout_ms, produce.services)
    return response


def _topic_name(topic: TopicProduceData, version: int, metadata: Metadata) -> str | None:
    if version < _TOPIC_ID_VERSION:
        return topic.name
    found = metadata.image.topic_by_id(topic.topic_id)
    return found.name if found is not None else None


def _addressed(part: _Part, produce: _ProduceAppend) -> tuple[Partition, BatchHeader, memoryview]:
    """Raises why nothing may be appended there, or not this, as far as that is told without looking at records."""
    request, context = produce.request, produce.context
    if part.topic is None:
        raise UnknownTopicId
    partition = produce.services.partitions.get(part.topic, part.data.index)
    header, records = _checked_records(part.topic, part.data, request, context)
    partition.check_leader()
    part.partition = partition
    return partition, header, records


def _check(
    part: _Part, produce: _ProduceAppend, allowance: Allowance
) -> CheckedBatches | KafkaError:
    """Raises TooMuchWork."""
    allowance.take(PART_COST_BYTES)
    try:
        partition, header, batch = _addressed(part, produce)
        if not partition.log.is_on_disk:
            allowance.take(NEW_LOG_COST_BYTES)
        return checked_batch(header, batch, partition.log.config, produce.now, allowance)
    except TooMuchWork:
        raise
    except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
        return _told(part, error, produce)


def _told(part: _Part, error: Exception, produce: _ProduceAppend) -> KafkaError:
    name = str(TopicPartition(part.topic or "", part.data.index))
    return produce.services.failures.of(name, error)


def _append(
    part: _Part, checked: CheckedBatches | KafkaError, produce: _ProduceAppend
) -> PartitionProduceResponse:
    request, services = produce.request, produce.services
    topic, partition = part.topic, part.partition
    if isinstance(checked, KafkaError):
        return _refused(part, checked, produce)
    assert topic is not None, "what was checked has a topic"
    assert partition is not None, "what was checked has a partition"
    try:
        produce.verification.check(partition, checked.headers[0])
    except KafkaError as refusal:
        if not isinstance(refusal, OutOfOrderSequenceNumber):
            part.partition = None  # it does not come from the log, and says nothing of it
        return _refused(part, refusal, produce)
    try:
        appended = partition.append_checked(checked, produce.now, acks=request.acks)
    except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
        return _refused(part, _told(part, error, produce), produce)
    messages = appended.last_offset - appended.first_offset + 1
    services.metrics.topics.of(topic).record_append(messages, checked.size_bytes)
    response = PartitionProduceResponse(
        index=part.data.index,
        base_offset=appended.first_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=partition.log_start_offset,
    )
    end_offset = appended.last_offset + 1
    waits_for_disk = services.durability.must_sync(partition, request.acks, end_offset)
    if waits_for_disk and request.acks == _NO_ACKS:
        services.log_flusher.start_flush(partition.log)
    if waits_for_disk or request.acks == ACKS_ALL:
        written = AppendedRecords(
            partition,
            end_offset,
            partition.leader_epoch,
            waits_for_disk,
            must_replicate=request.acks == ACKS_ALL,
        )
        if not written.is_safe:
            produce.unacknowledged.append((written, response))
    return response


def _checked_records(
    topic: str, data: PartitionProduceData, request: ProduceRequest, context: RequestContext
) -> tuple[BatchHeader, memoryview]:
    """Refuses what can be refused before the log sees it; the log checks the batch itself."""
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
    return header, records


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


def _refused(part: _Part, error: KafkaError, produce: _ProduceAppend) -> PartitionProduceResponse:
    services = produce.services
    response = PartitionProduceResponse(index=part.data.index)
    _refuse(response, error)
    topic, index = part.topic or "", part.data.index
    if topic in services.metadata.image.topics:
        services.metrics.topics.of(topic).record_refusal(error, len(part.data.records or b""))
    if isinstance(error, RefusedRecords | RefusedTimestamps):
        response.record_errors = [
            BatchIndexAndErrorMessage(e.index, e.message) for e in error.record_errors
        ]
    if part.partition is not None and isinstance(error, _TELLS_LOG_START):
        response.log_start_offset = part.partition.log_start_offset
    hint = (
        leader_hint(error, topic, index, services.metadata)
        if produce.context.version >= _LEADER_HINT_VERSION
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


def _add_endpoints(response: ProduceResponse, listener_name: str, metadata: Metadata) -> None:
    leaders = [
        partition.current_leader.leader_id
        for topic in response.responses
        for partition in topic.partition_responses
        if partition.error_code and partition.current_leader.leader_id >= 0
    ]
    if leaders:
        response.node_endpoints = [
            NodeEndpoint(*found) for found in leader_endpoints(leaders, listener_name, metadata)
        ]


# --- acknowledgement


async def _acknowledge(
    response: ProduceResponse,
    unacknowledged: Sequence[_Unacknowledged],
    timeout_ms: int,
    services: Services,
) -> ProduceResponse:
    """Answers when every partition is safe or has failed.

    A request asks for some logs to be synced at a time, so that what another producer waits for is not behind a hundred of them.
    """
    room = asyncio.Semaphore(_SYNCED_AT_ONCE)
    if len(unacknowledged) == 1:
        await _wait_until_safe(unacknowledged[0], timeout_ms, services, room)
    else:
        async with TaskGroup() as group:
            for each in unacknowledged:
                group.create_task(_wait_until_safe(each, timeout_ms, services, room))
    return response


async def _wait_until_safe(
    unacknowledged: _Unacknowledged,
    timeout_ms: int,
    services: Services,
    room: asyncio.Semaphore,
) -> None:
    written, response = unacknowledged
    try:
        async with room:
            await services.durability.sync(written)
        if await services.durability.replicate(written, timeout_ms):
            _check_replicas(written.partition)
            async with room:
                await services.durability.sync_alone(written)
    except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
        _refuse(response, services.failures.of(str(written.partition.topic_partition), error))


def _check_replicas(partition: Partition) -> None:
    if partition.is_short_after_append:
        raise NotEnoughReplicasAfterAppend
