"""AlterShareGroupOffsets: where a share group without members goes on, partition by partition (KIP-932).

Version 0. A group that does not exist is made. The share state of each partition begins anew at the given offset: what was delivered
and not finished is forgotten.
"""

from __future__ import annotations

from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.broker.share.share_groups import ShareGroups
from millstream.coordinator.group.share.offsets import AlterOutcome
from millstream.coordinator.share.state import SharePartitionKey
from millstream.errors import InvalidGroupId, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    versions=range(1),
    permissions=(
        Permission(Operation.READ, ResourceType.GROUP),
        Permission(Operation.READ, ResourceType.TOPIC),
    ),
)


async def handle(
    request: AlterShareGroupOffsetsRequest,
    context: RequestContext,
    *,
    share_group_state: ShareGroupPersistence,
    share_groups: ShareGroups,
) -> AlterShareGroupOffsetsResponse:
    share_groups.check_served()
    if not request.group_id:
        raise InvalidGroupId
    outcome = await share_group_state.ask(request.group_id, request, AlterOutcome, context.caller)
    if outcome.to_initialize is not None:
        errors = await share_group_state.initialize(outcome.to_initialize, context.caller)
        _note(outcome.response, request.group_id, errors)
    return outcome.response


def _note(
    response: AlterShareGroupOffsetsResponse,
    group_id: str,
    errors: dict[SharePartitionKey, KafkaError],
) -> None:
    for topic in response.responses:
        for partition in topic.partitions:
            key = SharePartitionKey(group_id, topic.topic_id, partition.partition_index)
            error = errors.get(key)
            if error is not None:
                partition.error_code, partition.error_message = error.code, str(error)
