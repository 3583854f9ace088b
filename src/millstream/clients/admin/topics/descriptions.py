"""Descriptions of topics: partitions with leaders and replicas, and the operations that the caller may do.

DescribeTopicPartitions (KIP-966) answers in pages and knows eligible leader replicas; Metadata answers for older
brokers, and by topic id.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, item_error, operations
from millstream.clients.admin.core.routes import AnyBroker
from millstream.clients.admin.driver import AdminApiDriver, AdminCalls
from millstream.clients.admin.topics.topics import TopicKey
from millstream.errors import (
    KafkaError,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from millstream.model import Uuid, uuid_text
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from millstream.security.acl import Operation

_FIRST_METADATA_BY_ID: Final = 12
PARTITIONS_PER_PAGE: Final = 2000
_NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """`leader` is -1 while there is none, `leader_epoch` -1 where the broker did not say; ELR is
    None there (KIP-966).
    """

    partition: int
    leader: int
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_eligible_leader_replicas: tuple[int, ...] | None = None

    @property
    def out_of_sync(self) -> tuple[int, ...]:
        """The replicas that fell out of the ISR."""
        return tuple(each for each in self.replicas if each not in self.isr)

    @property
    def is_led_elsewhere(self) -> bool:
        """Whether another replica leads than the first, which is preferred."""
        return self.leader not in (_NO_LEADER, *self.replicas[:1])


class TopicDescription(NamedTuple):
    """`authorized_operations` is None where the broker did not say."""

    name: str
    topic_id: Uuid
    is_internal: bool
    partitions: list[PartitionDescription]
    authorized_operations: frozenset[Operation] | None = None


async def describe_topics(
    admin: AdminCalls,
    topics: Iterable[TopicKey],
    *,
    include_authorized_operations: bool = False,
    partitions_per_page: int = PARTITIONS_PER_PAGE,
    timeout_ms: int | None = None,
) -> Results[TopicKey, TopicDescription]:
    """Describes topics by name, or all by id (Kafka 3.1).

    `partitions_per_page` limits each answer of the broker, not the result.
    """
    keys = list(topics)
    deadline_ms = admin._driver.deadline(timeout_ms)
    names = [key for key in keys if isinstance(key, str)]
    if names and len(names) == len(keys):
        pages = TopicPages(names, partitions_per_page)
        try:
            while not pages.is_complete:
                pages.take(await admin._driver.one(_next_page(pages), None, deadline_ms))
        except UnsupportedVersion:
            pass  # an older broker: Metadata knows almost as much
        except KafkaError as error:
            return Results(dict.fromkeys(keys, error))
        else:
            return Results({key: pages.result(key) for key in keys if isinstance(key, str)})
    return await _from_metadata(
        admin._driver, keys, deadline_ms, include_operations=include_authorized_operations
    )


class TopicPages:
    """Puts the pages of DescribeTopicPartitions together. A topic that is cut in two continues on the next page."""

    def __init__(self, names: Iterable[str], partitions_per_page: int) -> None:
        self._waiting = sorted(set(names))  # the order in which brokers answer
        self._partitions_per_page = partitions_per_page
        self._cursor: Cursor | None = None
        self._found: dict[str, TopicDescription | KafkaError] = {}

    @property
    def is_complete(self) -> bool:
        return not self._waiting

    def next_request(self) -> DescribeTopicPartitionsRequest:
        return DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name) for name in self._waiting],
            response_partition_limit=self._partitions_per_page,
            cursor=self._cursor,
        )

    def take(self, response: DescribeTopicPartitionsResponse) -> None:
        """Takes in one page of the answer. Raises UnknownServerError when the broker does not get on."""
        for topic in response.topics:
            self._add(topic)
        cursor = response.next_cursor
        if cursor is None:
            self._waiting = []
        elif cursor == self._cursor:
            raise UnknownServerError(f"the broker names page {cursor.topic_name} again and again")
        else:
            self._waiting = [name for name in self._waiting if name >= cursor.topic_name]
        self._cursor = cursor

    def result(self, name: str) -> TopicDescription | KafkaError:
        return self._found.get(name) or UnknownServerError(
            f"{name}: the broker's answer leaves this out"
        )

    def _add(self, topic: DescribeTopicPartitionsResponseTopic) -> None:
        name = topic.name or ""
        before = self._found.get(name)
        if topic.error_code:
            self._found[name] = item_error(topic.error_code, name)
        elif isinstance(before, TopicDescription):
            before.partitions.extend(_partitions(topic))
        else:
            self._found[name] = TopicDescription(
                name,
                Uuid(topic.topic_id),
                topic.is_internal,
                _partitions(topic),
                operations(topic.topic_authorized_operations),
            )


def _next_page(
    pages: TopicPages,
) -> Call[None, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponse]:
    return Call(
        api=ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        response=DescribeTopicPartitionsResponse,
        route=AnyBroker(),
        build=lambda _: pages.next_request(),
        read=lambda response, asked: dict.fromkeys(asked.keys, response),
    )


async def _from_metadata(
    driver: AdminApiDriver, keys: list[TopicKey], deadline_ms: int, *, include_operations: bool
) -> Results[TopicKey, TopicDescription]:
    def build(asked: Asked[TopicKey]) -> MetadataRequest:
        names = [key for key in asked.keys if isinstance(key, str)]
        if asked.version < _FIRST_METADATA_BY_ID and len(names) < len(asked.keys):
            raise UnsupportedVersion("describing topics by id exists since Kafka 3.1")
        return MetadataRequest(
            topics=[
                MetadataRequestTopic(name=key)
                if isinstance(key, str)
                else MetadataRequestTopic(name=None, topic_id=key)
                for key in asked.keys
            ],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=include_operations,
        )

    def read(
        response: MetadataResponse, asked: Asked[TopicKey]
    ) -> dict[TopicKey, TopicDescription | KafkaError]:
        check(response.error_code, "describe_topics")
        by_name = {topic.name: topic for topic in response.topics}
        by_id = {topic.topic_id: topic for topic in response.topics}
        return {
            key: _described(key, by_name.get(key) if isinstance(key, str) else by_id.get(key))
            for key in asked.keys
        }

    call = Call(
        api=ApiKey.METADATA,
        response=MetadataResponse,
        route=AnyBroker(),
        build=build,
        read=read,
    )
    return await driver.run(call, keys, deadline_ms)


def _described(
    key: str | Uuid, topic: MetadataResponseTopic | None
) -> TopicDescription | KafkaError:
    label = key if isinstance(key, str) else uuid_text(key)
    if topic is None:
        missing = UnknownTopicOrPartition if isinstance(key, str) else UnknownTopicId
        return missing(f"{label}: there is no such topic")
    if topic.error_code:
        return item_error(topic.error_code, label)
    partitions = [
        PartitionDescription(
            each.partition_index,
            each.leader_id,
            each.leader_epoch,
            tuple(each.replica_nodes),
            tuple(each.isr_nodes),
            tuple(each.offline_replicas),
        )
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    ]
    return TopicDescription(
        topic.name or "",
        Uuid(topic.topic_id),
        topic.is_internal,
        partitions,
        operations(topic.topic_authorized_operations),
    )


def _partitions(topic: DescribeTopicPartitionsResponseTopic) -> list[PartitionDescription]:
    return [
        PartitionDescription(
            each.partition_index,
            each.leader_id,
            each.leader_epoch,
            tuple(each.replica_nodes),
            tuple(each.isr_nodes),
            tuple(each.offline_replicas),
            tuple(each.eligible_leader_replicas or ()),
            tuple(each.last_known_elr or ()),
        )
        for each in topic.partitions
    ]
