"""One record of a coordinator's topic, between the shard that means it and the log that keeps it; and the partition of
that topic to which a key belongs, on which all brokers and Kafka releases must agree for ever.

Owns the pairing of key and value messages. Does not know which message types there are: that is each shard's
business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from millstream.model import NO_PRODUCER_ID, ProducerId
from millstream.protocol.generated.group_records import GroupKey, GroupValue
from millstream.protocol.generated.share_records import ShareKey, ShareValue
from millstream.protocol.generated.transaction_records import TransactionKey, TransactionValue

CoordinatorKey: TypeAlias = GroupKey | TransactionKey | ShareKey
CoordinatorValue: TypeAlias = GroupValue | TransactionValue | ShareValue


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """A key, and the value that replaces whatever stood under it. A value of None is a tombstone.

    `value_version` is the version the value is written with. `producer_id` and `producer_epoch` are
    set on records that belong to a transaction: they count once its marker says so. All records of
    one result belong to the same, or to none.
    """

    key: CoordinatorKey
    value: CoordinatorValue | None
    value_version: int = 0
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: int = -1

    def in_transaction(self, producer_id: ProducerId, producer_epoch: int) -> CoordinatorRecord:
        """Returns the same record, as part of that producer's open transaction."""
        return replace(self, producer_id=producer_id, producer_epoch=producer_epoch)


def java_string_hash(text: str) -> int:
    """Returns Java's `String.hashCode`: over UTF-16 code units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def partition_for(key: str, partitions: int) -> int:
    """Returns the partition that coordinates `key`: a group id, a transactional id, or `group:topicId:partition`."""
    hashed = java_string_hash(key)
    magnitude = 0 if hashed == -(1 << 31) else abs(hashed)  # Kafka's Utils.abs
    return magnitude % partitions
