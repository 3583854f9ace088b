"""ShareFetch: a member of a share group is handed records, and says what became of those it has (KIP-932).

Versions 1-2. Partitions are remembered in a share session (epoch 0 opens it, -1 closes it and gives back what is
acquired); a session ends with its connection. Acknowledgements in the request are applied and stored first. Waits up to
max_wait_ms for min_bytes of records that may be acquired, committed ones only where `share.isolation.level` says so.
Each partition answers with whole record batches and the ranges in them that the member has acquired, with delivery
counts; max_records is exceeded up to the end of a record batch. Version 2: mode 1 keeps to max_records exactly;
acknowledgements may renew locks (is_renew_ack), in a request that fetches nothing. A quota of bytes bounds an answer,
and makes nobody wait (as in Kafka). Not supported: fetching from followers (as in Kafka).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from millstream.broker.cluster.leader_hints import leader_endpoints, leader_hint
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.broker.share.acknowledgements import (
    Acknowledgements,
    Outcomes,
    acknowledge,
    acknowledgements_of,
    without_hidden,
)
from millstream.broker.share.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    SessionKey,
    ShareSessionPartition,
    ShareSessionPartitions,
    check_group_id,
    check_member_id,
)
from millstream.broker.share.share_fetch import Answer, ShareFetch, ShareFetchLimits
from millstream.broker.share.share_groups import ShareGroups, share_key
from millstream.broker.share.share_partitions import LoadedSharePartition
from millstream.errors import (
    InvalidRequest,
    KafkaError,
    ShareSessionLimitReached,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.metadata.image import MetadataImage
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import share_fetch as messages
from millstream.protocol.generated.share_fetch import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from millstream.runtime import Clock
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.SHARE_FETCH,
    versions=range(1, 3),
    permissions=(
        Permission(Operation.READ, ResourceType.GROUP),
        Permission(Operation.READ, ResourceType.TOPIC),
    ),
    kept_whole="a session is one whole",
)
_BATCH_OPTIMIZED: Final = 0
_RECORD_LIMIT: Final = 1


@dataclass(frozen=True, slots=True)
class Services:
    access: Access
    clock: Clock
    config: DynamicConfig
    failures: FailureLog
    metadata: Metadata
    purgatory: Purgatory
    quotas: NodeQuotas
    share_groups: ShareGroups


async def handle(
    request: ShareFetchRequest, context: RequestContext, services: Services
) -> ShareFetchResponse:
    share = services.share_groups
    share.check_served()
    group_id = check_group_id(request.group_id)
    services.access.check(context, Operation.READ, ResourceType.GROUP, group_id)
    key = SessionKey(group_id, check_member_id(request.member_id))
    acknowledgements = await acknowledgements_of(request.topics, share.long_work)
    check_mode(request)
    if request.is_renew_ack:
        check_renewal(request)
    partitions = await _begin(request, key, acknowledgements, context, services)
    image = services.metadata.image
    allowed, hidden = await without_hidden(
        acknowledgements,
        (partition for partition, _ in partitions),
        context,
        services.access,
        image=image,
        long_work=share.long_work,
    )
    outcomes = await acknowledge(
        share,
        services.metadata.image,
        key,
        allowed,
        may_renew=request.is_renew_ack,
    )
    refused: Outcomes = {
        partition: TopicAuthorizationFailed()
        for partition in acknowledgements.keys() - allowed.keys()
    }
    outcomes |= refused
    answers: dict[ShareSessionPartition, Answer | None] = {}
    if not request.is_renew_ack and request.max_bytes > 0:
        limits = limits_of(request, context, services)
        answers = await _fetch(limits, key, partitions, services, hidden)
    if request.share_session_epoch == FINAL_EPOCH:
        await share.close_session(key)
    if request.share_session_epoch != INITIAL_EPOCH:
        answers = {partition: answer for partition, answer in answers.items() if answer is not None}
    return await _response(key, answers, outcomes, context, services)


def check_mode(request: ShareFetchRequest) -> None:
    """Raises InvalidRequest."""
    if request.share_acquire_mode not in (_BATCH_OPTIMIZED, _RECORD_LIMIT):
        raise InvalidRequest(f"there is no acquire mode {request.share_acquire_mode}")


def check_renewal(request: ShareFetchRequest) -> None:
    """Raises InvalidRequest: who renews does not fetch in the same request."""
    limits = {
        "max bytes": request.max_bytes,
        "min bytes": request.min_bytes,
        "max records": request.max_records,
        "max wait ms": request.max_wait_ms,
    }
    wrong = [name for name, value in limits.items() if value]
    if wrong:
        raise InvalidRequest(f"a request that renews locks has 0 for {', '.join(wrong)}")


# --- the session


async def _begin(
    request: ShareFetchRequest,
    key: SessionKey,
    acknowledgements: Acknowledgements,
    context: RequestContext,
    services: Services,
) -> ShareSessionPartitions:
    """Returns the partitions to read.

    Raises ShareSessionNotFound, InvalidShareSessionEpoch, ShareSessionLimitReached, InvalidRequest.
    """
    sessions = services.share_groups.sessions
    if request.share_session_epoch == FINAL_EPOCH:
        sessions.find(key)
        return []
    in_turns = services.share_groups.long_work.in_turns
    asked = [each async for each in in_turns(_asked(request, services.metadata.image))]
    if request.share_session_epoch == INITIAL_EPOCH:
        try:
            session = sessions.open(
                key, context.connection_id, asked, has_acknowledgements=bool(acknowledgements)
            )
        except ShareSessionLimitReached:
            # so that the client does not ask again at once
            await asyncio.sleep(request.max_wait_ms / 1000)
            raise
        return session.rotated(0)
    session = sessions.proceed(key, request.share_session_epoch)
    sessions.update(session, asked, _forgotten(request))
    return session.rotated(request.share_session_epoch)


def _asked(
    request: ShareFetchRequest, image: MetadataImage
) -> Iterable[tuple[ShareSessionPartition, str | None]]:
    for topic in request.topics:
        known = image.topic_by_id(topic.topic_id)
        name = None if known is None else known.name
        for partition in topic.partitions:
            yield ShareSessionPartition(topic.topic_id, partition.partition_index), name


def _forgotten(request: ShareFetchRequest) -> Iterable[ShareSessionPartition]:
    return (
        ShareSessionPartition(topic.topic_id, partition)
        for topic in request.forgotten_topics_data
        for partition in topic.partitions
    )


# --- reading


async def _fetch(
    limits: ShareFetchLimits,
    key: SessionKey,
    partitions: ShareSessionPartitions,
    services: Services,
    hidden: AbstractSet[str],
) -> dict[ShareSessionPartition, Answer | None]:
    """Every partition that was asked for; None where there is nothing for this member."""
    answers: dict[ShareSessionPartition, Answer | None] = dict.fromkeys(
        partition for partition, _ in partitions
    )
    loaded: dict[LoadedSharePartition, ShareSessionPartition] = {}
    async for partition, topic in services.share_groups.long_work.in_turns(partitions):
        if topic in hidden:
            answers[partition] = TopicAuthorizationFailed()
            continue
        try:
            loaded[await _load(key, partition, topic, services)] = partition
        except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
            name = str(TopicPartition(topic or "", partition.partition))
            answers[partition] = services.failures.of(name, error)
    if loaded:
        fetch = _share_fetch(limits, key, list(loaded), services)
        found = await fetch.run(services.purgatory, services.clock)
        for each, answer in found.items():
            answers[loaded[each]] = answer
    return answers


async def _load(
    key: SessionKey, partition: ShareSessionPartition, topic: str | None, services: Services
) -> LoadedSharePartition:
    if topic is None:
        raise UnknownTopicId
    if services.metadata.image.partition(topic, partition.partition) is None:
        raise UnknownTopicOrPartition
    return await services.share_groups.partitions.load(share_key(key, partition), topic)


def limits_of(
    request: ShareFetchRequest, context: RequestContext, services: Services
) -> ShareFetchLimits:
    """Returns what an answer may hold, and what it waits for."""
    max_bytes = min(request.max_bytes, services.config.current.fetch_max_bytes)
    if services.quotas.is_enabled:
        # What it is sent is not counted, as in Kafka.
        max_bytes = min(max_bytes, services.quotas.fetch_bytes_max(context))
    return ShareFetchLimits(
        max_wait_ms=request.max_wait_ms,
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        records_max=request.max_records,
        batch_size=request.batch_size,
        is_record_limit=request.share_acquire_mode == _RECORD_LIMIT,
    )


def _share_fetch(
    limits: ShareFetchLimits,
    key: SessionKey,
    loaded: list[LoadedSharePartition],
    services: Services,
) -> ShareFetch:
    share = services.share_groups
    settings = share.settings.of(key.group_id)
    return ShareFetch(
        key.member_id,
        loaded,
        limits,
        settings,
        share.partitions,
        long_work=share.long_work,
        failures=services.failures,
    )


# --- answering


async def _response(
    key: SessionKey,
    answers: dict[ShareSessionPartition, Answer | None],
    outcomes: Outcomes,
    context: RequestContext,
    services: Services,
) -> ShareFetchResponse:
    metadata = services.metadata
    lock_ms = services.share_groups.settings.of(key.group_id).limits.lock_duration_ms
    response = ShareFetchResponse(acquisition_lock_timeout_ms=lock_ms)
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    leaders: list[int] = []
    partitions = [*answers, *(partition for partition in outcomes if partition not in answers)]
    async for partition in services.share_groups.long_work.in_turns(partitions):
        topic = topics.get(partition.topic_id)
        if topic is None:
            topic = topics[partition.topic_id] = ShareFetchableTopicResponse(
                topic_id=partition.topic_id
            )
            response.responses.append(topic)
        data = _partition_data(partition, answers.get(partition), metadata)
        refused = outcomes.get(partition)
        if refused is not None:
            data.acknowledge_error_code = refused.code
            data.acknowledge_error_message = str(refused)
        if data.current_leader.leader_id >= 0:
            leaders.append(data.current_leader.leader_id)
        topic.partitions.append(data)
    response.node_endpoints = [
        NodeEndpoint(*found) for found in leader_endpoints(leaders, context.listener_name, metadata)
    ]
    return response


def _partition_data(
    partition: ShareSessionPartition, answer: Answer | None, metadata: Metadata
) -> PartitionData:
    data = PartitionData(partition_index=partition.partition, records=b"")
    if isinstance(answer, KafkaError):
        data.error_code, data.error_message = answer.code, answer.detail
        known = metadata.image.topic_by_id(partition.topic_id)
        hint = leader_hint(
            answer, "" if known is None else known.name, partition.partition, metadata
        )
        if hint is not None:
            data.current_leader = LeaderIdAndEpoch(hint.leader_id, hint.leader_epoch)
    elif answer is not None:
        data.records = answer.records
        data.acquired_records = [messages.AcquiredRecords(*each) for each in answer.ranges]
    return data
