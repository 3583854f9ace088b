"""The requests to the share coordinator, one share partition at a time. Names are those of Kafka's share state APIs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from millstream.coordinator.share.state import SharePartitionKey, StateChange
from millstream.model import Uuid


@dataclass(frozen=True, slots=True)
class InitializeState:
    """Answered with None."""

    key: SharePartitionKey
    state_epoch: int
    start_offset: int
    """-1: the first leader that reads the state decides."""


@dataclass(frozen=True, slots=True)
class ReadState:
    """Answered with a ShareState."""

    key: SharePartitionKey
    leader_epoch: int
    """-1: the asker does not lead the partition."""


@dataclass(frozen=True, slots=True)
class ReadStateSummary:
    """Answered with a ShareState."""

    key: SharePartitionKey
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class WriteState:
    """Answered with None."""

    key: SharePartitionKey
    state_epoch: int
    change: StateChange


@dataclass(frozen=True, slots=True)
class DeleteState:
    """Answered with None."""

    key: SharePartitionKey


@dataclass(frozen=True, slots=True)
class FirstNeededOffset:
    """From which offset on the log is needed.

    Answered with an int, once the snapshots that make the rest redundant are committed.
    """


@dataclass(frozen=True, slots=True)
class TopicIdsDeleted:
    """The topics of these ids are gone. Answered with None."""

    topic_ids: Collection[Uuid]
