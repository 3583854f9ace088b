"""Records that the application has been given and not answered for: what acknowledge(), commit() and poll() go by.

A record stays here until an acknowledgement of it is taken to be sent. One that is renewed waits aside until the broker
has said yes, and is then returned by poll() again; one that is held stays where it is. Knows no broker and no time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic

from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.values import ConsumerRecord, Key, Value
from millstream.clients.share.core.fetched import ShareFetched, Taken
from millstream.clients.share.core.values import (
    AcknowledgementOutcome,
    Acknowledgements,
    NodeAcknowledgements,
    TopicIdPartition,
)
from millstream.model import TopicPartition
from millstream.protocol.enums import AcknowledgeType

RENEW = AcknowledgeType.RENEW
RecordPosition = tuple[TopicPartition, int]
"""Partition and offset."""


@dataclass(slots=True)
class _PartitionInHand(Generic[Key, Value]):
    node_id: int
    partition: TopicIdPartition
    records: dict[int, ConsumerRecord[Key, Value]] = field(default_factory=dict)
    acknowledgements: Acknowledgements = field(default_factory=dict)
    """Of records, and of offsets that were never given out."""
    failed: set[int] = field(default_factory=set)
    """Offsets that the last error was about: their acknowledgement may be changed."""
    renewing: dict[int, ConsumerRecord[Key, Value]] = field(default_factory=dict)
    renewed: dict[int, ConsumerRecord[Key, Value]] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)
    """Offsets of records of earlier polls that may stay without an acknowledgement."""
    renewing_held: set[int] = field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        return not (
            self.records or self.acknowledgements or self.renewing or self.renewed or self.held
        )

    def take_acknowledgements(self) -> Acknowledgements:
        taken, self.acknowledgements = self.acknowledgements, {}
        if RENEW in taken.values():
            for offset in self.records.keys() & taken.keys():
                if taken[offset] == RENEW:
                    self.renewing[offset] = self.records[offset]
        if self.records.keys() <= taken.keys():
            self.records.clear()
        else:
            for offset in taken:
                self.records.pop(offset, None)
        self.failed.clear()
        for offset in self.held & taken.keys():
            if taken[offset] == RENEW:
                self.renewing_held.add(offset)
            else:
                self.held.discard(offset)
                self.renewing_held.discard(offset)
        return taken


class ShareInFlightRecords(Generic[Key, Value]):
    def __init__(self) -> None:
        self._partitions: dict[TopicIdPartition, _PartitionInHand[Key, Value]] = {}
        self.lock_timeout_ms: int | None = None
        """How long the broker keeps the records for us, as it last said."""
        self._renewed_lock_timeout_ms: int | None = None

    @property
    def is_renewing(self) -> bool:
        """The broker has not said yet whether records may be kept."""
        return any(part.renewing for part in self._partitions.values())

    @property
    def has_renewed(self) -> bool:
        return any(part.renewed for part in self._partitions.values())

    def records(self) -> list[ConsumerRecord[Key, Value]]:
        """Returns the records in order of offsets, a partition at a time."""
        return [
            part.records[offset]
            for part in self._partitions.values()
            for offset in sorted(part.records)
        ]

    def accepts(self, fetched: ShareFetched) -> bool:
        """Tells whether records may be added: not while records of the same partition from another
        broker are in hand.
        """
        part = self._partitions.get(fetched.partition)
        return part is None or part.node_id == fetched.node_id

    def add(self, fetched: ShareFetched, taken: Taken[Key, Value]) -> None:
        part = self._partitions.get(fetched.partition)
        if part is None:
            part = _PartitionInHand(fetched.node_id, fetched.partition)
            self._partitions[fetched.partition] = part
        part.records.update((record.offset, record) for record in taken.records)
        part.acknowledgements.update(taken.gaps)
        if taken.failure is not None:
            part.acknowledgements.update(taken.failure.acknowledgements)
            part.failed.update(taken.failure.acknowledgements)
        if fetched.lock_timeout_ms is not None:
            self.lock_timeout_ms = fetched.lock_timeout_ms

    # ---- what the application says

    def acknowledge(self, topic: str, partition: int, offset: int, kind: AcknowledgeType) -> None:
        """Acknowledges a record in hand, or one that could not be read. Raises IllegalState for any other."""
        # The latest first: a topic that was deleted and made anew has the name and the offsets of the one before.
        for part in reversed(self._partitions.values()):
            if part.partition.topic_partition == (topic, partition) and (
                offset in part.records or offset in part.failed or offset in part.held
            ):
                part.acknowledgements[offset] = kind
                return
        raise IllegalState(
            f"{topic}-{partition} offset {offset} cannot be acknowledged: poll() has not returned it, or it was"
            " acknowledged and sent already"
        )

    def hold(self) -> None:
        """Keeps the records of the last poll for later acknowledgements: the next poll returns others."""
        for part in self._partitions.values():
            part.held.update(part.records)
            part.renewing_held.difference_update(part.records)
            part.records.clear()

    def let_go(self, fetched: ShareFetched) -> set[int]:
        """Lets go what is held of a partition that another broker leads by now, and returns the offsets."""
        part = self._partitions.get(fetched.partition)
        if part is None or part.node_id == fetched.node_id or part.records:
            return set()
        del self._partitions[fetched.partition]
        return part.held

    def acknowledge_all(self, kind: AcknowledgeType, but: Iterable[RecordPosition] = ()) -> None:
        """Acknowledges every record without an acknowledgement, `but` those that were not given out yet."""
        kept = _by_partition(but)
        for part in self._partitions.values():
            offsets = part.records.keys() - kept.get(part.partition.topic_partition, set())
            part.acknowledgements = {**dict.fromkeys(offsets, kind), **part.acknowledgements}

    def unacknowledged(self, but: Iterable[RecordPosition] = ()) -> RecordPosition | None:
        """Returns the first record that nothing was said of, as above."""
        kept = _by_partition(but)
        for part in self._partitions.values():
            topic_partition = part.partition.topic_partition
            offsets = (
                part.records.keys()
                - part.acknowledgements.keys()
                - kept.get(topic_partition, set())
            )
            if offsets:
                return topic_partition, min(offsets)
        return None

    # ---- to and from the brokers

    def take_acknowledgements(self) -> list[NodeAcknowledgements]:
        """Takes the acknowledgements to be sent. Their records are not in hand any more."""
        taken = []
        for part in list(self._partitions.values()):
            acknowledgements = part.take_acknowledgements()
            if acknowledgements:
                taken.append(NodeAcknowledgements(part.node_id, part.partition, acknowledgements))
            if part.is_empty:
                del self._partitions[part.partition]
        return taken

    def handle_outcome(self, outcome: AcknowledgementOutcome) -> set[int]:
        """Renewals that the broker took come back with `take_renewed`; other records belong to other members by now.

        Returns the offsets that were held and are not any more.
        """
        lost: set[int] = set()
        part = self._partitions.get(outcome.partition)
        if part is None:
            return lost
        for offset, kind in outcome.acknowledgements.items():
            if kind != RENEW:
                continue
            record = part.renewing.pop(offset, None)
            if record is not None and outcome.error is None:
                part.renewed[offset] = record
                self._renewed_lock_timeout_ms = outcome.lock_timeout_ms
            if offset in part.renewing_held:
                part.renewing_held.discard(offset)
                if outcome.error is not None:
                    lost.add(offset)
                    part.held.discard(offset)
                    part.acknowledgements.pop(offset, None)
                elif outcome.lock_timeout_ms is not None:
                    self.lock_timeout_ms = outcome.lock_timeout_ms
        if part.is_empty:
            del self._partitions[outcome.partition]
        return lost

    def take_renewed(self) -> None:
        """Renewed records are in hand again."""
        for part in self._partitions.values():
            part.records.update(part.renewed)
            part.renewed.clear()
        if self._renewed_lock_timeout_ms is not None:
            self.lock_timeout_ms = self._renewed_lock_timeout_ms
            self._renewed_lock_timeout_ms = None


def _by_partition(positions: Iterable[RecordPosition]) -> dict[TopicPartition, set[int]]:
    offsets: dict[TopicPartition, set[int]] = {}
    for topic_partition, offset in positions:
        offsets.setdefault(topic_partition, set()).add(offset)
    return offsets
