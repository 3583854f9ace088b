"""The interface of the server's assignors for consumer groups (KIP-848). Each assignor is a module of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from millstream.model import Uuid

Partitions = Mapping[Uuid, frozenset[int]]
"""Partitions by topic id. A topic without partitions is absent, so that equal assignments compare equal."""


@dataclass(frozen=True, slots=True)
class AssignableMember:
    """One member as an assignor sees it."""

    topic_ids: frozenset[Uuid]
    """The topics that it subscribes to and that exist."""
    assigned: Partitions = field(default_factory=dict)
    """Its target in the assignment that is to be replaced."""
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class AssignableGroup:
    """A whole group. `partition_counts` knows every topic that any member subscribes to."""

    members: Mapping[str, AssignableMember]
    partition_counts: Mapping[Uuid, int] = field(default_factory=dict)

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same topics."""
        return len({member.topic_ids for member in self.members.values()}) <= 1


class PartitionAssignor(Protocol):
    """Gives every partition of every subscribed topic to exactly one member that subscribes to it."""

    name: str
    """As members ask for it (`server_assignor`) and `group.consumer.assignors` lists it."""

    def assign(self, group: AssignableGroup) -> Mapping[str, Partitions]:
        """Returns the target of each member; one that is to have nothing may be absent."""
        ...
