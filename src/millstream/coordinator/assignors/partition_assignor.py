"""Input and output of the server's assignors: partitions of consumer groups (KIP-848), tasks of streams
groups (KIP-1071). Each assignor is a module of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

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


class TaskId(NamedTuple):
    """One partition's share of the work of one sub-topology."""

    subtopology_id: str
    partition: int


NO_TASKS: Final[frozenset[TaskId]] = frozenset()


@dataclass(frozen=True, slots=True)
class Tasks:
    """`active` tasks process records, `standby` tasks follow a changelog, `warmup` tasks do so
    until they can take over.
    """

    active: frozenset[TaskId] = NO_TASKS
    standby: frozenset[TaskId] = NO_TASKS
    warmup: frozenset[TaskId] = NO_TASKS

    @property
    def all(self) -> frozenset[TaskId]:
        return self.active | self.standby | self.warmup
