"""Asks the share coordinator of a share partition, on this node or another one.

Translates its requests into Kafka's messages and back.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from millstream.broker.coordination.coordinator_topic import coordinator_of
from millstream.broker.coordination.internal_topics import SHARE_GROUP_STATE
from millstream.broker.coordination.share_state_coordination import ShareStateCoordination
from millstream.broker.forwarding.broker_channel import BrokerChannel
from millstream.broker.services import Metadata
from millstream.coordinator.share.context import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    WriteState,
)
from millstream.coordinator.share.state import SharePartitionKey, ShareState
from millstream.coordinator.share.state_batch import StateBatch
from millstream.errors import CoordinatorNotAvailable, MillstreamError, error_for
from millstream.metadata.image import NO_LEADER
from millstream.model import BrokerId
from millstream.net.client.connections import Lane
from millstream.protocol.api import ApiKey, Message, response_class
from millstream.protocol.generated import delete_share_group_state as delete
from millstream.protocol.generated import initialize_share_group_state as initialize
from millstream.protocol.generated import read_share_group_state as read
from millstream.protocol.generated import read_share_group_state_summary as summary
from millstream.protocol.generated import write_share_group_state as write

ResponseT = TypeVar("ResponseT")
StateRequest = InitializeState | ReadState | ReadStateSummary | WriteState | DeleteState

_NOT_TOLD_MS = 0
"""Times and the number of the snapshot stay with the coordinator."""


class ShareStateChannel:
    def __init__(
        self, coordination: ShareStateCoordination, metadata: Metadata, brokers: BrokerChannel
    ) -> None:
        self._coordination = coordination
        self._metadata = metadata
        self._brokers = brokers

    async def ask(
        self, key: SharePartitionKey, request: StateRequest, expected: type[ResponseT]
    ) -> ResponseT:
        """Returns what the coordinator of `key` answers. Raises the KafkaError with which it refuses.

        Raises CoordinatorNotAvailable for another broker that cannot be asked.
        """
        leader = self._leader(key)
        if leader in {NO_LEADER, self._brokers.broker_id}:
            return await self._coordination.ask(key, request, expected)
        api, message = _message(key, request)
        answer: Any  # Any: one of five responses of one shape
        try:
            answer = await self._brokers.ask(
                leader, api, message, response_class(api), Lane.SHARE_STATE
            )
        except MillstreamError as error:
            raise CoordinatorNotAvailable(
                f"broker {leader}, which keeps the state of {key.text}, cannot be asked: {error}"
            ) from error
        ((found,),) = [topic.partitions for topic in answer.results]
        if found.error_code:
            raise error_for(found.error_code, found.error_message)
        return cast("ResponseT", _state(found) if expected is ShareState else None)

    def _leader(self, key: SharePartitionKey) -> BrokerId:
        topic = self._metadata.image.topic(SHARE_GROUP_STATE)
        return NO_LEADER if topic is None else coordinator_of(topic, key.text)


def _message(key: SharePartitionKey, request: StateRequest) -> tuple[ApiKey, Message]:
    group_id, topic_id, number = key
    match request:
        case InitializeState():
            created = initialize.PartitionData(number, request.state_epoch, request.start_offset)
            of_created = [initialize.InitializeStateData(topic_id, [created])]
            return (
                ApiKey.INITIALIZE_SHARE_GROUP_STATE,
                initialize.InitializeShareGroupStateRequest(group_id, of_created),
            )
        case ReadState():
            taken = read.PartitionData(number, request.leader_epoch)
            of_taken = [read.ReadStateData(topic_id, [taken])]
            return (
                ApiKey.READ_SHARE_GROUP_STATE,
                read.ReadShareGroupStateRequest(group_id, of_taken),
            )
        case ReadStateSummary():
            asked = summary.PartitionData(number, request.leader_epoch)
            of_asked = [summary.ReadStateSummaryData(topic_id, [asked])]
            return (
                ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
                summary.ReadShareGroupStateSummaryRequest(group_id, of_asked),
            )
        case WriteState(_, state_epoch, change):
            written = write.PartitionData(
                partition=number,
                state_epoch=state_epoch,
                leader_epoch=change.leader_epoch,
                start_offset=change.start_offset,
                delivery_complete_count=change.delivery_complete_count,
                state_batches=[write.StateBatch(*batch) for batch in change.batches],
            )
            of_written = [write.WriteStateData(topic_id, [written])]
            return (
                ApiKey.WRITE_SHARE_GROUP_STATE,
                write.WriteShareGroupStateRequest(group_id, of_written),
            )
        case DeleteState():
            of_deleted = [delete.DeleteStateData(topic_id, [delete.PartitionData(number)])]
            return (
                ApiKey.DELETE_SHARE_GROUP_STATE,
                delete.DeleteShareGroupStateRequest(group_id, of_deleted),
            )


def _state(found: read.PartitionResult | summary.PartitionResult) -> ShareState:
    leader_epoch, finished, batches = -1, -1, tuple[StateBatch, ...]()
    if isinstance(found, summary.PartitionResult):
        leader_epoch, finished = found.leader_epoch, found.delivery_complete_count
    else:
        batches = tuple(
            StateBatch(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count)
            for b in found.state_batches
        )
    return ShareState(
        snapshot_epoch=0,
        state_epoch=found.state_epoch,
        leader_epoch=leader_epoch,
        start_offset=found.start_offset,
        delivery_complete_count=finished,
        created_ms=_NOT_TOLD_MS,
        written_ms=_NOT_TOLD_MS,
        batches=batches,
    )
