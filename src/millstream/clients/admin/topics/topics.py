"""Topics: create, delete, list, and more partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from millstream.clients.admin.configs.configs import ConfigEntry
from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done, item_error
from millstream.clients.admin.core.routes import AnyBroker, Controller
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import ConfigError, KafkaError, ThrottlingQuotaExceeded, UnsupportedVersion
from millstream.foreign_names.explanation import explain_construction, explain_misspellings
from millstream.model import Uuid, uuid_text
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ConfigSource
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.protocol.generated.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from millstream.protocol.generated.metadata import MetadataRequest, MetadataResponse

TopicKey = TypeVar("TopicKey", bound=str | Uuid)
"""A topic by its name, or by its id."""

_FIRST_DELETE_BY_ID: Final = 6


@explain_construction
@explain_misspellings
@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be created. -1 takes the broker's default; `assignments` names the replicas of each partition."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    configs: dict[str, str | None] = field(default_factory=dict)
    assignments: Sequence[Sequence[int]] | None = None


class CreatedTopic(NamedTuple):
    """-1, and no configs, where the broker is too old to say or the asker may not see them."""

    name: str
    topic_id: Uuid
    num_partitions: int
    replication_factor: int
    configs: dict[str, ConfigEntry]


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """`total` counts those there are; `assignments` names the replicas of each one that is added."""

    total: int
    assignments: Sequence[Sequence[int]] | None = None


class TopicListing(NamedTuple):
    name: str
    topic_id: Uuid
    is_internal: bool


async def create_topics(
    admin: AdminCalls,
    topics: Iterable[NewTopic],
    *,
    validate_only: bool = False,
    retry_on_quota_violation: bool = True,
    timeout_ms: int | None = None,
) -> Results[str, CreatedTopic]:
    """Creates topics. `validate_only` says what would happen, and does nothing."""
    wanted = list(topics)
    by_name = {topic.name: topic for topic in wanted}
    if len(by_name) < len(wanted):
        raise ConfigError("create_topics: a topic is named twice")

    def read(response: CreateTopicsResponse, _: Asked[str]) -> dict[str, CreatedTopic | KafkaError]:
        return {topic.name: _created(topic) for topic in response.topics}

    call = Call(
        api=ApiKey.CREATE_TOPICS,
        response=CreateTopicsResponse,
        route=Controller(),
        build=lambda asked: CreateTopicsRequest(
            topics=[_creatable(by_name[name]) for name in asked.keys],
            timeout_ms=asked.timeout_ms,
            validate_only=validate_only,
        ),
        read=read,
        final=_final(retry_on_quota_violation=retry_on_quota_violation),
    )
    return await admin._driver.run(call, by_name, admin._driver.deadline(timeout_ms))


async def delete_topics(
    admin: AdminCalls,
    topics: Iterable[TopicKey],
    *,
    retry_on_quota_violation: bool = True,
    timeout_ms: int | None = None,
) -> Results[TopicKey, None]:
    """Deletes topics by name, or all by id (Kafka 2.8)."""

    def build(asked: Asked[TopicKey]) -> DeleteTopicsRequest:
        if asked.version >= _FIRST_DELETE_BY_ID:
            states = [
                DeleteTopicState(name=key)
                if isinstance(key, str)
                else DeleteTopicState(topic_id=key)
                for key in asked.keys
            ]
            return DeleteTopicsRequest(topics=states, timeout_ms=asked.timeout_ms)
        names: list[str] = [key for key in asked.keys if isinstance(key, str)]
        if len(names) < len(asked.keys):
            raise UnsupportedVersion("deleting topics by id exists since Kafka 2.8")
        return DeleteTopicsRequest(topic_names=names, timeout_ms=asked.timeout_ms)

    def read(
        response: DeleteTopicsResponse, asked: Asked[TopicKey]
    ) -> dict[TopicKey, KafkaError | None]:
        by_name = {each.name: each for each in response.responses}
        by_id = {each.topic_id: each for each in response.responses}
        results: dict[TopicKey, KafkaError | None] = {}
        for key in asked.keys:
            found = by_name.get(key) if isinstance(key, str) else by_id.get(key)
            if found is not None:
                name = key if isinstance(key, str) else uuid_text(key)
                results[key] = done(found.error_code, name, found.error_message)
        return results

    call = Call(
        api=ApiKey.DELETE_TOPICS,
        response=DeleteTopicsResponse,
        route=Controller(),
        build=build,
        read=read,
        final=_final(retry_on_quota_violation=retry_on_quota_violation),
    )
    return await admin._driver.run(call, topics, admin._driver.deadline(timeout_ms))


async def create_partitions(
    admin: AdminCalls,
    totals: Mapping[str, int | NewPartitions],
    *,
    validate_only: bool = False,
    retry_on_quota_violation: bool = True,
    timeout_ms: int | None = None,
) -> Results[str, None]:
    """Adds partitions. `totals` is the number of partitions that each topic shall have in the end."""

    def build(asked: Asked[str]) -> CreatePartitionsRequest:
        return CreatePartitionsRequest(
            topics=[_grown(name, totals[name]) for name in asked.keys],
            timeout_ms=asked.timeout_ms,
            validate_only=validate_only,
        )

    call = Call(
        api=ApiKey.CREATE_PARTITIONS,
        response=CreatePartitionsResponse,
        route=Controller(),
        build=build,
        read=lambda response, _: {
            each.name: done(each.error_code, each.name, each.error_message)
            for each in response.results
        },
        final=_final(retry_on_quota_violation=retry_on_quota_violation),
    )
    return await admin._driver.run(call, totals, admin._driver.deadline(timeout_ms))


async def list_topics(
    admin: AdminCalls, *, include_internal: bool = False, timeout_ms: int | None = None
) -> dict[str, TopicListing]:
    """Lists topics that the asker may describe, by name, sorted."""

    def read(response: MetadataResponse, asked: Asked[None]) -> dict[None, dict[str, TopicListing]]:
        check(response.error_code, "list_topics")
        listings = {
            name: TopicListing(name, Uuid(topic.topic_id), topic.is_internal)
            for topic in response.topics
            if (name := topic.name) is not None
            if include_internal or not topic.is_internal
        }
        return {key: dict(sorted(listings.items())) for key in asked.keys}

    call = Call[None, dict[str, TopicListing], MetadataResponse](
        api=ApiKey.METADATA,
        response=MetadataResponse,
        route=AnyBroker(),
        build=lambda _: MetadataRequest(topics=None, allow_auto_topic_creation=False),
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


def _final(*, retry_on_quota_violation: bool) -> tuple[type[KafkaError], ...]:
    return () if retry_on_quota_violation else (ThrottlingQuotaExceeded,)


def _creatable(topic: NewTopic) -> CreatableTopic:
    assignments = [
        CreatableReplicaAssignment(partition, list(replicas))
        for partition, replicas in enumerate(topic.assignments or ())
    ]
    return CreatableTopic(
        name=topic.name,
        num_partitions=-1 if assignments else topic.num_partitions,
        replication_factor=-1 if assignments else topic.replication_factor,
        assignments=assignments,
        configs=[CreatableTopicConfig(name, value) for name, value in topic.configs.items()],
    )


def _created(topic: CreatableTopicResult) -> CreatedTopic | KafkaError:
    if topic.error_code:
        return item_error(topic.error_code, topic.name, topic.error_message)
    configs = {
        each.name: ConfigEntry(
            each.name,
            each.value,
            ConfigSource.of(each.config_source),
            is_sensitive=each.is_sensitive,
            is_read_only=each.read_only,
        )
        for each in topic.configs or ()
    }
    return CreatedTopic(
        topic.name, Uuid(topic.topic_id), topic.num_partitions, topic.replication_factor, configs
    )


def _grown(name: str, wanted: int | NewPartitions) -> CreatePartitionsTopic:
    grown = wanted if isinstance(wanted, NewPartitions) else NewPartitions(wanted)
    assignments = [CreatePartitionsAssignment(list(each)) for each in grown.assignments or ()]
    return CreatePartitionsTopic(name=name, count=grown.total, assignments=assignments or None)
