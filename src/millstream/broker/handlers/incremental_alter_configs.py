"""IncrementalAlterConfigs: set, delete, append to and subtract from the configurations of resources (KIP-339).

Versions 0-1. Topics, brokers, groups, client metrics and broker loggers. Each resource is changed as a whole
or not at all; a resource or a key given twice is INVALID_REQUEST. Brokers: the empty name stands for all of
them; keys that are fixed at the start are refused, unknown keys are stored; another broker than the one asked
is INVALID_REQUEST. Loggers: levels of this process change at once and are not stored. With `validate_only`
nothing changes. TLS stores of a listener of this broker are read and checked before the controller is asked.
Not supported: policies; listeners cannot be changed while a broker runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.config.log_levels import check_log_level, set_log_level
from millstream.broker.config.own_changes import refusals
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.config_permissions import (
    config_refusal,
    config_refusals,
    is_asked_as_broker,
    is_of_controller,
)
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient, Metadata
from millstream.broker.tls.store_checks import StoreChecks, concern_stores
from millstream.controller.configs.alter_configs import INCREMENTAL_ALTER_CONFIGS
from millstream.controller.configs.config_changes import after_changes, check_names_and_values
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
    lists=(Lists(("resources",), ("responses",), 20, lambda each: len(each.configs)),),
)


@dataclass(frozen=True, slots=True)
class Services:
    access: Access
    config: DynamicConfig
    controller: ControllerClient
    identity: NodeIdentity
    metadata: Metadata
    store_checks: StoreChecks


async def handle(
    request: IncrementalAlterConfigsRequest, context: RequestContext, services: Services
) -> IncrementalAlterConfigsResponse:
    """Loggers are changed here; what is for this broker or all brokers is looked at here, too,
    before the controller stores it.
    """
    resources, controller = request.resources, services.controller
    here = _alter_loggers(request, context, services)
    refused: dict[int, KafkaError] = {}
    if is_asked_as_broker(context, services.config.current):
        refused = await _own_refusals(resources, context, services)
    is_elsewhere = controller.is_elsewhere()
    if not is_elsewhere:
        refused |= config_refusals(services.access, context, resources)
    here = {place: _refused(resources[place], error) for place, error in refused.items()} | here
    stored = [each for place, each in enumerate(resources) if place not in here]
    passed_on = request.replaced(resources=stored)
    if is_elsewhere:
        answer = await controller.forward(ApiKey.INCREMENTAL_ALTER_CONFIGS, passed_on, context)
        there = cast("IncrementalAlterConfigsResponse", answer)
    else:
        there = await controller.ask(INCREMENTAL_ALTER_CONFIGS, passed_on, context)
    answers = iter(there.responses)
    there.responses = [
        here[place] if place in here else next(answers) for place in range(len(resources))
    ]
    return there


async def _own_refusals(
    resources: Sequence[AlterConfigsResource], context: RequestContext, services: Services
) -> dict[int, KafkaError]:
    """Returns what this broker has against changes of itself and of all brokers, by their place in the request."""
    config = services.config.current
    refused = refusals(resources, partial(_after, config), config, services.metadata.image)
    for place, each in enumerate(resources):
        if place not in refused:
            error = await _store_refusal(each, context, services)
            if error is not None:
                refused[place] = error
    return refused


def _alter_loggers(
    request: IncrementalAlterConfigsRequest, context: RequestContext, services: Services
) -> dict[int, AlterConfigsResourceResponse]:
    """Changes the levels of loggers of this process. Returns the answers by place in the request."""
    loggers = {place: each for place, each in enumerate(request.resources) if _is_logger(each)}
    of_controller = is_of_controller(context, services.config.current)
    # On a controller a client has to act for the cluster, as in Kafka.
    operation = Operation.CLUSTER_ACTION if of_controller else Operation.ALTER_CONFIGS
    return {
        place: _alter_logger(
            each,
            twice=_count(loggers.values(), each) > 1,
            dry=request.validate_only,
            identity=services.identity,
            refusal=config_refusal(services.access, context, operation, each.resource_type, ""),
        )
        for place, each in loggers.items()
    }


def _after(
    config: BrokerConfig, resource: AlterConfigsResource, present: Mapping[str, str]
) -> dict[str, str]:
    return after_changes(resource.configs, present, BROKER_CONFIGS, config.settings)


def failed(
    request: IncrementalAlterConfigsRequest, _version: int, error: KafkaError
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[_refused(resource, error) for resource in request.resources]
    )


def _refused(resource: AlterConfigsResource, error: KafkaError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=str(error),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


async def _store_refusal(
    resource: AlterConfigsResource, context: RequestContext, services: Services
) -> KafkaError | None:
    """Returns the error of a resource whose TLS stores cannot be used; None for every other one."""
    changes = {
        each.name: each.value if each.config_operation == AlterOperation.SET else None
        for each in resource.configs
    }
    if not concern_stores(changes):
        return None
    key = (resource.resource_type, resource.resource_name)
    # Asked first: who may not set stores learns nothing of files by what is wrong with them.
    refused = config_refusal(services.access, context, Operation.ALTER_CONFIGS, *key)
    return refused or await services.store_checks.refusal(*key, changes, keeps_others=True)


def _is_logger(resource: AlterConfigsResource) -> bool:
    return resource.resource_type == ConfigResourceType.BROKER_LOGGER


def _count(resources: Iterable[AlterConfigsResource], wanted: AlterConfigsResource) -> int:
    return sum(each.resource_name == wanted.resource_name for each in resources)


def _alter_logger(
    resource: AlterConfigsResource,
    *,
    twice: bool,
    dry: bool,
    identity: NodeIdentity,
    refusal: KafkaError | None,
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    try:
        if twice:
            raise InvalidRequest("Each resource must appear at most once.")
        if refusal is not None:
            raise refusal
        _check_node(resource.resource_name, identity.node_id)
        check_names_and_values(resource.configs)
        levels = {config.name: _level(config) for config in resource.configs}
        for logger, level in levels.items():
            check_log_level(logger, level)
        if not dry:
            for logger, level in levels.items():
                set_log_level(logger, level)
    except KafkaError as error:
        answer.error_code = error.code
        answer.error_message = None if error is refusal else str(error)
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
