"""The changes of topics and partitions between two images.

Owns the replay of Topic, Partition, PartitionChange, RemoveTopic and ClearElr records. Only touched topics are rebuilt;
all others are shared with the image before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from millstream.metadata.image import PartitionImage, TopicImage, TopicsImage, frozen_mapping
from millstream.model import ZERO_UUID, BrokerId, LeaderEpoch, Uuid
from millstream.protocol.generated.metadata_records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

NO_LEADER_CHANGE: Final = -2
"""Leader field of a PartitionChange record that leaves the leader as it is."""
_NO_RECOVERY_CHANGE: Final = -1


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A topic that is new or has changed partitions. `before` is None for a new one."""

    before: TopicImage | None
    after: TopicImage
    partitions: tuple[int, ...]
    """Numbers of the partitions that are new or differ."""


class _TopicDelta:
    """One topic under change: the partitions of its base, replaced one by one."""

    def __init__(self, base: TopicImage | None, name: str, topic_id: Uuid) -> None:
        self.base = base
        self.name = name
        self.topic_id = topic_id
        self.changed: dict[int, PartitionImage] = {}

    def partition(self, number: int) -> PartitionImage | None:
        if number in self.changed:
            return self.changed[number]
        if self.base is not None and 0 <= number < len(self.base.partitions):
            return self.base.partitions[number]
        return None

    def count(self) -> int:
        base = len(self.base.partitions) if self.base else 0
        return max(base, *(number + 1 for number in self.changed)) if self.changed else base

    def result(self) -> TopicImage:
        partitions = []
        for number in range(self.count()):
            partition = self.partition(number)
            assert partition is not None, (
                f"{self.name} has no record of partition {number} below its highest"
            )
            partitions.append(partition)
        return TopicImage(self.name, self.topic_id, tuple(partitions))


class TopicsDelta:
    """Replays topic records on top of a `TopicsImage`."""

    def __init__(self, base: TopicsImage) -> None:
        self._base = base
        self._changed: dict[Uuid, _TopicDelta] = {}
        self._deleted: dict[Uuid, TopicImage] = {}
        self._ids: dict[str, Uuid | None] = {}
        """Names that were added (id) or removed (None) since the base."""
        self._told: list[TopicChange] | None = None
        """What `changes` gives, until more is replayed."""

    def replay_topic(self, record: TopicRecord) -> None:
        assert self.id_of(record.name) is None, f"topic {record.name} is created while it exists"
        topic_id = Uuid(record.topic_id)
        self._told = None
        self._changed[topic_id] = _TopicDelta(None, record.name, topic_id)
        self._ids[record.name] = topic_id

    def replay_partition(self, record: PartitionRecord) -> None:
        topic = self._topic(Uuid(record.topic_id))
        topic.changed[record.partition_id] = PartitionImage(
            partition=record.partition_id,
            replicas=_broker_ids(record.replicas),
            isr=_broker_ids(record.isr),
            leader=BrokerId(record.leader),
            leader_epoch=LeaderEpoch(record.leader_epoch),
            partition_epoch=record.partition_epoch,
            directories=_directories(record.directories, len(record.replicas)),
            removing_replicas=_broker_ids(record.removing_replicas),
            adding_replicas=_broker_ids(record.adding_replicas),
            leader_recovery_state=record.leader_recovery_state,
            eligible_leader_replicas=_broker_ids(record.eligible_leader_replicas or ()),
            last_known_eligible_leader_replicas=_broker_ids(record.last_known_elr or ()),
        )

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        topic = self._topic(Uuid(record.topic_id))
        before = topic.partition(record.partition_id)
        assert before is not None, (
            f"partition {record.partition_id} of {topic.name} is changed but was never created"
        )
        topic.changed[record.partition_id] = merged(before, record)

    def replay_remove_topic(self, record: RemoveTopicRecord) -> str:
        """Returns the name of the removed topic."""
        topic_id = Uuid(record.topic_id)
        removed = self._topic(topic_id)
        del self._changed[topic_id]
        if removed.base is not None:
            self._deleted[topic_id] = removed.base
        self._ids[removed.name] = None
        return removed.name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """Forgets the eligible leader replicas of one topic, or of all when no name is given (KIP-966)."""
        if record.topic_name:
            topic_id = self.id_of(record.topic_name)
            assert topic_id is not None, (
                f"topic {record.topic_name} is not known but its ELR is cleared"
            )
            topic_ids: Iterable[Uuid] = (topic_id,)
        else:
            topic_ids = [*self._changed, *(t for t in self._base.by_id if t not in self._deleted)]
        for topic_id in topic_ids:
            self._clear_elr(topic_id)

    def id_of(self, name: str) -> Uuid | None:
        """Returns the id of a topic as of the last replayed record."""
        if name in self._ids:
            return self._ids[name]
        topic = self._base.by_name.get(name)
        return topic.topic_id if topic else None

    def image(self) -> TopicsImage:
        if not self._changed and not self._deleted:
            return self._base
        by_name, by_id = self._base.by_name.copy(), self._base.by_id.copy()
        for topic in self._deleted.values():
            del by_name[topic.name], by_id[topic.topic_id]
        for change in self.changes():
            topic = change.after
            by_name[topic.name] = by_id[topic.topic_id] = topic
        return TopicsImage(frozen_mapping(by_name), frozen_mapping(by_id))

    def changes(self) -> Sequence[TopicChange]:
        """Returns new and changed topics, in the order they were first touched."""
        if self._told is None:
            self._told = [
                TopicChange(delta.base, delta.result(), tuple(sorted(delta.changed)))
                for delta in self._changed.values()
            ]
        return self._told

    def created(self) -> list[TopicImage]:
        return [delta.result() for delta in self._changed.values() if delta.base is None]

    def deleted(self) -> list[TopicImage]:
        """Returns the topics of the base that are gone; the images are those of the base."""
        return list(self._deleted.values())

    def _topic(self, topic_id: Uuid) -> _TopicDelta:
        self._told = None
        found = self._changed.get(topic_id)
        if found is None:
            base = None if topic_id in self._deleted else self._base.by_id.get(topic_id)
            assert base is not None, (
                f"a record names topic id {topic_id.hex()}, which does not exist"
            )
            found = self._changed[topic_id] = _TopicDelta(base, base.name, topic_id)
        return found

    def _clear_elr(self, topic_id: Uuid) -> None:
        delta = self._changed.get(topic_id)
        base = self._base.by_id.get(topic_id)
        count = delta.count() if delta else len(base.partitions) if base else 0
        for number in range(count):
            partition = (
                delta.partition(number) if delta else base.partitions[number] if base else None
            )
            assert partition is not None, f"partition {number} of a topic has no record"
            if partition.eligible_leader_replicas or partition.last_known_eligible_leader_replicas:
                self._topic(topic_id).changed[number] = replace(
                    partition, eligible_leader_replicas=(), last_known_eligible_leader_replicas=()
                )


def merged(before: PartitionImage, record: PartitionChangeRecord) -> PartitionImage:
    """Returns a partition after a change record: absent fields stay, every change bumps the partition epoch.

    A record that names a leader, even the same one, bumps the leader epoch.
    """
    leader_changes = record.leader != NO_LEADER_CHANGE
    replicas = before.replicas if record.replicas is None else _broker_ids(record.replicas)
    recovery = record.leader_recovery_state
    return PartitionImage(
        partition=before.partition,
        replicas=replicas,
        isr=_changed_or_before(before.isr, record.isr),
        leader=BrokerId(record.leader) if leader_changes else before.leader,
        leader_epoch=LeaderEpoch(before.leader_epoch + leader_changes),
        partition_epoch=before.partition_epoch + 1,
        directories=_moved_directories(before, replicas, record.directories),
        removing_replicas=_changed_or_before(before.removing_replicas, record.removing_replicas),
        adding_replicas=_changed_or_before(before.adding_replicas, record.adding_replicas),
        leader_recovery_state=(
            before.leader_recovery_state if recovery == _NO_RECOVERY_CHANGE else recovery
        ),
        eligible_leader_replicas=_changed_or_before(
            before.eligible_leader_replicas, record.eligible_leader_replicas
        ),
        last_known_eligible_leader_replicas=_changed_or_before(
            before.last_known_eligible_leader_replicas, record.last_known_elr
        ),
    )


def _broker_ids(numbers: Iterable[int]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def _changed_or_before(
    before: tuple[BrokerId, ...], changed: Sequence[int] | None
) -> tuple[BrokerId, ...]:
    return before if changed is None else _broker_ids(changed)


def _directories(given: Sequence[Uuid], replica_count: int) -> tuple[Uuid, ...]:
    """Records before version 1 name no directories: every replica gets the id that means "not told"."""
    return tuple(given) if given else (ZERO_UUID,) * replica_count


def _moved_directories(
    before: PartitionImage, replicas: tuple[BrokerId, ...], given: Sequence[Uuid] | None
) -> tuple[Uuid, ...]:
    if given is not None:
        return tuple(given)
    if replicas == before.replicas:
        return before.directories
    known = dict(zip(before.replicas, before.directories, strict=True))
    return tuple(known.get(replica, ZERO_UUID) for replica in replicas)
