"""IncrementalAlterConfigs: set, delete, append to and subtract from the configurations of resources (KIP-339).

Versions 0-1. Topics, brokers, groups, client metrics and broker loggers. Each resource is changed as a whole or not at all; a
resource or a key given twice is INVALID_REQUEST. Brokers: the empty name stands for all of them; keys that are fixed at the start
are refused, unknown keys are stored. Loggers: levels of this process change at once and are not stored. With
`validate_only` nothing changes.
Not supported: policies; listeners cannot be changed while a broker runs.
"""

from __future__ import annotations

from millstream.broker.config.log_levels import check_log_level, set_log_level
from millstream.broker.node.identity import NodeIdentity
from millstream.broker.node.services import ControllerClient
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.controller.apis import INCREMENTAL_ALTER_CONFIGS
from millstream.controller.configs.config_changes import check_names_and_values
from millstream.errors import InvalidRequest, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import AlterOperation, ConfigResourceType
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    versions=range(2),
    permissions=(
        Permission(Operation.ALTER_CONFIGS, ResourceType.CLUSTER),
        Permission(Operation.ALTER_CONFIGS, ResourceType.TOPIC),
        Permission(Operation.ALTER_CONFIGS, ResourceType.GROUP),
    ),
)


async def handle(
    request: IncrementalAlterConfigsRequest,
    context: RequestContext,
    *,
    controller: ControllerClient,
    identity: NodeIdentity,
) -> IncrementalAlterConfigsResponse:
    loggers = [each for each in request.resources if _is_logger(each)]
    stored = [each for each in request.resources if not _is_logger(each)]
    here = [
        _alter_logger(
            each,
            twice=_count(loggers, each) > 1,
            dry=request.validate_only,
            identity=identity,
        )
        for each in loggers
    ]
    there = await controller.ask(
        INCREMENTAL_ALTER_CONFIGS, request.replaced(resources=stored), context
    )
    answers = {True: iter(here), False: iter(there.responses)}
    there.responses = [next(answers[_is_logger(each)]) for each in request.resources]
    return there


def failed(
    request: IncrementalAlterConfigsRequest, _version: int, error: KafkaError
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=str(error),
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _is_logger(resource: AlterConfigsResource) -> bool:
    return resource.resource_type == ConfigResourceType.BROKER_LOGGER


def _count(resources: list[AlterConfigsResource], wanted: AlterConfigsResource) -> int:
    return sum(each.resource_name == wanted.resource_name for each in resources)


def _alter_logger(
    resource: AlterConfigsResource,
    *,
    twice: bool,
    dry: bool,
    identity: NodeIdentity,
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    try:
        if twice:
            raise InvalidRequest("Each resource must appear at most once.")
        _check_node(resource.resource_name, identity.node_id)
        check_names_and_values(resource.configs)
        levels = {config.name: _level(config) for config in resource.configs}
        for logger, level in levels.items():
            check_log_level(logger, level)
        if not dry:
            for logger, level in levels.items():
                set_log_level(logger, level)
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, str(error)
    return answer


def _check_node(name: str, own_id: int) -> None:
    if not name.removeprefix("-").isdecimal():
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}")
    if int(name) != own_id:
        raise InvalidRequest(f"Unexpected node id. Expected {own_id}, but received {name}")


def _level(config: AlterableConfig) -> str | None:
    match config.config_operation:
        case AlterOperation.SET:
            return config.value
        case AlterOperation.DELETE:
            return None
        case AlterOperation.APPEND | AlterOperation.SUBTRACT as operation:
            name = AlterOperation(operation).name
            raise InvalidRequest(f"{name} operation is not allowed for the BROKER_LOGGER resource")
        case unknown:
            raise InvalidRequest(f"Unknown operation {unknown} on {config.name}")
