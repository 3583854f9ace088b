"""The cluster's metadata at one offset of the metadata log: immutable, shared freely, compared by value.

Owns the shape of what is known of topics, brokers, configs, features, producer ids and stored security. Never changes:
a `MetadataDelta` makes the next image and shares everything that did not change with the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeVar

from millstream.metadata.broker_registration import BrokerRegistration, ControllerRegistration
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.stored_security import (
    AccessControlEntry,
    QuotaEntity,
    ScramCredential,
    ScramUser,
    TokenInformation,
)
from millstream.model import NO_LEADER_EPOCH, BrokerId, LeaderEpoch, Offset, ProducerId, Uuid
from millstream.protocol.enums import ConfigResourceType

NO_LEADER: Final = BrokerId(-1)
RECOVERED: Final = 0
RECOVERING: Final = 1
"""The leader was elected uncleanly and may lack records (KIP-704)."""

_NOTHING_REPLAYED: Final = Offset(-1)
_FIRST_LEADER_EPOCH: Final = LeaderEpoch(0)
_FIRST_PRODUCER_ID: Final = ProducerId(0)

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def frozen_mapping(items: dict[_Key, _Value] | None = None) -> MappingProxyType[_Key, _Value]:
    """Returns a read-only view of `items`; the caller gives up the right to change them.

    Its `copy()` is as fast as a dict's.
    """
    return MappingProxyType({} if items is None else items)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionImage:
    """A partition: its leader, replicas and in-sync replicas.

    `directories` goes by position with `replicas` (KIP-858).
    """

    partition: int
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    leader: BrokerId
    leader_epoch: LeaderEpoch = _FIRST_LEADER_EPOCH
    partition_epoch: int = 0
    """Goes up with every change of the partition."""
    directories: tuple[Uuid, ...] = ()
    removing_replicas: tuple[BrokerId, ...] = ()
    adding_replicas: tuple[BrokerId, ...] = ()
    leader_recovery_state: int = RECOVERED
    """0 recovered, 1 recovering from an unclean election."""
    eligible_leader_replicas: tuple[BrokerId, ...] = ()
    """Replicas that left the ISR below min.insync.replicas without losing data (KIP-966)."""
    last_known_eligible_leader_replicas: tuple[BrokerId, ...] = ()

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    @property
    def preferred_leader(self) -> BrokerId:
        return self.replicas[0]


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic and its partitions, `partitions[n].partition == n`."""

    name: str
    topic_id: Uuid
    partitions: tuple[PartitionImage, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicsImage:
    """All topics, by name and by id."""

    by_name: MappingProxyType[str, TopicImage] = field(default_factory=frozen_mapping)
    by_id: MappingProxyType[Uuid, TopicImage] = field(default_factory=frozen_mapping)

    def __len__(self) -> int:
        return len(self.by_name)

    def __iter__(self) -> Iterator[TopicImage]:
        return iter(self.by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self.by_name


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataImage:
    """Everything replayed from the metadata log up to and including `offset` (-1: nothing yet)."""

    cluster_id: str = ""
    """Comes from meta.properties; no record holds it."""
    offset: Offset = _NOTHING_REPLAYED
    epoch: LeaderEpoch = NO_LEADER_EPOCH
    """Epoch of the last replayed record."""
    features: Mapping[str, int] = field(default_factory=frozen_mapping)
    """Finalized feature levels by name; `metadata.version` is one of them."""
    brokers: Mapping[BrokerId, BrokerRegistration] = field(default_factory=frozen_mapping)
    controllers: Mapping[BrokerId, ControllerRegistration] = field(default_factory=frozen_mapping)
    topics: TopicsImage = field(default_factory=TopicsImage)
    configs: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=frozen_mapping)
    """Overrides as text; resources without any are absent."""
    next_producer_id: ProducerId = _FIRST_PRODUCER_ID
    acls: Mapping[Uuid, AccessControlEntry] = field(default_factory=frozen_mapping)
    scram: Mapping[ScramUser, ScramCredential] = field(default_factory=frozen_mapping)
    delegation_tokens: Mapping[str, TokenInformation] = field(default_factory=frozen_mapping)
    """By token id."""
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=frozen_mapping)
    """Limits by key, such as `producer_byte_rate`; entities without any are absent."""

    def topic(self, name: str) -> TopicImage | None:
        return self.topics.by_name.get(name)

    def topic_by_id(self, topic_id: Uuid) -> TopicImage | None:
        return self.topics.by_id.get(topic_id)

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        found = self.topics.by_name.get(topic)
        if found is None or not 0 <= partition < len(found.partitions):
            return None
        return found.partitions[partition]

    def config(self, resource: ConfigResource) -> Mapping[str, str]:
        return self.configs.get(resource, _NO_CONFIG)

    def topic_config(self, name: str) -> Mapping[str, str]:
        return self.config(ConfigResource(ConfigResourceType.TOPIC, name))

    def broker_default_config(self) -> Mapping[str, str]:
        """Returns the dynamic defaults of all brokers (resource name "")."""
        return self.config(ConfigResource(ConfigResourceType.BROKER, ""))


_NO_CONFIG: Final[Mapping[str, str]] = frozen_mapping()
