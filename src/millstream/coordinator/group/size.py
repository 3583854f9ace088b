"""How much there is to look at when the members of a group or their tasks are planned: names, partitions and protocols."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.group import Group
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.timers import GroupTimer
from millstream.metadata.image import TopicsImage
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.leave_group import LeaveGroupRequest
from millstream.protocol.generated.offset_fetch import OffsetFetchRequest
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from millstream.protocol.generated.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from millstream.protocol.generated.sync_group import SyncGroupRequest

AT_ONCE: Final = 1_000
"""Planned in some milliseconds."""
OFFSETS_AT_ONCE: Final = 500
"""Looked at, and deleted, in some milliseconds."""
_REMEMBERED_MAX: Final = 10_000
_MAY_TAKE_LONG: Final = frozenset[type](
    (
        GroupTimer,
        ConsumerGroupHeartbeatRequest,
        ShareGroupHeartbeatRequest,
        StreamsGroupHeartbeatRequest,
        DeleteGroupsRequest,
        OffsetFetchRequest,
        JoinGroupRequest,
        SyncGroupRequest,
        LeaveGroupRequest,
    )
)


def has_many_offsets(offsets: OffsetStore, group_id: str) -> bool:
    return offsets.count_of_group(group_id) > OFFSETS_AT_ONCE


def size_of_topics(names: Iterable[str], topics: TopicsImage) -> int:
    """Names, and the partitions of those that exist."""
    size = 0
    for name in names:
        topic = topics.by_name.get(name)
        size += 1 if topic is None else 1 + len(topic.partitions)
    return size


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
        self, asked: object, groups: Groups, offsets: OffsetStore, topics: TopicsImage
    ) -> bool:
        """Of a group with very many names, partitions or protocols, everything that its members ask for, and its timers; what is done with
        all of very many offsets.
        """
        if type(asked) not in _MAY_TAKE_LONG:
            return False
        named = 0
        match asked:
            case GroupTimer():
                group_id = asked.group_id
            case ConsumerGroupHeartbeatRequest() | ShareGroupHeartbeatRequest():
                group_id = asked.group_id
                named = size_of_topics(asked.subscribed_topic_names or (), topics)
            case StreamsGroupHeartbeatRequest():
                group_id = asked.group_id
                subtopologies = () if asked.topology is None else asked.topology.subtopologies
                named = sum(size_of_topics(sub.source_topics, topics) for sub in subtopologies)
            case DeleteGroupsRequest():
                return any(has_many_offsets(offsets, group_id) for group_id in asked.groups_names)
            case OffsetFetchRequest():
                return any(
                    group.topics is None and has_many_offsets(offsets, group.group_id)
                    for group in asked.groups
                )
            case JoinGroupRequest() | SyncGroupRequest() | LeaveGroupRequest():
                group_id = asked.group_id
            case _:
                return False
        group = groups.find(group_id)
        return named + (0 if group is None else self.size(group, topics)) > AT_ONCE

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
