"""Asks another broker as a follower of its partitions: Fetch in a session, ListOffsets where a fetch was out of range.

Values in and out; what is asked and what follows from answers is decided by
`replication.fetch_plan` and `replication.follower`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.errors import UnknownServerError
from millstream.log.leader_epochs import EpochEnd
from millstream.model import BrokerId, TopicPartition, Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from millstream.replication.fetch_plan import FollowedKey, SessionFetch

LATEST: Final = -1
EARLIEST: Final = -2
"""Times that ListOffsets takes for the end and the start of a log."""
_BRIEF_WAIT_MS: Final = 5
"""Ours: a sync takes about as long. Partitions that come back from one are not kept longer, and an idle
leader is asked no more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaFetchSettings:
    replica_fetch_max_bytes: int = 1_048_576
    replica_fetch_response_max_bytes: int = 10_485_760
    replica_fetch_min_bytes: int = 1
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_backoff_ms: int = 1_000


class FetchAnswer(NamedTuple):
    """The answer to a fetch."""

    error_code: int
    session_id: int
    partitions: dict[FollowedKey, PartitionData]


class LeaderOffset(NamedTuple):
    error_code: int
    offset: int


@final
class RemoteLeader:
    """The way to one leader."""

    def __init__(
        self,
        leader: BrokerId,
        channel: BrokerChannel,
        settings: ReplicaFetchSettings,
        broker_epoch: Callable[[], int],
    ) -> None:
        self.leader = leader
        self._channel = channel
        self._settings = settings
        self._broker_epoch = broker_epoch

    async def fetch(self, planned: SessionFetch, *, is_brief: bool = False) -> FetchAnswer:
        """Returns the answer, or waits for it while the leader has nothing to tell; `is_brief`: hardly.

        Raises what `BrokerChannel.ask` raises.
        """
        request = fetch_request(
            planned, self._settings, ReplicaState(self._channel.broker_id, self._broker_epoch())
        )
        if is_brief:
            request.max_wait_ms = min(request.max_wait_ms, _BRIEF_WAIT_MS)
        response = await self._channel.ask(self.leader, ApiKey.FETCH, request, FetchResponse)
        partitions = {
            FollowedKey(topic.topic_id, data.partition_index): data
            for topic in response.responses
            for data in topic.partitions
        }
        return FetchAnswer(response.error_code, response.session_id, partitions)

    async def offsets(
        self, leader_epochs: Mapping[TopicPartition, int], timestamp: int
    ) -> dict[TopicPartition, LeaderOffset]:
        """Returns where logs end (LATEST) or begin (EARLIEST), of every partition asked for.

        Raises what `BrokerChannel.ask` raises.
        """
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for name, epoch in leader_epochs.items():
            asked = ListOffsetsPartition(name.partition, epoch, timestamp)
            topics.setdefault(name.topic, []).append(asked)
        request = ListOffsetsRequest(
            replica_id=self._channel.broker_id,
            topics=[ListOffsetsTopic(topic, partitions) for topic, partitions in topics.items()],
        )
        response = await self._channel.ask(
            self.leader, ApiKey.LIST_OFFSETS, request, ListOffsetsResponse
        )
        told = {
            TopicPartition(topic.name, found.partition_index): LeaderOffset(
                found.error_code, found.offset
            )
            for topic in response.topics
            for found in topic.partitions
        }
        missing = LeaderOffset(UnknownServerError.code, -1)
        return {name: told.get(name, missing) for name in leader_epochs}


def fetch_request(
    planned: SessionFetch, settings: ReplicaFetchSettings, replica: ReplicaState
) -> FetchRequest:
    """Returns the message for a planned fetch, topics by id (version 13 on)."""
    topics: dict[Uuid, list[FetchPartition]] = {}
    for key, asked in planned.asked.items():
        partition = FetchPartition(
            key.partition,
            asked.leader_epoch,
            asked.fetch_offset,
            asked.last_fetched_epoch,
            asked.log_start_offset,
            settings.replica_fetch_max_bytes,
        )
        topics.setdefault(key.topic_id, []).append(partition)
    forgotten: dict[Uuid, list[int]] = {}
    for key in planned.forgotten:
        forgotten.setdefault(key.topic_id, []).append(key.partition)
    return FetchRequest(
        replica_state=replica,
        max_wait_ms=settings.replica_fetch_wait_max_ms,
        min_bytes=settings.replica_fetch_min_bytes,
        max_bytes=settings.replica_fetch_response_max_bytes,
        session_id=planned.session_id,
        session_epoch=planned.session_epoch,
        topics=[FetchTopic(topic_id=each, partitions=asked) for each, asked in topics.items()],
        forgotten_topics_data=[
            ForgottenTopic(topic_id=each, partitions=numbers) for each, numbers in forgotten.items()
        ],
    )


def divergence_in(data: PartitionData) -> EpochEnd | None:
    """Returns what an answer says of the end of an epoch, if it says that the logs diverge."""
    told = data.diverging_epoch
    return EpochEnd(told.epoch, told.end_offset) if told.epoch >= 0 else None
