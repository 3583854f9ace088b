"""What a group remembers of the topics it reads, in one number: it changes when they come, go, grow or move to other racks.

The number stands in the group's record, so it is computed as Kafka 4.3 computes it (`metadataHash`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Final

from millstream.coordinator.group.xxh3 import xxh3_64
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage
from millstream.model import BrokerId

NO_TOPICS_HASH: Final = 0
_FORMAT_VERSION: Final = b"\x00"
_INT: Final = Struct("<i").pack
_LONG: Final = Struct("<q").pack


def topics_hash(names: Iterable[str], image: MetadataImage) -> int:
    """Of those of the topics that exist."""
    existing = [image.topics.by_name[name] for name in sorted(set(names)) if name in image.topics]
    if not existing:
        return NO_TOPICS_HASH
    return xxh3_64(b"".join(_LONG(topic_hash(topic, image.brokers)) for topic in existing))


def topic_hash(topic: TopicImage, brokers: Mapping[BrokerId, BrokerRegistration]) -> int:
    parts = [
        _FORMAT_VERSION,
        topic.topic_id[7::-1],
        topic.topic_id[:7:-1],
        _string(topic.name),
        _INT(len(topic.partitions)),
    ]
    for partition in topic.partitions:
        parts.append(_INT(partition.partition))
        for rack in _racks(partition, brokers):
            parts += (_INT(len(rack)), _string(rack))
    return xxh3_64(b"".join(parts))


def _racks(partition: PartitionImage, brokers: Mapping[BrokerId, BrokerRegistration]) -> list[str]:
    """One for each replica whose broker has said where it stands."""
    registrations = (brokers.get(replica) for replica in partition.replicas)
    return sorted(known.rack for known in registrations if known is not None and known.rack)


def _string(text: str) -> bytes:
    """UTF-16 code units, then how many."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units + _INT(len(units) // 2)
