"""Metadata: the brokers, the controller and the partitions of topics, all of them or the named ones.

Versions 0-13. No list of topics (an empty one in version 0) means all. 4+ may forbid the creation of unknown topics,
which is also up to `auto.create.topics.enable`: they are created behind the answer, in which they are unknown
(UNKNOWN_TOPIC_OR_PARTITION), and the client asks again. 8+ tells on request which operations are allowed, for the
cluster in 8-10 only. 10+ gives topic ids, 12+ finds topics by them (UNKNOWN_TOPIC_ID). 13+ has a top-level error. A
topic that the client may not describe is TOPIC_AUTHORIZATION_FAILED whether or not it exists, and left out of all
topics; so is one that it may not have created. A partition without a leader that this listener's clients can reach is
LEADER_NOT_AVAILABLE, or LISTENER_NOT_FOUND when the leader lacks the listener (6+). 5+ lists offline replicas; version
0 leaves them out of the replicas.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, cast

from millstream.broker.cluster.auto_creation import AutoTopicCreation
from millstream.broker.cluster.cluster_view import (
    PartitionView,
    advertised_brokers,
    any_broker_for_controller,
    partition_view,
)
from millstream.broker.long_work import LongWork
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.requests.turns import AT_ONCE
from millstream.broker.services import Metadata
from millstream.errors import (
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    LeaderNotAvailable,
    ListenerNotFound,
    ReplicaNotAvailable,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage
from millstream.metadata.topic_names import is_internal, is_legal_topic_name
from millstream.model import ZERO_UUID, BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.METADATA,
    versions=range(14),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
        Permission(Operation.CREATE, ResourceType.CLUSTER),
        Permission(Operation.CREATE, ResourceType.TOPIC),
        Permission(Operation.DESCRIBE, ResourceType.CLUSTER),
    ),
    lists=(Lists(("topics",), ("topics",)),),
    tells_all=True,
    answer_lists=("topics", "partitions"),
)

_KNOWS_LISTENER_NOT_FOUND: Final = 6
_FINDS_TOPICS_BY_ID: Final = 12


def handle(
    request: MetadataRequest,
    context: RequestContext,
    *,
    access: Access,
    auto_topic_creation: AutoTopicCreation,
    identity: NodeIdentity,
    long_work: LongWork,
    metadata: Metadata,
) -> MetadataResponse | Awaitable[MetadataResponse]:
    """Answers at once, unless very many names may have to be created.

    Raises InvalidRequest for an entry without name and usable id.
    """
    for topic in request.topics or ():
        _check_entry(topic, context.version)
    may_create = request.allow_auto_topic_creation and auto_topic_creation.is_enabled
    answer = partial(_answer, request, context, metadata=metadata, identity=identity, access=access)
    if request.topics is None or (context.version == 0 and not request.topics):
        if access.is_open and len(metadata.image.topics) <= AT_ONCE:
            return answer(frozenset())
        return _answer_about_all(
            request,
            context,
            access=access,
            identity=identity,
            long_work=long_work,
            metadata=metadata,
        )
    names = [name for each in request.topics if (name := _name(each, metadata.image)) is not None]
    refuse = partial(_refused_names, context=context, access=access, may_create=may_create)
    if context.cut_from is None:
        refused = refuse(names, metadata.image)
        if may_create:
            missing = _creatable(_names(request), refused, metadata.image)
            auto_topic_creation.create(missing, context)
        return answer(refused)
    whole = cast("MetadataRequest", context.cut_from)
    if not may_create or request.topics[0] is not (whole.topics or [])[0]:
        return answer(refuse(names, metadata.image))  # the first part sees to what is created
    creation = _create_of_many(
        whole,
        context,
        refuse,
        auto_topic_creation=auto_topic_creation,
        long_work=long_work,
        metadata=metadata,
    )
    return _answer_after(creation, lambda: answer(refuse(names, metadata.image)))


def failed(request: MetadataRequest, version: int, error: KafkaError) -> MetadataResponse:
    return MetadataResponse(
        error_code=error.code,
        topics=[
            MetadataResponseTopic(
                error_code=error.code,
                name=topic.name if version >= 12 else topic.name or "",
                topic_id=topic.topic_id,
            )
            for topic in request.topics or ()
        ],
    )


async def _answer_after(
    creation: Awaitable[None], answer: Callable[[], MetadataResponse]
) -> MetadataResponse:
    await creation
    return answer()


def _check_entry(topic: MetadataRequestTopic, version: int) -> None:
    if topic.topic_id != ZERO_UUID and version < _FINDS_TOPICS_BY_ID:
        raise InvalidRequest(f"Topics can be found by id from version {_FINDS_TOPICS_BY_ID} on")
    if topic.name is None and topic.topic_id == ZERO_UUID:
        raise InvalidRequest("A topic needs a name or an id")


async def _answer_about_all(
    request: MetadataRequest,
    context: RequestContext,
    *,
    access: Access,
    identity: NodeIdentity,
    long_work: LongWork,
    metadata: Metadata,
) -> MetadataResponse:
    """In turns, and of one image: nothing is told of a topic that is made while the client's access
    to others is asked about.
    """
    image = metadata.image
    hidden = await access.denied_of_many(
        context,
        Operation.DESCRIBE,
        ResourceType.TOPIC,
        image.topics.by_name,
        long_work=long_work,
        quiet=True,
    )
    response = _answer_without_topics(request, context, image, identity=identity, access=access)
    reachable = frozenset(BrokerId(broker.node_id) for broker in response.brokers)
    async for topic in long_work.in_turns(image.topics):
        if topic.name not in hidden:
            told = _described(topic, image, reachable, context.version)
            _tell_operations(request, context, told, access)
            response.topics.append(told)
    return response


async def _create_of_many(
    whole: MetadataRequest,
    context: RequestContext,
    refuse: Callable[[Sequence[str], MetadataImage], AbstractSet[str]],
    *,
    auto_topic_creation: AutoTopicCreation,
    long_work: LongWork,
    metadata: Metadata,
) -> None:
    """All that one request asks for is one creation: as a whole it may be too much."""
    missing = [
        name
        async for each in long_work.in_turns(_names(whole))
        for name in _creatable([each], refuse([each], metadata.image), metadata.image)
    ]
    auto_topic_creation.create(missing, context)


def _refused_names(
    names: Sequence[str],
    image: MetadataImage,
    *,
    context: RequestContext,
    access: Access,
    may_create: bool,
) -> AbstractSet[str]:
    """Returns the topics that the client may not describe, and those that it would have created and may not."""
    if access.is_open:
        return frozenset()
    hidden = access.denied(context, Operation.DESCRIBE, ResourceType.TOPIC, dict.fromkeys(names))
    missing = {name: None for name in names if name not in hidden and name not in image.topics}
    if not may_create or not missing:
        return hidden
    if access.allows_on_cluster(context, Operation.CREATE, quiet=True):
        return hidden
    return hidden | access.denied(context, Operation.CREATE, ResourceType.TOPIC, missing)


def _creatable(names: Sequence[str], refused: AbstractSet[str], image: MetadataImage) -> list[str]:
    return [
        name
        for name in names
        if name not in refused and name not in image.topics and is_legal_topic_name(name)
    ]


def _names(request: MetadataRequest) -> list[str]:
    return [t.name for t in request.topics or () if t.name is not None and t.topic_id == ZERO_UUID]


def _answer(
    request: MetadataRequest,
    context: RequestContext,
    refused: AbstractSet[str],
    *,
    metadata: Metadata,
    identity: NodeIdentity,
    access: Access,
) -> MetadataResponse:
    """`refused`: names of topics of which nothing is told."""
    image = metadata.image
    response = _answer_without_topics(request, context, image, identity=identity, access=access)
    reachable = frozenset(BrokerId(broker.node_id) for broker in response.brokers)
    response.topics = _topics(request, image, reachable, context.version, refused=refused)
    for topic in response.topics:
        _tell_operations(request, context, topic, access)
    return response


def _answer_without_topics(
    request: MetadataRequest,
    context: RequestContext,
    image: MetadataImage,
    *,
    identity: NodeIdentity,
    access: Access,
) -> MetadataResponse:
    response = MetadataResponse(
        cluster_id=identity.cluster_id,
        controller_id=any_broker_for_controller(image, identity.node_id),
        brokers=[
            MetadataResponseBroker(node_id=b.id, host=b.host, port=b.port, rack=b.rack)
            for b in advertised_brokers(image, context.listener_name)
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = access.cluster_operations(context)
    return response


def _tell_operations(
    request: MetadataRequest, context: RequestContext, topic: MetadataResponseTopic, access: Access
) -> None:
    """Also on topics that do not exist, as Kafka."""
    is_named = topic.error_code not in (TopicAuthorizationFailed.code, UnknownTopicId.code)
    if request.include_topic_authorized_operations and is_named:
        topic.topic_authorized_operations = access.operations(
            context, ResourceType.TOPIC, topic.name or ""
        )


def _topics(
    request: MetadataRequest,
    image: MetadataImage,
    reachable: frozenset[BrokerId],
    version: int,
    *,
    refused: AbstractSet[str],
) -> list[MetadataResponseTopic]:
    if request.topics is None or (version == 0 and not request.topics):
        return [
            _described(topic, image, reachable, version)
            for topic in image.topics
            if topic.name not in refused
        ]
    asked = {(topic.name, topic.topic_id): topic for topic in request.topics}
    found = [
        _refused(topic)
        if refused and _name(topic, image) in refused
        else _asked(topic, image, reachable, version)
        for topic in asked.values()
    ]
    return list({(topic.name, topic.topic_id): topic for topic in found}.values())


def _name(asked: MetadataRequestTopic, image: MetadataImage) -> str | None:
    """Returns the name of the topic, whether or not there is one; None for an id that is unknown."""
    if asked.topic_id == ZERO_UUID:
        return asked.name or ""
    topic = image.topic_by_id(asked.topic_id)
    return None if topic is None else topic.name


def _refused(asked: MetadataRequestTopic) -> MetadataResponseTopic:
    """Tells no more of a topic than the client has said, and nothing that only an existing one has."""
    code = TopicAuthorizationFailed.code
    if asked.topic_id != ZERO_UUID:
        return MetadataResponseTopic(error_code=code, name=None, topic_id=asked.topic_id)
    return MetadataResponseTopic(error_code=code, name=asked.name or "")


def _asked(
    asked: MetadataRequestTopic, image: MetadataImage, reachable: frozenset[BrokerId], version: int
) -> MetadataResponseTopic:
    """By id when there is one; a name beside it does not count."""
    if asked.topic_id != ZERO_UUID:
        topic = image.topic_by_id(asked.topic_id)
        if topic is None:
            return MetadataResponseTopic(
                error_code=UnknownTopicId.code, name=None, topic_id=asked.topic_id
            )
        return _described(topic, image, reachable, version)
    name = asked.name or ""
    topic = image.topic(name)
    if topic is not None:
        return _described(topic, image, reachable, version)
    error = UnknownTopicOrPartition if is_legal_topic_name(name) else InvalidTopic
    return MetadataResponseTopic(error_code=error.code, name=name, is_internal=is_internal(name))


def _described(
    topic: TopicImage, image: MetadataImage, reachable: frozenset[BrokerId], version: int
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        partitions=[_partition(p, image, reachable, version) for p in topic.partitions],
    )


def _partition(
    partition: PartitionImage, image: MetadataImage, reachable: frozenset[BrokerId], version: int
) -> MetadataResponsePartition:
    """The usual case, all replicas reachable, comes first: clients ask for thousands of these."""
    if partition.leader in reachable and reachable.issuperset(partition.replicas):
        return MetadataResponsePartition(
            0,
            partition.partition,
            partition.leader,
            partition.leader_epoch,
            list(partition.replicas),
            list(partition.isr),
        )
    view = partition_view(partition, reachable, image)
    replicas, isr = view.replicas, view.isr
    if version == 0:
        replicas = [replica for replica in replicas if replica in reachable]
        isr = [replica for replica in isr if replica in reachable]
    return MetadataResponsePartition(
        error_code=_error_code(view, version),
        partition_index=partition.partition,
        leader_id=view.leader_id,
        leader_epoch=view.leader_epoch,
        replica_nodes=list(replicas),
        isr_nodes=list(isr),
        offline_replicas=list(view.offline),
    )


def _error_code(view: PartitionView, version: int) -> int:
    if version < _KNOWS_LISTENER_NOT_FOUND and view.error_code == ListenerNotFound.code:
        return LeaderNotAvailable.code
    if version == 0 and view.error_code == 0 and view.offline:
        return ReplicaNotAvailable.code
    return view.error_code
