"""Sizes of groups: the names, partitions, protocols and offsets that are looked at when
members and their tasks are planned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, final

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.context import GroupTimer, GroupTimerKind, TopicsDeleted
from millstream.coordinator.group.group import Group
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.metadata.image import TopicsImage
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.leave_group import LeaveGroupRequest
from millstream.protocol.generated.offset_fetch import OffsetFetchRequest
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from millstream.protocol.generated.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from millstream.protocol.generated.sync_group import SyncGroupRequest

_Asked = Any  # Any: a request or timer, of the type that it stands under in a table

AT_ONCE: Final = 1_000
"""Planned in some milliseconds."""
OFFSETS_AT_ONCE: Final = 500
"""Looked at, and deleted, in some milliseconds."""
_REMEMBERED_MAX: Final = 10_000
"""Ours: a megabyte or so, whatever names clients make up."""


def has_many_offsets(offsets: OffsetStore, group_id: str) -> bool:
    return offsets.held_count_of_group(group_id) > OFFSETS_AT_ONCE


def size_of_topics(names: Iterable[str], topics: TopicsImage) -> int:
    """Returns the size of topics: names, and the partitions of those that exist."""
    size = 0
    for name in names:
        topic = topics.by_name.get(name)
        size += 1 if topic is None else 1 + len(topic.partitions)
    return size


def _subscribed_names(
    asked: ConsumerGroupHeartbeatRequest | ShareGroupHeartbeatRequest,
) -> Iterable[str]:
    return asked.subscribed_topic_names or ()


def _source_names(asked: StreamsGroupHeartbeatRequest) -> Iterable[str]:
    subtopologies = () if asked.topology is None else asked.topology.subtopologies
    return chain.from_iterable(each.source_topics for each in subtopologies)


def _no_names(_asked: object) -> Iterable[str]:
    return ()


_NAMES: Final[Mapping[type, Callable[[_Asked], Iterable[str]]]] = {
    GroupTimer: _no_names,
    ConsumerGroupHeartbeatRequest: _subscribed_names,
    ShareGroupHeartbeatRequest: _subscribed_names,
    StreamsGroupHeartbeatRequest: _source_names,
    JoinGroupRequest: _no_names,
    SyncGroupRequest: _no_names,
    LeaveGroupRequest: _no_names,
}
"""The topics that a request about a group names, besides those that the group knows."""

_TOUCHES_MANY_OFFSETS: Final[Mapping[type, Callable[[_Asked, OffsetStore], bool]]] = {
    DeleteGroupsRequest: lambda asked, offsets: any(
        has_many_offsets(offsets, group_id) for group_id in asked.groups_names
    ),
    OffsetFetchRequest: lambda asked, offsets: any(
        group.topics is None and has_many_offsets(offsets, group.group_id) for group in asked.groups
    ),
    TopicsDeleted: lambda _asked, offsets: offsets.held_count > OFFSETS_AT_ONCE,
}
_TIMERS_OF_ALL_OFFSETS: Final = frozenset(
    {GroupTimerKind.OFFSET_EXPIRY, GroupTimerKind.MISSING_TOPICS}
)


@dataclass(frozen=True, slots=True)
class _Measured:
    epoch: int
    topics: TopicsImage
    size: int


@final
class GroupSizes:
    """Remembered until the group gets another epoch, or the topics change."""

    def __init__(self) -> None:
        self._measured: dict[str, _Measured] = {}

    def takes_long(
        self,
        asked: _Asked,
        groups: Groups,
        offsets: OffsetStore,
        topics: TopicsImage,
    ) -> bool:
        """Whether a request, or a timer, is work for a thread.

        That is what members of a group with very many names, partitions or protocols ask for, and the timers of such a
        group; and whatever is done with all of very many offsets.
        """
        touches_many = _TOUCHES_MANY_OFFSETS.get(type(asked))
        if touches_many is not None:
            return touches_many(asked, offsets)
        names = _NAMES.get(type(asked))
        if names is None:
            return False
        if isinstance(asked, GroupTimer) and asked.kind in _TIMERS_OF_ALL_OFFSETS:
            return offsets.held_count > OFFSETS_AT_ONCE
        group = groups.find(asked.group_id)
        size = 0 if group is None else self.size(group, topics)
        return size + size_of_topics(names(asked), topics) > AT_ONCE

    def size(self, group: Group, topics: TopicsImage) -> int:
        match group:
            case ClassicGroup():
                return group.protocol_count
            case ConsumerGroup() | ShareGroup() | StreamsGroup():
                known = self._measured.get(group.group_id)
                if known is None or known.epoch != group.epoch or known.topics is not topics:
                    known = _Measured(group.epoch, topics, _measure(group, topics))
                    self._remember(group.group_id, known)
                return known.size
            case _:
                return 0

    def _remember(self, group_id: str, measured: _Measured) -> None:
        if len(self._measured) >= _REMEMBERED_MAX:
            self._measured.clear()
        self._measured[group_id] = measured


def _measure(group: ConsumerGroup | ShareGroup | StreamsGroup, topics: TopicsImage) -> int:
    """Not more than is needed to see that it is above `AT_ONCE`."""
    if isinstance(group, StreamsGroup):
        if group.topology is None:
            return 0
        size = group.topology.size
        return (
            size
            if size > AT_ONCE
            else size + size_of_topics(group.topology.subtopology_of_source, topics)
        )
    most = max((len(member.topic_names) for member in group.members.values()), default=0)
    return most if most > AT_ONCE else size_of_topics(group.subscribed_topics(), topics)
