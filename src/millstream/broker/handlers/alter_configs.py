"""AlterConfigs: replaces all configurations of a resource at once.

Clients since 2.3 use IncrementalAlterConfigs instead.

Versions 0-2. What a request does not name goes back to its default, so that two administrators can undo each other's
changes: KIP-339 came because of that. Topics, brokers (the empty name stands for all of them), groups and client
metrics; a resource or a key given twice and a null value are INVALID_REQUEST. With `validate_only` nothing changes. Not
supported: policies; broker loggers are INVALID_REQUEST as in Kafka.
"""

from __future__ import annotations

from typing import cast

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.config.own_changes import refusals
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.config_permissions import (
    config_refusal,
    config_refusals,
    is_asked_as_broker,
)
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient, Metadata
from millstream.broker.tls.store_checks import StoreChecks, concern_stores
from millstream.controller.configs.alter_configs import ALTER_CONFIGS
from millstream.controller.configs.config_changes import replaced
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.ALTER_CONFIGS,
    versions=range(3),
    permissions=(
        Permission(Operation.ALTER_CONFIGS, ResourceType.CLUSTER),
        Permission(Operation.ALTER_CONFIGS, ResourceType.TOPIC),
        Permission(Operation.ALTER_CONFIGS, ResourceType.GROUP),
    ),
    lists=(Lists(("resources",), ("responses",), 20, lambda each: len(each.configs)),),
)


async def handle(
    request: AlterConfigsRequest,
    context: RequestContext,
    *,
    access: Access,
    config: DynamicConfig,
    controller: ControllerClient,
    metadata: Metadata,
    store_checks: StoreChecks,
) -> AlterConfigsResponse:
    """Changes of this broker, or of all brokers, are looked at here, too, before the controller stores them."""
    resources, refused = request.resources, {}
    if is_asked_as_broker(context, config.current):
        refused = refusals(
            resources,
            lambda resource, _: replaced(resource.configs),
            config.current,
            metadata.image,
        )
        for place, each in enumerate(resources):
            changes = {changed.name: changed.value for changed in each.configs}
            if place not in refused and concern_stores(changes):
                key = (each.resource_type, each.resource_name)
                # Asked first: who may not set stores learns nothing of files by what is wrong with them.
                error = config_refusal(access, context, Operation.ALTER_CONFIGS, *key)
                if error is None:
                    error = await store_checks.refusal(*key, changes, keeps_others=False)
                if error is not None:
                    refused[place] = error
    is_elsewhere = controller.is_elsewhere()
    if not is_elsewhere:
        refused |= config_refusals(access, context, resources)
    asked = [each for place, each in enumerate(resources) if place not in refused]
    passed_on = request.replaced(resources=asked)
    if is_elsewhere:
        answer = await controller.forward(ApiKey.ALTER_CONFIGS, passed_on, context)
        there = cast("AlterConfigsResponse", answer)
    else:
        there = await controller.ask(ALTER_CONFIGS, passed_on, context)
    answers = iter(there.responses)
    there.responses = [
        _answer(each, refused[place]) if place in refused else next(answers)
        for place, each in enumerate(resources)
    ]
    return there


def failed(request: AlterConfigsRequest, _version: int, error: KafkaError) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[_answer(resource, error) for resource in request.resources]
    )


def _answer(resource: AlterConfigsResource, error: KafkaError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=str(error),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
