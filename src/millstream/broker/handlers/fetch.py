"""Fetch: records from given offsets on, for consumers and for followers.

Versions 4-18. Topics by name up to 12, by topic id from 13 on. Waits up to max_wait_ms for min_bytes (bounded
by max_bytes), but answers at once when a partition fails or diverged. Whole batches; each partition up to its
own limit, all together up to max_bytes, except that the first batch of the first partition with data is sent
however large it is (KIP-74). At read_committed nothing at or after the last stable offset is sent, and
aborted transactions are listed. Leader epochs (9+) fence readers with old metadata; the epoch of the last
fetched record (12+) finds diverged logs. Sessions (KIP-227, 7+) remember what is asked for. Records of more
than a few kilobytes are ranges of log files, sent without being read.

Thousands of partitions are read, waited for and answered in turns with other requests. A partition may make progress
between: one that is waited for is registered with the purgatory before its bytes are counted, and one that is answered
is quiet in its session only if it has nothing more by then (`fetch_session.py`). So no progress is missed.

A follower (its id in the request, its broker epoch too from 15 on) reads to the log end, and what it asks for says what
it has: that is noted once a request, when its partitions are read first. What is appended wakes it. A consumer may read
from followers from version 11 on (KIP-392), as far as they know what is committed. If it tells its rack and
`replica.selector.class` looks at racks, the leader names an in-sync follower in that rack and sends no records.
Consumers above their quota get an answer without records, and their session stays as it is (KIP-219). Who is out of
sync and throttled (KIP-73) is sent nothing while the leader's rate is exceeded, and waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

from millstream.broker.cluster.leader_hints import leader_endpoints
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.fetch.fetch_guard import FetchGuard
from millstream.broker.fetch.fetch_refusals import failed_fetch, refused, topic_name
from millstream.broker.fetch.fetch_session import Answer, FetchKey
from millstream.broker.fetch.fetch_sessions import FetchContext, FetchSessions, fetching_replica
from millstream.broker.fetch.preferred_replica import counted_rack, preferred_replica
from millstream.broker.fetch.replicated_bytes import count_replicated, is_held
from millstream.broker.long_work import LongWork
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.quotas.fetch_quota import held_back
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.requests.turns import AT_ONCE, turns_of
from millstream.broker.services import Metadata, Partitions
from millstream.errors import (
    CorruptMessage,
    InconsistentTopicId,
    KafkaError,
    UnknownServerError,
    UnknownTopicId,
)
from millstream.model import BrokerId, TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    NodeEndpoint,
    PartitionData,
    ReplicaState,
)
from millstream.replication.fetch_position import (
    NO_EPOCH,
    FetchingReplica,
    FetchPosition,
    FetchRead,
)
from millstream.replication.partition import Partition
from millstream.replication.replica_progress import FetchPulse
from millstream.replication.throttle import ReplicationThrottles
from millstream.runtime import Clock
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.FETCH,
    versions=range(4, 19),
    permissions=(
        Permission(Operation.CLUSTER_ACTION, ResourceType.CLUSTER),
        Permission(Operation.READ, ResourceType.TOPIC),
    ),
    kept_whole="a session is one whole; it is read in turns",
    tells_all=True,
    answer_lists=("responses", "partitions"),
)

_READ_COMMITTED: Final = 1
_TOPIC_ID_VERSION: Final = 13
_FOLLOWERS_VERSION: Final = 11
_BROKERS_FAULT: Final = (CorruptMessage.code, UnknownServerError.code)
Asked = tuple[FetchKey, FetchPartition]


@dataclass(frozen=True, slots=True)
class Services:
    access: Access
    clock: Clock
    config: DynamicConfig
    failures: FailureLog
    fetch_sessions: FetchSessions
    long_work: LongWork
    metadata: Metadata
    metrics: NodeMetrics
    partitions: Partitions
    purgatory: Purgatory
    quotas: NodeQuotas
    throttles: ReplicationThrottles


class _Limits(NamedTuple):
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    is_read_committed: bool
    replica: ReplicaState | None = None
    """The follower that fetches."""
    may_follow: bool = False
    rack: str = ""
    """Where it is to be looked for a replica near the consumer."""
    guard: FetchGuard | None = None  # where not everybody may read everything


def handle(
    request: FetchRequest, context: RequestContext, services: Services
) -> FetchResponse | Awaitable[FetchResponse]:
    limits = _limits(request, context, services)
    session = services.fetch_sessions.begin(
        request,
        context.version,
        context.now,
        partial(_quiet, limits=limits, context=context, services=services),
        rules_version=services.access.rules_version,
    )
    asked = session.partitions()
    if limits.guard is not None:
        limits.guard.begin([key for key, _ in asked])
    if len(asked) > AT_ONCE:
        return _handle_in_turns(asked, session, limits, context, services)
    reader = _FetchReader(limits, context, services, is_first=True)
    reader.add(asked)
    if session.is_empty or reader.is_enough:
        return _answer(reader.answers, session, limits, context, services)
    delayed = _DelayedFetch(limits, context, services)
    session.set_progress_listener(delayed.on_progress)
    delayed.add(asked)
    return _wait_and_answer(delayed, session, limits, context, services)


failed = failed_fetch


async def _handle_in_turns(
    asked: Sequence[Asked],
    session: FetchContext,
    limits: _Limits,
    context: RequestContext,
    services: Services,
) -> FetchResponse:
    reader = await _read_in_turns(asked, limits, context, services, is_first=True)
    if reader.is_enough:
        return await _answer_in_turns(reader.answers, session, limits, context, services)
    delayed = _DelayedFetch(limits, context, services)
    session.set_progress_listener(delayed.on_progress)
    try:
        for part in turns_of(session.partitions()):
            await services.long_work.next_turn()
            if delayed.is_over:
                break
            delayed.add(part)
    except BaseException:
        delayed.end()
        session.set_progress_listener(None)
        raise
    return await _wait_and_answer(delayed, session, limits, context, services)


async def _wait_and_answer(
    delayed: _DelayedFetch,
    session: FetchContext,
    limits: _Limits,
    context: RequestContext,
    services: Services,
) -> FetchResponse:
    try:
        await delayed.wait()
    finally:
        session.set_progress_listener(None)
    asked = session.partitions()
    if len(asked) > AT_ONCE:
        reader = await _read_in_turns(asked, limits, context, services, is_first=False)
        return await _answer_in_turns(reader.answers, session, limits, context, services)
    reader = _FetchReader(limits, context, services, is_first=False)
    reader.add(asked)
    return _answer(reader.answers, session, limits, context, services)


def _limits(request: FetchRequest, context: RequestContext, services: Services) -> _Limits:
    config = services.config.current
    replica = fetching_replica(request)
    max_bytes = min(request.max_bytes, config.fetch_max_bytes)
    if services.quotas.is_enabled and replica is None:
        max_bytes = min(max_bytes, services.quotas.fetch_bytes_max(context))
    return _Limits(
        request.max_wait_ms,
        min(request.min_bytes, max_bytes),
        max_bytes,
        request.isolation_level == _READ_COMMITTED,
        replica,
        may_follow=replica is None and context.version >= _FOLLOWERS_VERSION,
        rack=counted_rack(request.rack_id, config.replica_selector_class),
        guard=FetchGuard.of(services.access, context, services.metadata, replica),
    )


# --- reading


class _FetchReader:
    """Reads the records of one answer, partition after partition.

    `is_first`: the request was not read for before, so that a follower's says how far it is.
    """

    def __init__(
        self, limits: _Limits, context: RequestContext, services: Services, *, is_first: bool
    ) -> None:
        self._limits = limits
        self._context = context
        self._services = services
        self._size_bytes = 0
        self._must_answer = False
        """A partition failed, diverged or is to be read elsewhere: waiting longer would not help the fetcher."""
        self._notes = limits.replica if is_first else None
        self.answers: list[Answer] = []

    @property
    def is_enough(self) -> bool:
        """The fetcher would not wait for more."""
        return (
            self._limits.max_wait_ms <= 0
            or self._must_answer
            or self._size_bytes >= self._limits.min_bytes
        )

    def add(self, asked: Sequence[Asked]) -> None:
        limits, context, services, answers, size_bytes = (
            self._limits,
            self._context,
            self._services,
            self.answers,
            self._size_bytes,
        )
        for key, partition in asked:
            remaining = max(0, limits.max_bytes - size_bytes)
            try:
                if limits.guard is not None:
                    limits.guard.check(key)
                found = _find_partition(key, context, services)
                position = _position(partition, limits, remaining)
                if limits.rack and limits.replica is None:
                    elsewhere = self._found_elsewhere(key, found, position)
                    if elsewhere is not None:
                        answers.append((key, elsewhere))
                        self._must_answer = True
                        continue
                read = self._read(found, partition, position, min_one_batch=size_bytes == 0)
            except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
                told = services.failures.of(_name(key, services), error)
                answers.append((key, refused(key, told, context.version, services.metadata)))
                self._must_answer = True
                continue
            size_bytes += len(read.records)
            if read.diverging is not None:
                self._must_answer = True
            answers.append((key, _partition_data(key.partition, read)))
        self._size_bytes = size_bytes

    def _read(
        self,
        found: Partition,
        asked: FetchPartition,
        position: FetchPosition,
        *,
        min_one_batch: bool,
    ) -> FetchRead:
        follower = self._limits.replica
        if follower is not None and is_held(found, follower, self._services):
            position, min_one_batch = replace(position, bytes_max=0), False
        replica = self._notes
        if replica is None:
            return found.read(position, min_one_batch=min_one_batch)
        fetching = FetchingReplica(
            BrokerId(replica.replica_id), replica.replica_epoch, asked.log_start_offset
        )
        return found.read_as_replica(
            position, fetching, self._context.now, min_one_batch=min_one_batch
        )

    def _found_elsewhere(
        self, key: FetchKey, found: Partition, position: FetchPosition
    ) -> PartitionData | None:
        """Returns what tells the consumer of a replica near it; None where it is to read here."""
        preferred = preferred_replica(
            found,
            position.offset,
            self._limits.rack,
            self._context.listener_name,
            self._services.metadata.image,
        )
        if preferred is None:
            return None
        # Of no bytes: the epochs are checked, and what is told beside records is told.
        data = _partition_data(
            key.partition, found.read(replace(position, bytes_max=0), min_one_batch=False)
        )
        data.preferred_read_replica = preferred
        return data


async def _read_in_turns(
    asked: Sequence[Asked],
    limits: _Limits,
    context: RequestContext,
    services: Services,
    *,
    is_first: bool,
) -> _FetchReader:
    reader = _FetchReader(limits, context, services, is_first=is_first)
    for part in turns_of(asked):
        await services.long_work.next_turn()
        reader.add(part)
    return reader


def _find_partition(key: FetchKey, context: RequestContext, services: Services) -> Partition:
    if context.version < _TOPIC_ID_VERSION:
        return services.partitions.get(key.topic, key.partition)
    topic = services.metadata.image.topic_by_id(key.topic_id)
    if topic is None:
        raise UnknownTopicId
    partition = services.partitions.get(topic.name, key.partition)
    if partition.topic_id != key.topic_id:
        raise InconsistentTopicId
    return partition


def _quiet(
    key: FetchKey,
    asked: FetchPartition,
    told: PartitionData,
    pulse: FetchPulse,
    *,
    limits: _Limits,
    context: RequestContext,
    services: Services,
) -> TopicPartition | None:
    """See `FindQuiet`."""
    replica = limits.replica
    end = told.last_stable_offset if limits.is_read_committed else told.high_watermark
    if asked.fetch_offset < end:
        return None  # others took all the room of the answer
    try:
        partition = _find_partition(key, context, services)
        partition.check_reader(_position(asked, limits, 0))
    except KafkaError:
        return None  # the next fetch tells which error
    progressed = told.high_watermark != partition.high_watermark
    if progressed or told.log_start_offset != partition.log_start_offset:
        return None
    if replica is not None and not partition.let_rest(BrokerId(replica.replica_id), pulse):
        return None  # it has to ask again
    return partition.topic_partition


def _position(asked: FetchPartition, limits: _Limits, remaining_bytes: int) -> FetchPosition:
    return FetchPosition(
        asked.fetch_offset,
        max(0, min(asked.partition_max_bytes, remaining_bytes)),
        limits.is_read_committed,
        max(NO_EPOCH, asked.current_leader_epoch),
        asked.last_fetched_epoch,
        limits.replica is not None,
        limits.may_follow,
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


def _name(key: FetchKey, services: Services) -> str:
    return str(TopicPartition(topic_name(key, services.metadata), key.partition))


# --- waiting


class _DelayedFetch:
    """Counts the bytes that have become readable, one partition at a time. Owns the operation that waits for them."""

    def __init__(self, limits: _Limits, context: RequestContext, services: Services) -> None:
        self._purgatory = purgatory = services.purgatory
        self._limits = limits
        self._context = context
        self._services = services
        self._readable: dict[TopicPartition, int] = {}
        self._positions: dict[TopicPartition, tuple[Partition, FetchPosition]] = {}
        self._total = 0
        self._operation = purgatory.watch(
            (), limits.max_wait_ms, self._is_satisfied, minds_growth=limits.replica is not None
        )

    @property
    def is_over(self) -> bool:
        return self._operation.is_done

    def end(self) -> None:
        self._purgatory.forget(self._operation)

    def wait(self) -> Awaitable[bool]:
        return self._operation.wait()

    def add(self, asked: Sequence[Asked]) -> None:
        """Each is watched first and counted then: what it got since it was read counts too."""
        for key, partition in asked:
            self._add(key, partition, is_watched=True)

    def on_progress(self, key: FetchKey, asked: FetchPartition) -> None:
        """A partition that was quiet made progress. The session goes on telling of it."""
        self._add(key, asked, is_watched=False)

    def _add(self, key: FetchKey, asked: FetchPartition, *, is_watched: bool) -> None:
        try:
            partition = _find_partition(key, self._context, self._services)
            name = partition.topic_partition
            if is_watched:
                self._purgatory.watch_also(self._operation, (name,))
            position = _position(asked, self._limits, self._limits.max_bytes)
            self._positions[name] = (partition, position)
            if self._is_satisfied(name):
                self._purgatory.satisfy(self._operation)
        except Exception:  # noqa: BLE001 - it comes again when the answer is read
            self._purgatory.satisfy(self._operation)  # the answer tells which error

    def _is_satisfied(self, progressed: TopicPartition) -> bool:
        partition, position = self._positions[progressed]
        try:
            follower = self._limits.replica
            if follower is not None and is_held(partition, follower, self._services):
                return False
            readable = partition.readable_bytes(position)
        except KafkaError:
            return True  # see above
        self._total += readable - self._readable.get(progressed, 0)
        self._readable[progressed] = readable
        return self._total >= self._limits.min_bytes


# --- answering


def _count(
    key: FetchKey, data: PartitionData, services: Services, replica: ReplicaState | None
) -> None:
    """Errors that clients bring about by what they ask for are not failures of the broker, as in Kafka."""
    if data.error_code and data.error_code not in _BROKERS_FAULT:
        return
    name = topic_name(key, services.metadata)
    if not name:
        return  # it was deleted a moment ago
    metrics = services.metrics.topics.of(name)
    metrics.totalfetchrequests += 1
    metrics.failedfetchrequests += bool(data.error_code)
    sent = len(data.records or b"")
    if replica is None:
        metrics.bytesout += sent
    elif sent:
        count_replicated(TopicPartition(name, key.partition), sent, replica, services)


class _ResponseBuilder:
    """A response that is made partition after partition."""

    def __init__(
        self,
        session: FetchContext,
        limits: _Limits,
        context: RequestContext,
        services: Services,
    ) -> None:
        self._replica = limits.replica
        self.response = FetchResponse(session_id=session.begin_answer())
        self._session = session
        self._context = context
        self._services = services
        self._topics: dict[tuple[str, bytes], FetchableTopicResponse] = {}
        self._leaders: dict[int, None] = {}

    def add(self, answers: Sequence[Answer]) -> None:
        known_leaders = len(self._leaders)
        for key, data in answers:
            if not self._session.choose(key, data):
                continue
            topic = self._topics.get(key[:2])
            if topic is None:
                topic = FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id)
                self._topics[key[:2]] = topic
                self.response.responses.append(topic)
            topic.partitions.append(data)
            _count(key, data, self._services, self._replica)
            if data.error_code and data.current_leader.leader_id >= 0:
                self._leaders[data.current_leader.leader_id] = None
        if len(self._leaders) > known_leaders:
            self.response.node_endpoints = [
                NodeEndpoint(*found)
                for found in leader_endpoints(
                    self._leaders, self._context.listener_name, self._services.metadata
                )
            ]


def _answer(
    answers: Sequence[Answer],
    session: FetchContext,
    limits: _Limits,
    context: RequestContext,
    services: Services,
) -> FetchResponse:
    if services.quotas.is_enabled and limits.replica is None:
        held = held_back(answers, session, context, services.quotas)
        if held is not None:
            return held
    builder = _ResponseBuilder(session, limits, context, services)
    builder.add(answers)
    return builder.response


async def _answer_in_turns(
    answers: Sequence[Answer],
    session: FetchContext,
    limits: _Limits,
    context: RequestContext,
    services: Services,
) -> FetchResponse:
    if services.quotas.is_enabled and limits.replica is None:
        held = held_back(answers, session, context, services.quotas)
        if held is not None:
            return held
    builder = _ResponseBuilder(session, limits, context, services)
    for part in turns_of(answers):
        await services.long_work.next_turn()
        builder.add(part)
    return builder.response
