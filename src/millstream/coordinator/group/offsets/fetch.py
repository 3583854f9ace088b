"""OffsetFetch: what a group has committed. Answered from memory; a partition without a commit answers -1, not an error.

Takes and gives the shape of versions 8 on, one group at a time; the handler fits older versions to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.offsets.store import StoredOffset
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import GroupIdNotFound, UnstableOffsetCommit
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

NO_OFFSET: Final = -1


def fetch_offsets(context: GroupContext, request: OffsetFetchRequest) -> CoordinatorResult:
    """Fetches committed offsets. Every group of the request belongs to this shard."""
    groups = [
        _fetch(context, group, require_stable=request.require_stable) for group in request.groups
    ]
    return context.reply(OffsetFetchResponse(groups=groups))


def _fetch(
    context: GroupContext, request: OffsetFetchRequestGroup, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    """Topics of None asks for all of them.

    `require_stable`: an offset an open transaction may change is an error instead.

    Raises what the whole group is refused with. A group that does not exist has committed nothing.
    """
    response = OffsetFetchResponseGroup(group_id=request.group_id)
    group_id = request.group_id
    try:
        context.groups.get(group_id).check_may_fetch_offsets(
            request.member_id, request.member_epoch
        )
    except GroupIdNotFound:
        asked = request.topics or []
        response.topics = [
            _topic(t.name, t.topic_id, [_nothing(p) for p in t.partition_indexes]) for t in asked
        ]
        return response
    finder = _Finder(context, group_id, require_stable=require_stable)
    if request.topics is None:
        response.topics = [
            _topic(topic, ZERO_UUID, (finder.find(topic, p, ZERO_UUID) for p in sorted(partitions)))
            for topic, partitions in finder.all_topics().items()
        ]
    else:
        response.topics = [
            _topic(
                t.name,
                t.topic_id,
                (finder.find(t.name, p, t.topic_id) for p in t.partition_indexes),
            )
            for t in request.topics
        ]
    return response


class _Finder:
    """Answers for one group."""

    def __init__(self, context: GroupContext, group_id: str, *, require_stable: bool) -> None:
        self._topics = context.image.topics.by_name
        self._offsets = context.offsets
        self._group_id = group_id
        self._require_stable = require_stable

    def all_topics(self) -> dict[str, set[int]]:
        """Returns what has been committed, except for topics that are gone; and, for who has to
        wait for it, what is only staged.
        """
        topics: dict[str, set[int]] = {}
        for topic, partitions in self._offsets.of_group(self._group_id).items():
            topic_id = self._id_of(topic)
            kept = {p for p, stored in partitions.items() if not _is_of_another(stored, topic_id)}
            if kept:
                topics[topic] = kept
        if self._require_stable:
            for topic, partition in self._offsets.staged_in_group(self._group_id):
                topics.setdefault(topic, set()).add(partition)
        return topics

    def find(self, topic: str, partition: int, topic_id: Uuid) -> OffsetFetchResponsePartitions:
        """Who asks by name means the topic that has the name now."""
        if self._require_stable and self._offsets.is_unstable(self._group_id, topic, partition):
            answer = _nothing(partition)
            answer.error_code = UnstableOffsetCommit.code
            return answer
        stored = self._offsets.find(self._group_id, topic, partition)
        asked = self._id_of(topic) if topic_id == ZERO_UUID else topic_id
        if stored is None or _is_of_another(stored, asked):
            return _nothing(partition)
        return OffsetFetchResponsePartitions(
            partition_index=partition,
            committed_offset=stored.value.offset,
            committed_leader_epoch=stored.value.leader_epoch,
            metadata=stored.value.metadata,
        )

    def _id_of(self, topic: str) -> Uuid:
        """Returns the id of the topic of that name, ZERO_UUID where there is none."""
        found = self._topics.get(topic)
        return ZERO_UUID if found is None else found.topic_id


def _is_of_another(stored: StoredOffset, topic_id: Uuid) -> bool:
    """The topic was deleted, and perhaps created again under its name: the offset means nothing there."""
    return stored.value.topic_id not in (ZERO_UUID, topic_id)


def _topic(
    name: str, topic_id: Uuid, partitions: Iterable[OffsetFetchResponsePartitions]
) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=list(partitions))


def _nothing(partition: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=-1,
        metadata="",
    )
