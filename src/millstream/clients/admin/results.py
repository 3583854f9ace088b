"""What admin calls give back: one result or one typed error per item."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, NamedTuple, Self, TypeVar

from millstream.clients.core.cluster_metadata import BrokerNode, PartitionMetadata
from millstream.errors import KafkaError, error_for
from millstream.model import TopicPartition, Uuid

Key = TypeVar("Key")
Value = TypeVar("Value")


class Results(dict[Key, Value | KafkaError], Generic[Key, Value]):
    """A dict by item. Nothing is raised for an item that failed until its result is asked for."""

    def result(self, key: Key) -> Value:
        """The item's result; raises its error."""
        value = self[key]
        if isinstance(value, KafkaError):
            raise value
        return value

    def errors(self) -> dict[Key, KafkaError]:
        return {key: value for key, value in self.items() if isinstance(value, KafkaError)}

    def raise_errors(self) -> Self:
        """Raises the first error, if any, with notes on the others; else gives the results back."""
        errors = list(self.errors().items())
        if not errors:
            return self
        first = errors[0][1]
        for key, error in errors[1:]:
            first.add_note(f"{key}: {error}")
        raise first


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be created. -1 takes the broker's default; `assignments` names the replicas of each partition."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    configs: dict[str, str | None] = field(default_factory=dict)
    assignments: list[list[int]] | None = None


class CreatedTopic(NamedTuple):
    """-1 where the broker is too old to say."""

    name: str
    topic_id: Uuid
    num_partitions: int
    replication_factor: int


class TopicListing(NamedTuple):
    name: str
    topic_id: Uuid
    is_internal: bool


class TopicDescription(NamedTuple):
    name: str
    topic_id: Uuid
    is_internal: bool
    partitions: list[PartitionMetadata]


class ClusterDescription(NamedTuple):
    cluster_id: str | None
    controller_id: int
    nodes: list[BrokerNode]


class ConfigResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """What has configs: a topic by name, a broker by id (as text)."""

    type: ConfigResourceType
    name: str


class ConfigSource(IntEnum):
    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class ConfigEntry(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


class AlterOperation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterConfig(NamedTuple):
    name: str
    value: str | None
    operation: AlterOperation = AlterOperation.SET


class GroupListing(NamedTuple):
    """`state` and `type` are empty where the broker is too old to say."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class GroupMemberDescription(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: list[TopicPartition]


class GroupDescription(NamedTuple):
    group_id: str
    state: str
    protocol_type: str
    assignor: str
    members: list[GroupMemberDescription]


def item_error(code: int, item: object, message: str | None = None) -> KafkaError:
    """The error of one item, named in its message."""
    return error_for(code, f"{item}: {message or error_for(code)}")
