"""OffsetFetch: what groups have committed.

Versions 1-10. One group up to version 7, several from 8 on, each with its own error. From version 2 on a group may be
asked for everything it has (topics null). From 7 on `require_stable` answers UNSTABLE_OFFSET_COMMIT for offsets that an
open transaction may still change, also in the list of everything a group has, from which Kafka 4.3 leaves what is
staged only. Topics by name up to 9, which means the topic that has the name now; by topic id from 10 on. A partition
without a commit, and one that does not exist, answers offset -1 without an error. From version 9 on a member of a
consumer group says who it is, and is refused when its epoch is not its own (STALE_MEMBER_EPOCH).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.coordinator.result import Caller
from millstream.errors import (
    GroupAuthorizationFailed,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicId,
)
from millstream.metadata.image import MetadataImage
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.OFFSET_FETCH,
    versions=range(1, 11),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
    lists=(
        Lists(("groups", "topics", "partition_indexes"), ("groups", "topics", "partitions")),
        Lists(("topics", "partition_indexes"), ("topics", "partitions")),
    ),
    tells_all=True,
    answer_lists=("groups", "topics", "partitions"),
)
_ERROR_VERSION = 2
_SEVERAL_GROUPS_VERSION = 8
_TOPIC_ID_VERSION = 10

_FetchGroup = Callable[[OffsetFetchRequestGroup], Awaitable[OffsetFetchResponseGroup]]


async def handle(
    request: OffsetFetchRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
    long_work: LongWork,
    metadata: Metadata,
) -> OffsetFetchResponse:
    fetch: _FetchGroup = partial(
        _fetch, request.require_stable, context.caller, group_coordinator=group_coordinator
    )
    if not access.is_open:
        fetch = partial(_fetch_allowed, fetch, context, access, long_work=long_work)
    if context.version < _SEVERAL_GROUPS_VERSION:
        return await _handle_one_group(request, context.version, fetch)
    if context.version >= _TOPIC_ID_VERSION:
        fetch = partial(_fetch_by_id, fetch, metadata.image)
    return OffsetFetchResponse(groups=[await fetch(group) for group in request.groups])


def failed(request: OffsetFetchRequest, version: int, error: KafkaError) -> OffsetFetchResponse:
    if version >= 8:
        return OffsetFetchResponse(
            groups=[
                OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.code)
                for group in request.groups
            ]
        )
    if version >= 2:
        return OffsetFetchResponse(error_code=error.code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=index,
                        committed_offset=-1,
                        metadata="",
                        error_code=error.code,
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


async def _handle_one_group(
    request: OffsetFetchRequest, version: int, fetch: _FetchGroup
) -> OffsetFetchResponse:
    asked = None
    if request.topics is not None:
        asked = [
            OffsetFetchRequestTopics(t.name, partition_indexes=t.partition_indexes)
            for t in request.topics
        ]
    group = OffsetFetchRequestGroup(request.group_id, topics=asked)
    answer = await fetch(group)
    if answer.error_code and version >= _ERROR_VERSION:
        return OffsetFetchResponse(error_code=answer.error_code)
    if answer.error_code:
        answer.topics = _failed(asked or [], answer.error_code)
    return OffsetFetchResponse(topics=[_old_shape(topic) for topic in answer.topics])


async def _fetch(
    require_stable: bool,
    caller: Caller,
    group: OffsetFetchRequestGroup,
    *,
    group_coordinator: GroupCoordination,
) -> OffsetFetchResponseGroup:
    """An error of the whole group stands in the group, without topics."""
    request = OffsetFetchRequest(groups=[group], require_stable=require_stable)
    try:
        response = await group_coordinator.shards.ask(
            group.group_id,
            request,
            OffsetFetchResponse,
            caller,
        )
    except KafkaError as error:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.code)
    return response.groups[0]


async def _fetch_allowed(
    fetch: _FetchGroup,
    context: RequestContext,
    access: Access,
    group: OffsetFetchRequestGroup,
    *,
    long_work: LongWork,
) -> OffsetFetchResponseGroup:
    """Topics that the client may not describe are refused, and left out where it asks for all."""
    if not access.allows(context, Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return OffsetFetchResponseGroup(
            group_id=group.group_id, error_code=GroupAuthorizationFailed.code
        )
    denied = partial(
        access.denied_of_many, context, Operation.DESCRIBE, ResourceType.TOPIC, long_work=long_work
    )
    if group.topics is None:
        answer = await fetch(group)
        hidden = await denied(topic.name for topic in answer.topics)
        answer.topics = [topic for topic in answer.topics if topic.name not in hidden]
        return answer
    hidden = await denied(topic.name for topic in group.topics)
    allowed = [topic for topic in group.topics if topic.name not in hidden]
    answer = await fetch(
        OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch, allowed)
    )
    if not answer.error_code:
        refused = [topic for topic in group.topics if topic.name in hidden]
        answer.topics += _failed(refused, TopicAuthorizationFailed.code)
    return answer


async def _fetch_by_id(
    fetch: _FetchGroup, image: MetadataImage, group: OffsetFetchRequestGroup
) -> OffsetFetchResponseGroup:
    """Topics that do not exist are answered here; those of a group that asks for all of them are left out."""
    if group.topics is None:
        answer = await fetch(group)
        answer.topics = _with_ids(answer.topics, image)
        return answer
    known, unknown = [], []
    for asked in group.topics:
        topic = image.topic_by_id(asked.topic_id)
        if topic is None:
            unknown.append(asked)
        else:
            known.append(
                OffsetFetchRequestTopics(topic.name, asked.topic_id, asked.partition_indexes)
            )
    answer = await fetch(
        OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch, known)
    )
    if not answer.error_code:
        answer.topics += _failed(unknown, UnknownTopicId.code)
    return answer


def _with_ids(
    topics: Iterable[OffsetFetchResponseTopics], image: MetadataImage
) -> list[OffsetFetchResponseTopics]:
    named = ((answer, image.topic(answer.name)) for answer in topics)
    return [
        OffsetFetchResponseTopics(answer.name, topic.topic_id, answer.partitions)
        for answer, topic in named
        if topic is not None
    ]


def _failed(
    topics: Iterable[OffsetFetchRequestTopics], error_code: int
) -> list[OffsetFetchResponseTopics]:
    return [
        OffsetFetchResponseTopics(
            topic.name,
            topic.topic_id,
            [
                OffsetFetchResponsePartitions(
                    partition_index=p, committed_offset=-1, error_code=error_code
                )
                for p in topic.partition_indexes
            ],
        )
        for topic in topics
    ]


def _old_shape(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        topic.name,
        [
            OffsetFetchResponsePartition(
                p.partition_index,
                p.committed_offset,
                p.committed_leader_epoch,
                p.metadata,
                p.error_code,
            )
            for p in topic.partitions
        ],
    )
