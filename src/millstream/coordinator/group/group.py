"""The interface of every kind of group, whichever protocol its members speak.

Owns the questions that offsets, expiry, listing and deletion ask. How members join and what they are assigned is each
kind's own business; the code that knows a kind asks `Groups` for it by its class.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from millstream.coordinator.group.offsets.store import StoredOffset
from millstream.coordinator.record import CoordinatorRecord
from millstream.model import Uuid

_NO_EPOCH: Final = -1


class GroupKind(StrEnum):
    """As ListGroups names it (`types_filter`, `group_type`)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


@dataclass(frozen=True, slots=True)
class Committer:
    """The client that wants to commit offsets for a group."""

    member_id: str
    group_instance_id: str | None
    generation_or_epoch: int
    """-1: an administrator, or a consumer that assigns itself."""
    api_version: int
    is_transactional: bool = False
    partitions: Collection[tuple[Uuid, int]] = ()
    """What it commits for, by topic id."""

    @property
    def names_no_member(self) -> bool:
        """Whether no member is named, as by producers that take no part in the group (before KIP-447)."""
        return (
            self.generation_or_epoch == _NO_EPOCH
            and not self.member_id
            and self.group_instance_id is None
        )


BaseTimestamp = Callable[[StoredOffset], int]
"""From when on an offset ages, in milliseconds of wall time."""


def commit_timestamp(stored: StoredOffset) -> int:
    return stored.value.commit_timestamp


class Group(Protocol):
    """Questions only: asking never changes the group."""

    group_id: str

    @property
    def kind(self) -> GroupKind: ...

    @property
    def protocol_type_name(self) -> str:
        """The protocol type as ListGroups gives it; empty for a group that only stores offsets."""
        ...

    @property
    def state_name(self) -> str:
        """The state as ListGroups gives it."""
        ...

    @property
    def members(self) -> Collection[str]:
        """Their ids."""
        ...

    @property
    def is_unused(self) -> bool:
        """Whether there are no members and none is about to join: without offsets there is no reason to keep it."""
        ...

    def check_may_commit(self, committer: Committer) -> None:
        """Raises what every partition of the commit is refused with."""
        ...

    def check_may_fetch_offsets(self, member_id: str | None, member_epoch: int) -> None:
        """Raises what the fetch is refused with. (None, -1): a client that does not say who it is."""
        ...

    def check_may_delete_offsets(self) -> None:
        """Raises what the whole deletion is refused with; topics that are `subscribed_topics` are
        refused one by one.
        """
        ...

    def check_may_delete(self) -> None:
        """Raises NonEmptyGroup."""
        ...

    def tombstones(self) -> list[CoordinatorRecord]:
        """Returns the records that remove the group itself from the log; its offsets are the caller's business."""
        ...

    def subscribed_topics(self) -> AbstractSet[str]:
        """Returns the topics that the group reads, whose offsets do not expire."""
        ...

    def offset_base_timestamp(self) -> BaseTimestamp | None:
        """Returns the function that gives the time from which an offset ages; None while no offset
        of this group ages.
        """
        ...
