"""ShareAcknowledge: a member of a share group says what became of the records it has acquired (KIP-932).

Versions 1-2. In a share session only (epoch -1 closes it, which gives back what is not acknowledged). Each partition is
acknowledged by itself: accept, release, reject, gap, and from version 2 on renew (with is_renew_ack), for a range at
once or record by record. Answered when it is stored. Version 2 tells how long a lock lasts.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.cluster.leader_hints import leader_endpoints, leader_hint
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.broker.share.acknowledgements import (
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
    check_group_id,
    check_member_id,
)
from millstream.broker.share.share_groups import ShareGroups
from millstream.errors import InvalidShareSessionEpoch, KafkaError, TopicAuthorizationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.SHARE_ACKNOWLEDGE,
    versions=range(1, 3),
    permissions=(
        Permission(Operation.READ, ResourceType.GROUP),
        Permission(Operation.READ, ResourceType.TOPIC),
    ),
    kept_whole="a session is one whole",
)
_LOCK_DURATION_VERSION: Final = 2


async def handle(
    request: ShareAcknowledgeRequest,
    context: RequestContext,
    *,
    access: Access,
    metadata: Metadata,
    share_groups: ShareGroups,
) -> ShareAcknowledgeResponse:
    share_groups.check_served()
    group_id = check_group_id(request.group_id)
    access.check(context, Operation.READ, ResourceType.GROUP, group_id)
    key = SessionKey(group_id, check_member_id(request.member_id))
    if request.share_session_epoch == INITIAL_EPOCH:
        raise InvalidShareSessionEpoch("a session begins with a fetch")
    if request.share_session_epoch == FINAL_EPOCH:
        share_groups.sessions.find(key)
    else:
        share_groups.sessions.proceed(key, request.share_session_epoch)
    acknowledgements = await acknowledgements_of(request.topics, share_groups.long_work)
    allowed, _ = await without_hidden(
        acknowledgements,
        (),
        context,
        access,
        image=metadata.image,
        long_work=share_groups.long_work,
    )
    outcomes = await acknowledge(
        share_groups, metadata.image, key, allowed, may_renew=request.is_renew_ack
    )
    refused: Outcomes = {
        partition: TopicAuthorizationFailed()
        for partition in acknowledgements.keys() - allowed.keys()
    }
    outcomes |= refused
    if request.share_session_epoch == FINAL_EPOCH:
        await share_groups.close_session(key)
    return await _response(key, outcomes, context, metadata=metadata, share_groups=share_groups)


async def _response(
    key: SessionKey,
    outcomes: Outcomes,
    context: RequestContext,
    *,
    metadata: Metadata,
    share_groups: ShareGroups,
) -> ShareAcknowledgeResponse:
    response = ShareAcknowledgeResponse()
    if context.version >= _LOCK_DURATION_VERSION:
        limits = share_groups.settings.of(key.group_id).limits
        response.acquisition_lock_timeout_ms = limits.lock_duration_ms
    topics: dict[bytes, ShareAcknowledgeTopicResponse] = {}
    leaders: list[int] = []
    async for partition, refused in share_groups.long_work.in_turns(outcomes.items()):
        topic = topics.get(partition.topic_id)
        if topic is None:
            topic = topics[partition.topic_id] = ShareAcknowledgeTopicResponse(partition.topic_id)
            response.responses.append(topic)
        data = _partition_data(partition, refused, metadata=metadata)
        if data.current_leader.leader_id >= 0:
            leaders.append(data.current_leader.leader_id)
        topic.partitions.append(data)
    response.node_endpoints = [
        NodeEndpoint(*found) for found in leader_endpoints(leaders, context.listener_name, metadata)
    ]
    return response


def _partition_data(
    partition: ShareSessionPartition, refused: KafkaError | None, *, metadata: Metadata
) -> PartitionData:
    data = PartitionData(partition_index=partition.partition)
    if refused is not None:
        data.error_code, data.error_message = refused.code, refused.detail
        known = metadata.image.topic_by_id(partition.topic_id)
        hint = leader_hint(
            refused, "" if known is None else known.name, partition.partition, metadata
        )
        if hint is not None:
            data.current_leader = LeaderIdAndEpoch(hint.leader_id, hint.leader_epoch)
    return data
