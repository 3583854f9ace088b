"""The context of one operation on groups, whatever their kind, and the handlers that each kind gives the shard; the
timers of groups, by what they mean, and the requests that come from this node itself, or with what it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

from millstream.coordinator.context import OperationContext, Operations
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.group import Group
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore
from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller
from millstream.metadata.image import MetadataImage
from millstream.model import Uuid
from millstream.protocol.generated.txn_offset_commit import TxnOffsetCommitRequest
from millstream.runtime import Random


class GroupTimerKind(Enum):
    """Each kind of group knows what its own timers mean; one that fires for a group of another kind means nothing."""

    SESSION = "session"
    """A member has not been heard of."""
    JOIN = "join"
    """Waited long enough for members to join."""
    SYNC = "sync"
    """Waited long enough for members to sync."""
    REBALANCE = "rebalance"
    """A member of a consumer group has not given up what it was told to revoke."""
    REGEX = "regex"
    """Regular expressions are to be matched with the topics: at once, but in an operation of its own."""
    DOWNGRADE = "downgrade"
    """A consumer group has become a classic one: at once, once its records are written."""
    INITIAL_REBALANCE = "initial rebalance"
    """A streams group has waited for more members before its first assignment."""
    OFFSET_EXPIRY = "offset expiry"
    MISSING_TOPICS = "missing topics"
    """The coordinator was loaded: offsets of topics that have gone meanwhile are to be forgotten."""


class GroupTimer(NamedTuple):
    kind: GroupTimerKind
    group_id: str = ""
    member_id: str = ""
    asked_by: Caller | None = None
    """The client whose request set a timer of kind REGEX, without a token."""


SoftT = TypeVar("SoftT")


class HasSoftState(Protocol[SoftT]):
    soft: SoftT


@dataclass(slots=True)
class GroupContext(OperationContext):
    """Soft state of a group is one frozen value, `group.soft`, that `replace_soft` alone replaces."""

    groups: Groups
    offsets: OffsetStore
    config: GroupCoordinatorConfig
    image: MetadataImage
    """The newest there is."""
    topics_version: int
    """Differs from image to image whose topics differ."""
    random: Random

    def replace_soft(self, group: HasSoftState[SoftT], soft: SoftT) -> None:
        """The group has its present soft state again if the records of this operation are not written."""
        before, group.soft = group.soft, soft

        def put_back(context: GroupContext) -> None:
            del context
            group.soft = before

        self.on_append_failure(put_back)


@dataclass(frozen=True, slots=True)
class GroupHandlers:
    """One `HANDLERS` of this shape stands in the `operations` module of every kind."""

    group_type: type[Group]
    operations: Operations[GroupContext]
    record_keys: Sequence[type]
    replay: Callable[[Groups, CoordinatorRecord], None]
    """What a record changes, live and at load. No other code changes hard state."""
    resume: Callable[[GroupContext, Any], None]  # Any: a group of `group_type`
    """Starts what has to run for a group that has been loaded."""
    expire: Callable[[GroupContext, Any, GroupTimer], None]  # Any: a group of `group_type`
    """One of the group's timers has fired."""


@dataclass(frozen=True, slots=True)
class TopicsChanged:
    """Topics have come, gone or grown since the last image. Answered with None."""


@dataclass(frozen=True, slots=True)
class TopicsDeleted:
    """The topics of these names are gone. Answered with None."""

    names: Collection[str]


@dataclass(frozen=True, slots=True)
class TransactionalCommit:
    """A TxnOffsetCommit, whose topics are named only, with their ids as they were when it came.

    Answered with TxnOffsetCommitResponse.
    """

    commit: TxnOffsetCommitRequest
    topic_ids: Mapping[str, Uuid]
