"""ConsumerGroupHeartbeat: join a consumer group, stay in it, be told what to own, leave it (KIP-848).

Versions 0-1. From version 1 on members choose their ids themselves and may subscribe by a regular expression (RE2
syntax), which is matched here. Epoch 0 joins, -1 leaves, -2 is a static member that will be back. A group of the
classic consumer protocol is taken over while its members stay, as far as `group.consumer.migration.policy` allows.
Served while `group.version` is finalized at 1 and `group.coordinator.rebalance.protocols` lists `consumer`.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.group_coordination import (
    GroupCoordination,
    check_consumer_protocol,
)
from millstream.broker.long_work import LongWork
from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.coordinator.group.consumer.regex import regex_refusal
from millstream.coordinator.group.consumer.request_check import check_heartbeat
from millstream.errors import InvalidRegularExpression, TopicAuthorizationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    versions=range(2),
    permissions=(
        Permission(Operation.READ, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
    kept_whole="one member says all that it wants, to its shard in a thread",
)


@dataclass(frozen=True, slots=True)
class Services:
    access: Access
    config: DynamicConfig
    group_coordinator: GroupCoordination
    long_work: LongWork
    metadata: Metadata
    patterns: PatternMatcher


async def handle(
    request: ConsumerGroupHeartbeatRequest, context: RequestContext, services: Services
) -> ConsumerGroupHeartbeatResponse:
    """Takes a heartbeat.

    Raises GroupAuthorizationFailed, and TopicAuthorizationFailed for all of it where one topic may not be described.
    """
    access, config = services.access, services.config
    check_consumer_protocol(config, services.metadata)
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    if await access.denied_of_many(
        context,
        Operation.DESCRIBE,
        ResourceType.TOPIC,
        dict.fromkeys(request.subscribed_topic_names or ()),
        long_work=services.long_work,
    ):
        raise TopicAuthorizationFailed
    check_heartbeat(request, context.version, config.current.group_consumer_assignors)
    regex = request.subscribed_topic_regex
    if regex:
        try:
            await services.patterns.check_fits(regex, context.client_host)
        except InvalidRegularExpression as error:
            raise regex_refusal(regex, error) from None
    return await services.group_coordinator.shards.ask(
        request.group_id,
        request,
        ConsumerGroupHeartbeatResponse,
        context.caller,
    )
