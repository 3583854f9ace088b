"""OffsetCommit: a group's positions, stored in `__consumer_offsets`.

Versions 2-10. Topics by name up to 9, by topic id from 10 on. Every partition has its own error: topics and partitions
that do not exist are refused one by one (UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID), the rest is committed. Versions
2-4 may say when the offset expires. Answered once committed, at most `offsets.commit.timeout.ms` later.
"""

from __future__ import annotations

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import (
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.OFFSET_COMMIT,
    versions=range(2, 11),
    permissions=(
        Permission(Operation.READ, ResourceType.GROUP),
        Permission(Operation.READ, ResourceType.TOPIC),
    ),
    lists=(Lists(("topics", "partitions"), ("topics", "partitions"), 200),),
)
_TOPIC_ID_VERSION = 10

ErrorCodes = dict[int, int]
"""By partition."""


async def handle(
    request: OffsetCommitRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
    metadata: Metadata,
) -> OffsetCommitResponse:
    """Commits what exists and may be read. Raises GroupAuthorizationFailed."""
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    image = metadata.image
    topics = [_resolve(image, topic, context.version) for topic in request.topics]
    names = [
        _name(asked, topic, context.version)
        for asked, topic in zip(request.topics, topics, strict=True)
    ]
    denied = access.denied(
        context, Operation.READ, ResourceType.TOPIC, (name for name in names if name is not None)
    )
    known = [
        _known_part(asked, topic)
        for asked, topic in zip(request.topics, topics, strict=True)
        if topic is not None and topic.name not in denied
    ]
    storable = [part for part in known if part.partitions]
    committed = (
        await _commit(
            request.replaced(topics=storable), context, group_coordinator=group_coordinator
        )
        if storable
        else {}
    )
    unknown_topic = (
        UnknownTopicId if context.version >= _TOPIC_ID_VERSION else UnknownTopicOrPartition
    )

    def code_of_others(name: str | None, topic: TopicImage | None) -> int:
        if name in denied:
            return TopicAuthorizationFailed.code
        return unknown_topic.code if topic is None else UnknownTopicOrPartition.code

    return OffsetCommitResponse(
        topics=[
            _answer(
                asked,
                committed.get("" if topic is None else topic.name, {}),
                code_of_others(name, topic),
            )
            for asked, topic, name in zip(request.topics, topics, names, strict=True)
        ]
    )


def failed(request: OffsetCommitRequest, _version: int, error: KafkaError) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=asked.partition_index, error_code=error.code
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _resolve(
    image: MetadataImage, topic: OffsetCommitRequestTopic, version: int
) -> TopicImage | None:
    if version >= _TOPIC_ID_VERSION:
        return image.topic_by_id(topic.topic_id)
    return image.topic(topic.name)


def _name(asked: OffsetCommitRequestTopic, topic: TopicImage | None, version: int) -> str | None:
    """Returns the name of the topic, whether or not there is one; None for an id that is unknown."""
    if version >= _TOPIC_ID_VERSION:
        return None if topic is None else topic.name
    return asked.name


def _known_part(asked: OffsetCommitRequestTopic, topic: TopicImage) -> OffsetCommitRequestTopic:
    """Returns the partitions of the topic that exist, with both its names.

    The offset is stored with the topic id whatever the version.
    """
    return OffsetCommitRequestTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[p for p in asked.partitions if 0 <= p.partition_index < len(topic.partitions)],
    )


async def _commit(
    request: OffsetCommitRequest, context: RequestContext, *, group_coordinator: GroupCoordination
) -> dict[str, ErrorCodes]:
    """Error codes by topic and partition. An error of the whole request is every partition's error."""
    try:
        response = await group_coordinator.shards.ask(
            request.group_id,
            request,
            OffsetCommitResponse,
            context.caller,
        )
    except KafkaError as error:
        return {
            t.name: {p.partition_index: error.code for p in t.partitions} for t in request.topics
        }
    codes: dict[str, ErrorCodes] = {}
    for topic in response.topics:
        of_topic = codes.setdefault(topic.name, {})
        of_topic.update({p.partition_index: p.error_code for p in topic.partitions})
    return codes


def _answer(
    asked: OffsetCommitRequestTopic, codes: ErrorCodes, code_of_unknown: int
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=[
            OffsetCommitResponsePartition(
                p.partition_index, codes.get(p.partition_index, code_of_unknown)
            )
            for p in asked.partitions
        ],
    )
