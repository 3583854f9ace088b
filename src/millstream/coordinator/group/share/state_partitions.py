"""The partitions of a share group that have share state: only those can be assigned, and their
state has to go with the group.

Immutable, as record 15 has it. The share coordinator is asked by the edge; what it has answered is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.model import Uuid


@dataclass(frozen=True, slots=True)
class StatePartitions:
    initializing: Partitions = field(default_factory=dict)
    """The share coordinator has been asked for them."""
    initialized: Partitions = field(default_factory=dict)
    deleting: frozenset[Uuid] = frozenset()
    """Topics whose state is being deleted."""

    def is_empty(self) -> bool:
        return not (self.initializing or self.initialized or self.deleting)

    def with_initializing(self, partitions: Partitions) -> StatePartitions:
        """Returns the state with partitions to initialize. What is wanted again is not deleted any more."""
        return replace(
            self,
            initializing=union(self.initializing, partitions),
            deleting=self.deleting - partitions.keys(),
        )

    def with_initialized(self, partitions: Partitions) -> StatePartitions:
        return replace(
            self,
            initializing=without(self.initializing, partitions),
            initialized=union(self.initialized, partitions),
        )

    def without_initializing(self, partitions: Partitions) -> StatePartitions:
        return replace(self, initializing=without(self.initializing, partitions))

    def with_deleting(self, topic_ids: Collection[Uuid]) -> StatePartitions:
        """Returns the state with partitions to delete. They are not assigned until they are initialised again."""
        return replace(
            self,
            initialized=_topics_if(self.initialized, lambda topic_id: topic_id not in topic_ids),
            deleting=self.deleting.union(topic_ids),
        )

    def without_topics(self, topic_ids: Collection[Uuid]) -> StatePartitions:
        """The topics, or all their state, are gone."""
        return StatePartitions(
            _topics_if(self.initializing, lambda topic_id: topic_id not in topic_ids),
            _topics_if(self.initialized, lambda topic_id: topic_id not in topic_ids),
            self.deleting.difference(topic_ids),
        )

    def topic_ids(self) -> frozenset[Uuid]:
        return frozenset((*self.initializing, *self.initialized, *self.deleting))


def union(one: Partitions, other: Partitions) -> Partitions:
    return {
        topic_id: one.get(topic_id, frozenset()) | other.get(topic_id, frozenset())
        for topic_id in (*one, *(topic_id for topic_id in other if topic_id not in one))
    }


def without(one: Partitions, other: Partitions) -> Partitions:
    rest = {
        topic_id: partitions - other.get(topic_id, frozenset())
        for topic_id, partitions in one.items()
    }
    return {topic_id: partitions for topic_id, partitions in rest.items() if partitions}


def union_of_all(many: Iterable[Partitions]) -> Partitions:
    merged: dict[Uuid, set[int]] = {}
    for partitions in many:
        for topic_id, numbers in partitions.items():
            merged.setdefault(topic_id, set()).update(numbers)
    return {topic_id: frozenset(numbers) for topic_id, numbers in merged.items()}


def of_topics(partitions: Partitions, topic_ids: Collection[Uuid]) -> Partitions:
    return _topics_if(partitions, lambda topic_id: topic_id in topic_ids)


def _topics_if(
    partitions: Mapping[Uuid, frozenset[int]], keep: Callable[[Uuid], bool]
) -> Partitions:
    return {topic_id: numbers for topic_id, numbers in partitions.items() if keep(topic_id)}
