"""The requests about share groups that come from this node itself, between the group coordinator
and the share coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.model import Uuid


@dataclass(frozen=True, slots=True)
class PartitionsInitialized:
    """The share coordinator has the state of these partitions. Answered with None."""

    group_id: str
    partitions: Partitions


@dataclass(frozen=True, slots=True)
class PartitionsNotInitialized:
    """The share coordinator has refused. Answered with None."""

    group_id: str
    partitions: Partitions


@dataclass(frozen=True, slots=True)
class InitializedPartitions:
    """Asks for the partitions that have share state.

    Answered with `Partitions`; a group that does not exist has none.
    """

    group_id: str


@dataclass(frozen=True, slots=True)
class DeleteGroupState:
    """The group is about to be deleted. Answered with `offsets.Deletion`."""

    group_id: str


@dataclass(frozen=True, slots=True)
class OffsetsDeleted:
    """The share coordinator has forgotten these topics. Answered with None."""

    group_id: str
    topic_ids: frozenset[Uuid]
