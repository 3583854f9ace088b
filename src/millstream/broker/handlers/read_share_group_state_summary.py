"""ReadShareGroupStateSummary: where a share group stands in a partition, without the ranges behind it (KIP-932).

Versions 0-1. Between brokers. Each partition has its own error; start offset -1 where nothing is known. Version 1 tells
how many records from the start offset on are finished.
"""

from __future__ import annotations

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.share_groups import ShareGroups
from millstream.coordinator.share.context import ReadStateSummary
from millstream.coordinator.share.state import SharePartitionKey, ShareState
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    versions=range(2),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    lists=(Lists(("topics", "partitions"), ("results", "partitions")),),
)


async def handle(
    request: ReadShareGroupStateSummaryRequest,
    _context: RequestContext,
    *,
    share_groups: ShareGroups,
) -> ReadShareGroupStateSummaryResponse:
    share_groups.check_served()
    response = ReadShareGroupStateSummaryResponse()
    for topic in request.topics if request.group_id else ():
        results = [
            await _read(
                SharePartitionKey(request.group_id, topic.topic_id, each.partition),
                each,
                share_groups=share_groups,
            )
            for each in topic.partitions
        ]
        response.results.append(ReadStateSummaryResult(topic.topic_id, results))
    return response


def failed(
    request: ReadShareGroupStateSummaryRequest, _version: int, error: KafkaError
) -> ReadShareGroupStateSummaryResponse:
    return ReadShareGroupStateSummaryResponse(
        results=[
            ReadStateSummaryResult(
                topic_id=topic.topic_id,
                partitions=[
                    PartitionResult(
                        partition=asked.partition, error_code=error.code, error_message=str(error)
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def _read(
    key: SharePartitionKey,
    asked: PartitionData,
    *,
    share_groups: ShareGroups,
) -> PartitionResult:
    request = ReadStateSummary(key, asked.leader_epoch)
    try:
        state = await share_groups.state.ask(key, request, ShareState)
    except KafkaError as error:
        return PartitionResult(key.partition, error.code, str(error))
    return PartitionResult(
        key.partition,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )
