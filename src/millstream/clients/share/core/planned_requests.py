"""Share requests that are to be sent, and how their answers are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from millstream.clients.cluster.core.leader_changes import LeaderChanges
from millstream.clients.share.core.commit import CommitPart
from millstream.clients.share.core.values import Acknowledgements, TopicIdPartition
from millstream.errors import FencedLeaderEpoch, NotLeaderOrFollower
from millstream.model import Uuid
from millstream.protocol.generated.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from millstream.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse

_NAMES_LEADER: Final = (NotLeaderOrFollower.code, FencedLeaderEpoch.code)
"""Codes that come with the leader there is now (KIP-951)."""

PartitionsById = dict[tuple[Uuid, int], TopicIdPartition]
"""By what answers call them."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedShareFetch:
    node_id: int
    request: ShareFetchRequest
    acknowledgements: dict[TopicIdPartition, Acknowledgements]
    partitions: PartitionsById

    def news(self, response: ShareFetchResponse) -> LeaderChanges:
        named = (
            (partition.topic_partition, answer.current_leader)
            for partition, answer in answers(self.partitions, response.responses)
            if answer.error_code in _NAMES_LEADER
        )
        return LeaderChanges.collect(named, response.node_endpoints)


@dataclass(frozen=True, slots=True, eq=False)
class PlannedAcknowledge:
    node_id: int
    request: ShareAcknowledgeRequest
    part: CommitPart
    partitions: PartitionsById

    def news(self, response: ShareAcknowledgeResponse) -> LeaderChanges:
        named = (
            (partition.topic_partition, answer.current_leader)
            for partition, answer in answers(self.partitions, response.responses)
            if answer.error_code in _NAMES_LEADER
        )
        return LeaderChanges.collect(named, response.node_endpoints)


PlannedShareRequest = PlannedShareFetch | PlannedAcknowledge


class _Answer(Protocol):
    partition_index: int


AnyAnswer = TypeVar("AnyAnswer", bound=_Answer)


class _Topic(Protocol[AnyAnswer]):
    topic_id: Uuid
    partitions: list[AnyAnswer]


def partitions_by_id(partitions: Iterable[TopicIdPartition]) -> PartitionsById:
    return {(each.topic_id, each.partition): each for each in partitions}


def answers(
    asked: PartitionsById, topics: Iterable[_Topic[AnyAnswer]]
) -> Iterator[tuple[TopicIdPartition, AnyAnswer]]:
    """Yields the answers about partitions of the request."""
    for topic in topics:
        for answer in topic.partitions:
            partition = asked.get((topic.topic_id, answer.partition_index))
            if partition is not None:
                yield partition, answer
