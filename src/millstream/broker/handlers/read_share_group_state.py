"""ReadShareGroupState: the leader of a partition takes over what a share group has done with it (KIP-932).

Version 0. Between brokers. Each partition has its own error. A leader epoch fences leaders of
earlier ones from then on.
"""

from __future__ import annotations

from functools import partial

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.share_groups import ShareGroups
from millstream.broker.storage.disk_pool import DiskPool
from millstream.coordinator.share.context import ReadState
from millstream.coordinator.share.shard import RANGES_AT_ONCE
from millstream.coordinator.share.state import SharePartitionKey, ShareState
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.READ_SHARE_GROUP_STATE,
    versions=range(1),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    lists=(Lists(("topics", "partitions"), ("results", "partitions")),),
    tells_all=True,
    answer_lists=("results", "partitions", "state_batches"),
)


async def handle(
    request: ReadShareGroupStateRequest,
    _context: RequestContext,
    *,
    disk_pool: DiskPool,
    share_groups: ShareGroups,
) -> ReadShareGroupStateResponse:
    share_groups.check_served()
    response = ReadShareGroupStateResponse()
    for topic in request.topics if request.group_id else ():
        results = [
            await _read(
                SharePartitionKey(request.group_id, topic.topic_id, each.partition),
                each,
                disk_pool=disk_pool,
                share_groups=share_groups,
            )
            for each in topic.partitions
        ]
        response.results.append(ReadStateResult(topic.topic_id, results))
    return response


def failed(
    request: ReadShareGroupStateRequest, _version: int, error: KafkaError
) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(
        results=[
            ReadStateResult(
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
    disk_pool: DiskPool,
    share_groups: ShareGroups,
) -> PartitionResult:
    request = ReadState(key, asked.leader_epoch)
    try:
        state = await share_groups.state.ask(key, request, ShareState)
    except KafkaError as error:
        return PartitionResult(key.partition, error.code, str(error))
    if len(state.batches) > RANGES_AT_ONCE:
        return await disk_pool.plan(partial(_told, key, state))
    return _told(key, state)


def _told(key: SharePartitionKey, state: ShareState) -> PartitionResult:
    return PartitionResult(
        key.partition,
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=[StateBatch(*batch) for batch in state.batches],
    )
