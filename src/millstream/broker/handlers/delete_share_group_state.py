"""DeleteShareGroupState: the group coordinator needs share state of partitions no more (KIP-932).

Version 0. Between brokers. Each partition has its own error; what is not there is deleted already.
"""

from __future__ import annotations

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.share_groups import ShareGroups
from millstream.coordinator.share.context import DeleteState
from millstream.coordinator.share.state import SharePartitionKey
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.DELETE_SHARE_GROUP_STATE,
    versions=range(1),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    lists=(Lists(("topics", "partitions"), ("results", "partitions")),),
)


async def handle(
    request: DeleteShareGroupStateRequest, _context: RequestContext, *, share_groups: ShareGroups
) -> DeleteShareGroupStateResponse:
    share_groups.check_served()
    response = DeleteShareGroupStateResponse()
    for topic in request.topics if request.group_id else ():
        results = [
            await _delete(
                SharePartitionKey(request.group_id, topic.topic_id, each.partition),
                share_groups=share_groups,
            )
            for each in topic.partitions
        ]
        response.results.append(DeleteStateResult(topic.topic_id, results))
    return response


def failed(
    request: DeleteShareGroupStateRequest, _version: int, error: KafkaError
) -> DeleteShareGroupStateResponse:
    return DeleteShareGroupStateResponse(
        results=[
            DeleteStateResult(
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


async def _delete(key: SharePartitionKey, *, share_groups: ShareGroups) -> PartitionResult:
    try:
        await share_groups.state.ask(key, DeleteState(key), type(None))
    except KafkaError as error:
        return PartitionResult(key.partition, error.code, str(error))
    return PartitionResult(key.partition)
