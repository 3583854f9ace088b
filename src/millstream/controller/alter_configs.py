"""IncrementalAlterConfigs (KIP-339): set, delete, append to and subtract from dynamic configurations.

Each resource is changed as a whole or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final

from millstream.controller.result import ControllerResult
from millstream.controller.settings import ELIGIBLE_LEADER_REPLICAS, ControllerSettings
from millstream.controller.topic_overrides import check_topic_overrides
from millstream.errors import (
    ConfigError,
    InvalidConfig,
    InvalidRequest,
    KafkaError,
    UnknownTopicOrPartition,
)
from millstream.metadata.config_key import ConfigKey, ConfigType, UpdateMode
from millstream.metadata.config_resource import ConfigResource, ConfigResourceType
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.effective_config import BrokerSettings
from millstream.metadata.image import MetadataImage
from millstream.metadata.topic_config import TOPIC_CONFIGS
from millstream.metadata.topic_names import check_topic_name
from millstream.model import BrokerId
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from millstream.protocol.generated.metadata_records import ConfigRecord

_MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"


class AlterOperation(IntEnum):
    """What to do with a key: the numbers of the protocol."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def plan_alter_configs(
    request: IncrementalAlterConfigsRequest, image: MetadataImage, settings: ControllerSettings
) -> ControllerResult[IncrementalAlterConfigsResponse]:
    """Records of all resources whose changes are fine; none with `validate_only`."""
    counts = Counter(
        (resource.resource_type, resource.resource_name) for resource in request.resources
    )
    records: list[MetadataRecord] = []
    responses: list[AlterConfigsResourceResponse] = []
    for resource in request.resources:
        response = AlterConfigsResourceResponse(
            error_message=None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        responses.append(response)
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise InvalidRequest("Each resource must appear at most once.")
            records += _changes(resource, image, settings)
        except KafkaError as error:
            response.error_code, response.error_message = error.code, str(error)
    answer = IncrementalAlterConfigsResponse(responses=responses)
    return ControllerResult(() if request.validate_only else tuple(records), answer)


def _changes(
    request: AlterConfigsResource, image: MetadataImage, settings: ControllerSettings
) -> list[ConfigRecord]:
    if len({config.name for config in request.configs}) != len(request.configs):
        raise InvalidRequest("Error due to duplicate config keys")
    match request.resource_type:
        case ConfigResourceType.TOPIC:
            return _topic_changes(request, image, settings)
        case ConfigResourceType.BROKER:
            return _broker_changes(request, image, settings)
        case unknown:
            raise InvalidRequest(
                f"Configurations of resource type {unknown} cannot be altered here"
            )


def _topic_changes(
    request: AlterConfigsResource, image: MetadataImage, settings: ControllerSettings
) -> list[ConfigRecord]:
    check_topic_name(request.resource_name)
    if request.resource_name not in image.topics:
        raise UnknownTopicOrPartition(f"The topic '{request.resource_name}' does not exist.")
    resource = ConfigResource(ConfigResourceType.TOPIC, request.resource_name)
    defaults = BrokerSettings.of(image, settings.node_id, settings.static).topic_defaults()
    before = image.config(resource)
    changes = _changed_values(request.configs, before, TOPIC_CONFIGS, defaults)
    check_topic_overrides(_applied(before, changes), defaults)
    return _config_records(resource, changes)


def _broker_changes(
    request: AlterConfigsResource, image: MetadataImage, settings: ControllerSettings
) -> list[ConfigRecord]:
    _check_broker(request.resource_name, image)
    resource = ConfigResource(ConfigResourceType.BROKER, request.resource_name)
    table = settings.broker_configs
    allowed = {UpdateMode.CLUSTER_WIDE, UpdateMode.PER_BROKER}
    fixed = [
        c.name
        for c in request.configs
        if c.name not in table or table[c.name].dynamic not in allowed
    ]
    if fixed:
        raise InvalidRequest(f"Cannot update these configs dynamically: {sorted(fixed)}")
    changes = _changed_values(request.configs, image.config(resource), table, settings.static)
    _check_eligible_leader_replicas(resource, changes, image)
    for name, value in changes.items():
        try:
            if value is not None:
                table[name].parse(value)
        except ConfigError as error:
            raise InvalidRequest(str(error)) from error
    return _config_records(resource, changes)


def _check_broker(name: str, image: MetadataImage) -> None:
    """The empty name stands for all brokers."""
    if not name:
        return
    if not name.isdecimal():
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}")
    if BrokerId(int(name)) not in image.brokers:
        raise InvalidRequest(f"Broker {name} is not registered")


def _check_eligible_leader_replicas(
    resource: ConfigResource, changes: Mapping[str, str | None], image: MetadataImage
) -> None:
    """Eligible leader replicas need one min.insync.replicas that holds for all brokers (KIP-966)."""
    if _MIN_INSYNC_REPLICAS not in changes or not image.features.get(ELIGIBLE_LEADER_REPLICAS):
        return
    if resource.name:
        raise InvalidConfig(
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
        )
    if changes[_MIN_INSYNC_REPLICAS] is None:
        raise InvalidConfig(
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
        )


def _changed_values(
    configs: Sequence[AlterableConfig],
    before: Mapping[str, str],
    table: Mapping[str, ConfigKey],
    defaults: Mapping[str, str],
) -> dict[str, str | None]:
    """The new text of each key that is touched, None for one that is removed."""
    changes: dict[str, str | None] = {}
    for config in configs:
        match config.config_operation:
            case AlterOperation.DELETE:
                changes[config.name] = None
            case AlterOperation.SET:
                changes[config.name] = _given(config)
            case AlterOperation.APPEND | AlterOperation.SUBTRACT:
                changes[config.name] = _edited_list(config, before, table, defaults)
            case unknown:
                raise InvalidRequest(f"Unknown operation {unknown} on {config.name}")
    return {
        name: value for name, value in changes.items() if value != before.get(name)
    }  # what stays the same needs no record


def _given(config: AlterableConfig) -> str:
    if config.value is None:
        raise InvalidRequest(f"Null value not supported for : {config.name}")
    return config.value


def _edited_list(
    config: AlterableConfig,
    before: Mapping[str, str],
    table: Mapping[str, ConfigKey],
    defaults: Mapping[str, str],
) -> str:
    operation = AlterOperation(config.config_operation)
    key = table.get(config.name)
    if key is None or key.type is not ConfigType.LIST:
        raise InvalidConfig(
            f"Can't {operation.name} to key {config.name} because its type is not LIST."
        )
    present = before.get(config.name, defaults.get(config.name, key.default_text or ""))
    items = _items(present)
    given = _items(_given(config))
    if operation is AlterOperation.APPEND:
        items += [item for item in given if item not in items]
    else:
        items = [item for item in items if item not in given]
    return ",".join(items)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")] if text.strip() else []


def _applied(before: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    after = {**before, **changes}
    return {name: value for name, value in after.items() if value is not None}


def _config_records(
    resource: ConfigResource, changes: Mapping[str, str | None]
) -> list[ConfigRecord]:
    return [
        ConfigRecord(
            resource_type=resource.type, resource_name=resource.name, name=name, value=value
        )
        for name, value in changes.items()
    ]
