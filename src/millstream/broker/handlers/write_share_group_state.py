"""WriteShareGroupState: the leader of a partition says what a share group has done with it (KIP-932).

Versions 0-1. Between brokers. Each partition has its own error; older leader and state epochs are fenced. Version 1
tells how many records from the start offset on are finished.
"""

from __future__ import annotations

from functools import partial

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.share_groups import ShareGroups
from millstream.broker.storage.disk_pool import DiskPool
from millstream.coordinator.share.context import WriteState
from millstream.coordinator.share.shard import RANGES_AT_ONCE
from millstream.coordinator.share.state import SharePartitionKey, StateChange
from millstream.coordinator.share.state_batch import StateBatch
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.WRITE_SHARE_GROUP_STATE,
    versions=range(2),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    lists=(Lists(("topics", "partitions"), ("results", "partitions")),),
)


async def handle(
    request: WriteShareGroupStateRequest,
    _context: RequestContext,
    *,
    disk_pool: DiskPool,
    share_groups: ShareGroups,
) -> WriteShareGroupStateResponse:
    share_groups.check_served()
    response = WriteShareGroupStateResponse()
    for topic in request.topics if request.group_id else ():
        results = [
            await _write(
                SharePartitionKey(request.group_id, topic.topic_id, each.partition),
                each,
                share_groups=share_groups,
                disk_pool=disk_pool,
            )
            for each in topic.partitions
        ]
        response.results.append(WriteStateResult(topic.topic_id, results))
    return response


def failed(
    request: WriteShareGroupStateRequest, _version: int, error: KafkaError
) -> WriteShareGroupStateResponse:
    return WriteShareGroupStateResponse(
        results=[
            WriteStateResult(
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


async def _write(
    key: SharePartitionKey,
    asked: PartitionData,
    *,
    share_groups: ShareGroups,
    disk_pool: DiskPool,
) -> PartitionResult:
    if len(asked.state_batches) > RANGES_AT_ONCE:
        change = await disk_pool.plan(partial(_change, asked))
    else:
        change = _change(asked)
    request = WriteState(key, asked.state_epoch, change)
    try:
        await share_groups.state.ask(key, request, type(None))
    except KafkaError as error:
        return PartitionResult(key.partition, error.code, str(error))
    return PartitionResult(key.partition)


def _change(asked: PartitionData) -> StateChange:
    return StateChange(
        asked.leader_epoch,
        asked.start_offset,
        asked.delivery_complete_count,
        tuple(
            StateBatch(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count)
            for b in asked.state_batches
        ),
    )
