"""The hash of the topics a group reads: it changes when they come, go, grow or move to other racks.

The number stands in the group's record, so it is computed as Kafka 4.3 computes it (`metadataHash`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from struct import Struct
from typing import Final

from millstream.coordinator.group.xxh3 import xxh3_64
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage
from millstream.model import BrokerId, Uuid

NO_TOPICS_HASH: Final = 0
TOPICS_REMEMBERED_MAX: Final = 10_000
"""Members come and go more often than topics change."""
_FORMAT_VERSION: Final = b"\x00"
_INT: Final = Struct("<i").pack
_LONG: Final = Struct("<q").pack


def topics_hash(names: Iterable[str], image: MetadataImage) -> int:
    """Returns the hash of those of the topics that exist."""
    existing = [image.topics.by_name[name] for name in sorted(set(names)) if name in image.topics]
    if not existing:
        return NO_TOPICS_HASH
    return xxh3_64(b"".join(_LONG(topic_hash(topic, image.brokers)) for topic in existing))


def topic_hash(topic: TopicImage, brokers: Mapping[BrokerId, BrokerRegistration]) -> int:
    racks: tuple[tuple[str, ...], ...] = ()
    if any(broker.rack for broker in brokers.values()):
        racks = tuple(_racks(partition, brokers) for partition in topic.partitions)
    return _hash(topic.topic_id, topic.name, len(topic.partitions), racks)


@lru_cache(maxsize=TOPICS_REMEMBERED_MAX)
def _hash(topic_id: Uuid, name: str, partitions: int, racks: tuple[tuple[str, ...], ...]) -> int:
    """`racks` by partition; empty when no broker has said where it stands."""
    parts = [_FORMAT_VERSION, topic_id[7::-1], topic_id[:7:-1], _string(name), _INT(partitions)]
    for partition in range(partitions):
        parts.append(_INT(partition))
        for rack in racks[partition] if racks else ():
            parts += (_INT(len(rack)), _string(rack))
    return xxh3_64(b"".join(parts))


def _racks(
    partition: PartitionImage, brokers: Mapping[BrokerId, BrokerRegistration]
) -> tuple[str, ...]:
    """One for each replica whose broker has said where it stands."""
    registrations = (brokers.get(replica) for replica in partition.replicas)
    return tuple(sorted(known.rack for known in registrations if known is not None and known.rack))


def _string(text: str) -> bytes:
    """UTF-16 code units, then how many."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units + _INT(len(units) // 2)
