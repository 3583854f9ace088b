"""Every operation on groups by its request, and the handlers of each kind of group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from millstream.coordinator.context import Operations
from millstream.coordinator.group import administration
from millstream.coordinator.group.classic.operations import HANDLERS as CLASSIC
from millstream.coordinator.group.consumer.operations import HANDLERS as CONSUMER
from millstream.coordinator.group.context import (
    GroupContext,
    GroupHandlers,
    GroupTimer,
    GroupTimerKind,
    TopicsDeleted,
    TransactionalCommit,
)
from millstream.coordinator.group.group import GroupKind
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets import commit, delete, expiry, fetch, transactional_commit
from millstream.coordinator.group.share.operations import HANDLERS as SHARE
from millstream.coordinator.group.streams import target_assignment as streams_assignment
from millstream.coordinator.group.streams.operations import HANDLERS as STREAMS
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.list_groups import ListGroupsRequest
from millstream.protocol.generated.offset_commit import OffsetCommitRequest
from millstream.protocol.generated.offset_delete import OffsetDeleteRequest
from millstream.protocol.generated.offset_fetch import OffsetFetchRequest

KINDS: Final[Mapping[GroupKind, GroupHandlers]] = MappingProxyType(
    {
        GroupKind.CLASSIC: CLASSIC,
        GroupKind.CONSUMER: CONSUMER,
        GroupKind.SHARE: SHARE,
        GroupKind.STREAMS: STREAMS,
    }
)

_OF_ALL_KINDS: Final[Operations[GroupContext]] = {
    OffsetCommitRequest: commit.commit_offsets,
    TransactionalCommit: transactional_commit.commit_transactional_offsets,
    OffsetFetchRequest: fetch.fetch_offsets,
    OffsetDeleteRequest: delete.delete_offsets,
    TopicsDeleted: delete.forget_topics,
    ListGroupsRequest: administration.list_groups,
    DeleteGroupsRequest: administration.delete_groups,
}

OPERATIONS: Final[Operations[GroupContext]] = MappingProxyType(
    {
        **_OF_ALL_KINDS,
        **{
            request: operation
            for kind in KINDS.values()
            for request, operation in kind.operations.items()
        },
    }
)

TIMERS: Final[Mapping[GroupTimerKind, Callable[[GroupContext, GroupTimer], None]]] = (
    MappingProxyType(
        {
            GroupTimerKind.OFFSET_EXPIRY: expiry.expire_offsets,
            GroupTimerKind.MISSING_TOPICS: delete.forget_missing_topics,
            GroupTimerKind.INITIAL_REBALANCE: streams_assignment.end_initial_delay,
        }
    )
)
"""Timers that mean something whatever has become of their group. What others mean, the group's own kind says."""

REPLAYS: Final[Mapping[type, Callable[[Groups, CoordinatorRecord], None]]] = MappingProxyType(
    {key: kind.replay for kind in KINDS.values() for key in kind.record_keys}
)
"""By type of record key, of records about groups."""
