"""InitializeShareGroupState: the group coordinator begins to keep share state of partitions, or begins again (KIP-932).

Version 0. Between brokers. Each partition has its own error.
"""

from __future__ import annotations

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.share_groups import ShareGroups
from millstream.coordinator.share.context import InitializeState
from millstream.coordinator.share.state import SharePartitionKey
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    versions=range(1),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    lists=(Lists(("topics", "partitions"), ("results", "partitions")),),
)


async def handle(
    request: InitializeShareGroupStateRequest,
    _context: RequestContext,
    *,
    share_groups: ShareGroups,
) -> InitializeShareGroupStateResponse:
    share_groups.check_served()
    response = InitializeShareGroupStateResponse()
    for topic in request.topics if request.group_id else ():
        results = [
            await _initialize(
                SharePartitionKey(request.group_id, topic.topic_id, each.partition),
                each,
                share_groups=share_groups,
            )
            for each in topic.partitions
        ]
        response.results.append(InitializeStateResult(topic.topic_id, results))
    return response


def failed(
    request: InitializeShareGroupStateRequest, _version: int, error: KafkaError
) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(
        results=[
            InitializeStateResult(
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


async def _initialize(
    key: SharePartitionKey,
    asked: PartitionData,
    *,
    share_groups: ShareGroups,
) -> PartitionResult:
    state = InitializeState(key, asked.state_epoch, asked.start_offset)
    try:
        await share_groups.state.ask(key, state, type(None))
    except KafkaError as error:
        return PartitionResult(key.partition, error.code, str(error))
    return PartitionResult(key.partition)
