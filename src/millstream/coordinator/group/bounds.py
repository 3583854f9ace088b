"""Bounds what clients can have one coordinator remember.

Kafka has no such bounds: whoever may join any group may fill its memory.

They are far above what any application needs, and hold for requests alone: what is in the log is loaded, however much
it is. A new group or member is refused as one for which there is no room in its group, which every client takes as
final; a commit as against a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.member import BYTES_OF_A_MEMBER, protocol_bytes
from millstream.coordinator.group.context import TransactionalCommit
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore
from millstream.errors import GroupMaxSizeReached, PolicyViolation
from millstream.protocol.generated.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.offset_commit import OffsetCommitRequest
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from millstream.protocol.generated.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from millstream.protocol.generated.txn_offset_commit import TxnOffsetCommitRequest

_JOINING_EPOCH: Final = 0


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """The bounds of one partition of `__consumer_offsets`, of which a broker coordinates some fifty."""

    groups: int = 20_000
    """Some 20 MB. A cluster has room for a million."""
    members: int = 20_000
    """Of all groups, with those that were told an id to join with. Each has a connection,
    of which a broker takes 10,000."""
    member_bytes: int = 32 * 1024 * 1024
    """The memory that members of classic groups take: 1,000 bytes each and what they say of themselves, which is in no
    log until they are assigned partitions; 500 bytes for each id that was handed out to join with; and the ids of
    groups of all kinds. Of the members of one group no more than `message.max.bytes` can be stored."""
    offsets: int = 1_000_000
    """Some 300 MB."""

    def check(self, groups: Groups, offsets: OffsetStore, request: object) -> None:
        """Raises GroupMaxSizeReached, PolicyViolation."""
        adds = _ADDS.get(type(request))
        if adds is not None:
            group_id, members, more_bytes = adds(groups, request)
            is_new = groups.find(group_id) is None
            if is_new and len(groups) >= self.groups:
                raise GroupMaxSizeReached(
                    f"this coordinator has {self.groups} groups already; delete some that nobody uses",
                    bound="groups",
                )
            if members and groups.member_count + members > self.members:
                raise GroupMaxSizeReached(
                    f"the groups of this coordinator have {self.members} members already; let applications use fewer, or end their members in order",
                    bound="members of groups",
                )
            more_bytes += len(group_id) * is_new
            if more_bytes > 0 and groups.member_bytes + more_bytes > self.member_bytes:
                raise GroupMaxSizeReached(
                    f"the groups of this coordinator and their members take {self.member_bytes} bytes already; give groups shorter names and fewer members, or members shorter metadata",
                    bound="memory of groups",
                )
        commits = _COMMITS.get(type(request))
        if commits is not None:
            self._check_offsets(offsets, commits(request))

    def _check_offsets(self, offsets: OffsetStore, commit: _Commit) -> None:
        """Those that are there already may be committed again."""
        room = self.offsets - offsets.held_count
        if sum(len(topic.partitions) for topic in commit.topics) <= room:
            return
        new = sum(
            offsets.find(commit.group_id, topic.name, partition.partition_index) is None
            for topic in commit.topics
            for partition in topic.partitions
        )
        if new > max(0, room):
            raise PolicyViolation(
                f"this coordinator keeps {self.offsets} offsets already; delete groups that nobody uses, or let offsets expire sooner (offsets.retention.minutes)",
                bound="offsets",
            )


_Commit = OffsetCommitRequest | TxnOffsetCommitRequest
_Asked = Any  # Any: a request of the type that it stands under in a table
_Adds = Callable[[Groups, _Asked], tuple[str, int, int]]
"""Returns the group of a request, how many members it adds, and how many bytes more they take."""


def _joins(groups: Groups, request: JoinGroupRequest) -> tuple[str, int, int]:
    group = groups.find(request.group_id)
    said = protocol_bytes((each.name, each.metadata) for each in request.protocols)
    taken = BYTES_OF_A_MEMBER + said
    if isinstance(group, ClassicGroup):
        if request.member_id in group.pending_members:
            return request.group_id, 0, taken
        known = group.members.get(request.member_id)
        if known is not None:
            return request.group_id, 0, said - protocol_bytes(known.settings.protocols)
    return request.group_id, not request.member_id, taken


def _beats(
    groups: Groups,
    request: ConsumerGroupHeartbeatRequest
    | ShareGroupHeartbeatRequest
    | StreamsGroupHeartbeatRequest,
) -> tuple[str, int, int]:
    group = groups.find(request.group_id)
    is_known = group is not None and request.member_id in group.members
    return request.group_id, request.member_epoch == _JOINING_EPOCH and not is_known, 0


def _names_group(
    groups: Groups, request: OffsetCommitRequest | AlterShareGroupOffsetsRequest
) -> tuple[str, int, int]:
    del groups
    return request.group_id, 0, 0


_ADDS: Final[Mapping[type, _Adds]] = MappingProxyType(
    {
        AlterShareGroupOffsetsRequest: _names_group,
        ConsumerGroupHeartbeatRequest: _beats,
        JoinGroupRequest: _joins,
        OffsetCommitRequest: _names_group,
        ShareGroupHeartbeatRequest: _beats,
        StreamsGroupHeartbeatRequest: _beats,
        TransactionalCommit: lambda groups, asked: _names_group(groups, asked.commit),
    }
)
_COMMITS: Final[Mapping[type, Callable[[_Asked], _Commit]]] = MappingProxyType(
    {
        OffsetCommitRequest: lambda request: request,
        TransactionalCommit: lambda request: request.commit,
    }
)
