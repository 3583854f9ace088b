"""The two questions that other calls need answered first: who coordinates a name, who leads a partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import item_error
from millstream.clients.admin.core.routes import AnyBroker
from millstream.errors import (
    CoordinatorNotAvailable,
    KafkaError,
    LeaderNotAvailable,
    UnknownTopicOrPartition,
)
from millstream.model import TopicPartition, Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import CoordinatorType
from millstream.protocol.generated.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

_FIRST_FIND_OF_MANY: Final = 4


def coordinator_call(kind: CoordinatorType) -> Call[str, int, FindCoordinatorResponse]:
    """Returns the call that finds the node ids of coordinators by group id, transactional id and so on."""

    def build(asked: Asked[str]) -> FindCoordinatorRequest:
        if asked.version >= _FIRST_FIND_OF_MANY:
            return FindCoordinatorRequest(key_type=kind.value, coordinator_keys=asked.keys)
        (name,) = asked.keys
        return FindCoordinatorRequest(key_type=kind.value, key=name)

    return Call(
        api=ApiKey.FIND_COORDINATOR,
        response=FindCoordinatorResponse,
        route=AnyBroker(),
        build=build,
        read=_coordinators,
        batched_since=_FIRST_FIND_OF_MANY,
        retries=(CoordinatorNotAvailable,),
    )


def _coordinators(
    response: FindCoordinatorResponse, asked: Asked[str]
) -> dict[str, int | KafkaError]:
    if not response.coordinators:  # before version 4
        (name,) = asked.keys
        return {name: _node_id(name, response.error_code, response.error_message, response.node_id)}
    return {
        each.key: _node_id(each.key, each.error_code, each.error_message, each.node_id)
        for each in response.coordinators
    }


def _node_id(name: str, code: int, message: str | None, node_id: int) -> int | KafkaError:
    return item_error(code, name, message) if code else node_id


def metadata_request(topics: Iterable[str]) -> MetadataRequest:
    """Asks without creating what is not there."""
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=topic) for topic in topics],
        allow_auto_topic_creation=False,
    )


class NewestLeader(Protocol):
    """Says who leads a partition of a topic, of which a broker has named a leader and its epoch; -1 while the one
    who is known to have been elected since is not known by name.
    """

    def __call__(
        self, topic_id: Uuid, partition: TopicPartition, leader: int, epoch: int
    ) -> int: ...


def find_leaders(newest: NewestLeader) -> Call[TopicPartition, int, MetadataResponse]:
    """Returns the call that finds by partition the node id of its leader. A broker that answers may have heard
    less than the client has: `newest` has the last word.
    """

    def read(
        response: MetadataResponse, asked: Asked[TopicPartition]
    ) -> dict[TopicPartition, int | KafkaError]:
        topics = {topic.name or "": topic for topic in response.topics}
        return {partition: _leader(partition, topics, newest) for partition in asked.keys}

    return Call(
        api=ApiKey.METADATA,
        response=MetadataResponse,
        route=AnyBroker(),
        build=lambda asked: metadata_request(sorted({each.topic for each in asked.keys})),
        read=read,
        retries=(LeaderNotAvailable,),
        doubted=(UnknownTopicOrPartition,),
    )


def _leader(
    wanted: TopicPartition, topics: Mapping[str, MetadataResponseTopic], newest: NewestLeader
) -> int | KafkaError:
    topic = topics.get(wanted.topic)
    if topic is None:
        return UnknownTopicOrPartition(f"{wanted}: there is no such partition")
    if topic.error_code:
        return item_error(topic.error_code, wanted)
    for partition in topic.partitions:
        if partition.partition_index == wanted.partition:
            told, epoch = partition.leader_id, partition.leader_epoch
            leader = newest(topic.topic_id, wanted, told, epoch)
            if leader < 0:
                return LeaderNotAvailable(f"{wanted}: {LeaderNotAvailable.sentence}")
            return leader
    return UnknownTopicOrPartition(f"{wanted}: there is no such partition")
