"""Fetch: committed records from given offsets on, for consumers.

Versions 4-18. Topics by name up to 12, by topic id from 13 on. Waits up to max_wait_ms for min_bytes (bounded by max_bytes), but
answers at once when a partition fails or diverged. Whole batches; each partition up to its own limit, all together up to
max_bytes, except that the first batch of the first partition with data is sent however large it is (KIP-74). At read_committed
nothing at or after the last stable offset is sent, and aborted transactions are listed. Leader epochs (9+) fence readers with
old metadata; the epoch of the last fetched record (12+) finds diverged logs. Sessions (KIP-227, 7+) remember what is asked for.
Records of more than a few kilobytes are ranges of log files, sent without being read.
Not supported: fetching as a replica (no partition has followers yet: NOT_LEADER_OR_FOLLOWER, as Kafka tells brokers that are no
replica), fetching from followers (rack id is ignored, as without a replica selector).
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Final, NamedTuple

from millstream.broker.api_spec import ApiSpec
from millstream.broker.fetch_session import Answer, FetchKey
from millstream.broker.fetch_sessions import FetchContext
from millstream.broker.leader_hints import leader_endpoints, leader_hint
from millstream.broker.request_context import RequestContext
from millstream.errors import (
    CorruptMessage,
    InconsistentTopicId,
    KafkaError,
    NotLeaderOrFollower,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.model import ZERO_UUID, TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from millstream.replication.fetch_position import NO_EPOCH, FetchPosition, FetchRead
from millstream.replication.partition import Partition

API = ApiSpec(ApiKey.FETCH, versions=range(4, 19))

_READ_COMMITTED: Final = 1
_TOPIC_ID_VERSION: Final = 13
_LEADER_HINT_VERSION: Final = 16
_BROKERS_FAULT: Final = (CorruptMessage.code, UnknownServerError.code)
_NOT_HOSTED: Final = (UnknownTopicOrPartition, UnknownTopicId)
"""Told by Kafka before it looks at logs, where no list of aborted transactions is empty instead of null."""


class _Limits(NamedTuple):
    min_bytes: int
    max_bytes: int
    is_read_committed: bool
    is_replica: bool = False


class _ReadAll(NamedTuple):
    answers: list[Answer]
    size_bytes: int
    must_answer: bool
    """A partition failed or diverged: waiting longer would not help the fetcher."""


def handle(
    request: FetchRequest, context: RequestContext
) -> FetchResponse | Awaitable[FetchResponse]:
    node = context.node
    session = node.fetch_sessions.begin(
        request, context.version, context.now, lambda key: _located(key, context)
    )
    limits = _limits(request, node.config.fetch_max_bytes)
    read = _read_all(session.partitions(), limits, context)
    if (
        session.is_empty
        or request.max_wait_ms <= 0
        or read.must_answer
        or read.size_bytes >= limits.min_bytes
    ):
        return _response(read, session, context)
    waiting = _Waiting(session.partitions(), limits, context)
    operation = node.purgatory.watch(waiting.partitions, request.max_wait_ms, waiting.is_satisfied)

    def stirred(key: FetchKey, asked: FetchPartition) -> None:
        if waiting.is_satisfied_with(key, asked):
            node.purgatory.satisfy(operation)

    session.when_stirred(stirred)

    async def wait() -> FetchResponse:
        try:
            await operation.wait()
        finally:
            session.when_stirred(None)
        return _response(_read_all(session.partitions(), limits, context), session, context)

    return wait()


def _limits(request: FetchRequest, bytes_max: int) -> _Limits:
    max_bytes = min(request.max_bytes, bytes_max)
    return _Limits(
        min(request.min_bytes, max_bytes),
        max_bytes,
        request.isolation_level == _READ_COMMITTED,
        is_replica=request.replica_id >= 0 or request.replica_state.replica_id >= 0,
    )


# --- reading


def _read_all(
    asked: Sequence[tuple[FetchKey, FetchPartition]], limits: _Limits, context: RequestContext
) -> _ReadAll:
    answers: list[Answer] = []
    size_bytes = 0
    must_answer = False
    for key, partition in asked:
        remaining = max(0, limits.max_bytes - size_bytes)
        try:
            found = _find_partition(key, context)
            if limits.is_replica:
                raise NotLeaderOrFollower("the broker that fetches is no replica of the partition")
            read = found.read(
                _position(partition, limits, remaining), min_one_batch=size_bytes == 0
            )
        except KafkaError as error:
            answers.append((key, _refused(key, error, context)))
            must_answer = True
            continue
        size_bytes += len(read.records)
        must_answer = must_answer or read.diverging is not None
        answers.append((key, _partition_data(key.partition, read)))
    return _ReadAll(answers, size_bytes, must_answer)


def _find_partition(key: FetchKey, context: RequestContext) -> Partition:
    if context.version < _TOPIC_ID_VERSION:
        return context.node.partitions.get(key.topic, key.partition)
    topic = context.node.metadata.image.topic_by_id(key.topic_id)
    if topic is None:
        raise UnknownTopicId
    partition = context.node.partitions.get(topic.name, key.partition)
    if partition.topic_id != key.topic_id:
        raise InconsistentTopicId
    return partition


def _located(key: FetchKey, context: RequestContext) -> TopicPartition | None:
    if key.topic_id == ZERO_UUID:
        return TopicPartition(key.topic, key.partition)
    topic = context.node.metadata.image.topic_by_id(key.topic_id)
    return TopicPartition(topic.name, key.partition) if topic is not None else None


def _position(asked: FetchPartition, limits: _Limits, remaining_bytes: int) -> FetchPosition:
    return FetchPosition(
        asked.fetch_offset,
        max(0, min(asked.partition_max_bytes, remaining_bytes)),
        limits.is_read_committed,
        max(NO_EPOCH, asked.current_leader_epoch),
        asked.last_fetched_epoch,
    )


def _partition_data(index: int, read: FetchRead) -> PartitionData:
    data = PartitionData(
        partition_index=index,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        aborted_transactions=None,
        records=read.records,
    )
    if read.aborted_transactions is not None:
        data.aborted_transactions = [
            AbortedTransaction(aborted.producer_id, aborted.first_offset)
            for aborted in read.aborted_transactions
        ]
    if read.diverging is not None:
        data.diverging_epoch = EpochEndOffset(*read.diverging)
    return data


def _refused(key: FetchKey, error: KafkaError, context: RequestContext) -> PartitionData:
    data = PartitionData(
        partition_index=key.partition,
        error_code=error.code,
        high_watermark=-1,
        aborted_transactions=[] if isinstance(error, _NOT_HOSTED) else None,
        records=b"",
    )
    if context.version >= _LEADER_HINT_VERSION:
        topic = key.topic
        if key.topic_id != ZERO_UUID:
            found = context.node.metadata.image.topic_by_id(key.topic_id)
            topic = found.name if found is not None else ""
        hint = leader_hint(error, topic, key.partition, context)
        if hint is not None:
            data.current_leader = LeaderIdAndEpoch(hint.leader_id, hint.leader_epoch)
    return data


# --- waiting


class _Waiting:
    """Counts the bytes that have become readable, one partition at a time."""

    def __init__(
        self,
        asked: Sequence[tuple[FetchKey, FetchPartition]],
        limits: _Limits,
        context: RequestContext,
    ) -> None:
        self._limits = limits
        self._context = context
        self._readable: dict[TopicPartition, int] = {}
        self._positions: dict[TopicPartition, tuple[Partition, FetchPosition]] = {}
        self._total = 0
        for key, partition_asked in asked:
            self._add(key, partition_asked)  # it was found a moment ago

    @property
    def partitions(self) -> list[TopicPartition]:
        return list(self._positions)

    def is_satisfied(self, progressed: TopicPartition) -> bool:
        try:
            self._count(progressed)
        except KafkaError:
            return True  # the answer tells which error
        return self._total >= self._limits.min_bytes

    def is_satisfied_with(self, key: FetchKey, asked: FetchPartition) -> bool:
        """A partition that was quiet made progress."""
        try:
            self._add(key, asked)
        except KafkaError:
            return True  # see above
        return self._total >= self._limits.min_bytes

    def _add(self, key: FetchKey, asked: FetchPartition) -> None:
        """Raises KafkaError."""
        partition = _find_partition(key, self._context)
        self._positions[partition.topic_partition] = (
            partition,
            _position(asked, self._limits, self._limits.max_bytes),
        )
        self._count(partition.topic_partition)

    def _count(self, topic_partition: TopicPartition) -> None:
        partition, position = self._positions[topic_partition]
        readable = partition.readable_bytes(position)
        self._total += readable - self._readable.get(topic_partition, 0)
        self._readable[topic_partition] = readable


# --- answering


def _count(key: FetchKey, data: PartitionData, context: RequestContext) -> None:
    """Errors that clients bring about by what they ask for are not failures of the broker, as in Kafka."""
    if data.error_code and data.error_code not in _BROKERS_FAULT:
        return
    name = key.topic
    if key.topic_id != ZERO_UUID:
        found = context.node.metadata.image.topic_by_id(key.topic_id)
        if found is None:
            return  # it was deleted a moment ago
        name = found.name
    metrics = context.node.metrics.topics.of(name)
    metrics.totalfetchrequests += 1
    metrics.failedfetchrequests += bool(data.error_code)
    metrics.bytesout += len(data.records or b"")


def _response(read: _ReadAll, session: FetchContext, context: RequestContext) -> FetchResponse:
    session_id, chosen = session.choose(read.answers)
    topics: dict[tuple[str, bytes], FetchableTopicResponse] = {}
    for key, data in chosen:
        topic = topics.get(key[:2])
        if topic is None:
            topic = topics[key[:2]] = FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id)
        topic.partitions.append(data)
        _count(key, data, context)
    response = FetchResponse(session_id=session_id, responses=list(topics.values()))
    if read.must_answer and context.version >= _LEADER_HINT_VERSION:
        leaders = [
            data.current_leader.leader_id
            for _, data in chosen
            if data.current_leader.leader_id >= 0
        ]
        response.node_endpoints = [
            NodeEndpoint(*found) for found in leader_endpoints(leaders, context)
        ]
    return response
