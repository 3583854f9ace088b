"""Decides what becomes of a replica in whose log a batch is not what was written (bit rot). Pure.

    damaged --in the ISR, and others are too--> withdrawn --out of the ISR, another one leads--> cut --in the ISR again--> sound

It is not cut while it is in the ISR: a replica that lacks committed records must not be elected. Only the controller
can take one out at once. A broker asks for that, without a protocol of its own, by telling that the replica lives in a
lost directory (AssignReplicasToDirs, KIP-858; Kafka's brokers do so for a replica whose directory fails while it
moves): the controller takes it out of the ISR, has another one lead, and does not elect it before it lives in a
directory again. That is told once it is in the ISR again, not when it was cut: it may be eligible to lead from outside
of the ISR (KIP-966). The other ways have each a fault: to fail the log needs a restart to mend it, ElectLeaders leaves
it in the ISR, and to wait until the leader has missed it takes `replica.lag.time.max.ms`.
"""

from __future__ import annotations

from enum import Enum

from millstream.errors import CorruptMessage, KafkaStorageError
from millstream.metadata.image import NO_LEADER, PartitionImage
from millstream.model import BrokerId, TopicPartition


class DamageStep(Enum):
    """The next thing that a broker does with a damaged replica, as the metadata stand."""

    STAY = "nobody else has its records: it goes on with what it has"
    WITHDRAW = "the controller is asked to take it out of the ISR"
    CUT = "what is damaged goes, and comes anew from the leader"


def next_step(image: PartitionImage, broker_id: BrokerId) -> DamageStep:
    """Returns what `broker_id` does with its damaged replica."""
    if image.leader == NO_LEADER:
        return DamageStep.STAY
    if image.leader == broker_id:
        return DamageStep.WITHDRAW if len(image.isr) > 1 else DamageStep.STAY
    return DamageStep.WITHDRAW if broker_id in image.isr else DamageStep.CUT


def check_readable(name: TopicPartition, offset: int, damaged_at: int, in_sync: int) -> None:
    """Raises KafkaStorageError from the damage on where another replica is about to lead, so that readers look for it.

    Where there is none, CorruptMessage at the damage, as long as a reader does not skip it.
    """
    if offset >= damaged_at and in_sync > 1:
        raise KafkaStorageError(
            f"{name} is damaged at offset {damaged_at}, another replica leads soon"
        )
    if offset == damaged_at:
        raise CorruptMessage(
            f"{name} is damaged at offset {damaged_at}, and no replica has what stood there"
        )
