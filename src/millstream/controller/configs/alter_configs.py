"""IncrementalAlterConfigs (KIP-339) and AlterConfigs: dynamic configurations of topics, brokers,
groups and client metrics.

Each resource is changed as a whole or not at all. What a request makes of the values is in `config_changes`, what a
kind of resource may have in `*_overrides` and in the tables of `metadata`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from millstream.controller.configs.broker_overrides import check_broker_overrides
from millstream.controller.configs.config_changes import (
    after_changes,
    check_values_fit,
    config_records,
    known_resource,
    replaced,
)
from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.partitions.partition_changes import MIN_INSYNC_REPLICAS
from millstream.errors import (
    ConfigError,
    InvalidConfig,
    InvalidRequest,
    KafkaError,
    UnknownTopicOrPartition,
)
from millstream.metadata.client_metrics_config import client_metrics_subscription
from millstream.metadata.config_key import ConfigKey
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.effective_config import BrokerSettings
from millstream.metadata.features import ELIGIBLE_LEADER_REPLICAS
from millstream.metadata.group_config import check_group_config
from millstream.metadata.image import MetadataImage
from millstream.metadata.topic_config import TOPIC_CONFIGS, check_topic_overrides
from millstream.metadata.topic_names import check_topic_name
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated import alter_configs as whole
from millstream.protocol.generated import incremental_alter_configs as incremental
from millstream.protocol.generated.metadata_records import ClearElrRecord, ConfigRecord


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class _Resource(Protocol):
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configs(self) -> Sequence[_Named]: ...


class _Answer(Protocol):
    error_code: int
    error_message: str | None


ResourceT = TypeVar("ResourceT", bound=_Resource)
AnswerT = TypeVar("AnswerT", bound=_Answer)


def plan_incremental_alter_configs(
    context: ControllerContext, request: incremental.IncrementalAlterConfigsRequest
) -> ControllerResult[incremental.IncrementalAlterConfigsResponse]:
    """Returns the records of all resources whose changes are fine; none with `validate_only`."""

    def after(resource: incremental.AlterConfigsResource, known: ConfigResource) -> dict[str, str]:
        table, defaults = _editable_lists(known.type, context)
        return after_changes(resource.configs, context.image.config(known), table, defaults)

    answers = [
        incremental.AlterConfigsResourceResponse(
            error_message=None,
            resource_type=each.resource_type,
            resource_name=each.resource_name,
        )
        for each in request.resources
    ]
    records = _all_records(request.resources, answers, after, context)
    response = incremental.IncrementalAlterConfigsResponse(responses=answers)
    return ControllerResult(() if request.validate_only else tuple(records), response)


INCREMENTAL_ALTER_CONFIGS: Final = ControllerApi(
    ApiKey.INCREMENTAL_ALTER_CONFIGS, plan_incremental_alter_configs
)


def plan_alter_configs(
    context: ControllerContext, request: whole.AlterConfigsRequest
) -> ControllerResult[whole.AlterConfigsResponse]:
    """Returns the records for the older API, in which keys that a resource's request does not name
    go back to their defaults.
    """

    def after(resource: whole.AlterConfigsResource, known: ConfigResource) -> dict[str, str]:
        del known
        return replaced(resource.configs)

    answers = [
        whole.AlterConfigsResourceResponse(
            error_message=None,
            resource_type=each.resource_type,
            resource_name=each.resource_name,
        )
        for each in request.resources
    ]
    records = _all_records(request.resources, answers, after, context)
    response = whole.AlterConfigsResponse(responses=answers)
    return ControllerResult(() if request.validate_only else tuple(records), response)


ALTER_CONFIGS: Final = ControllerApi(ApiKey.ALTER_CONFIGS, plan_alter_configs)


def _all_records(
    resources: Sequence[ResourceT],
    answers: Iterable[AnswerT],
    after: Callable[[ResourceT, ConfigResource], dict[str, str]],
    context: ControllerContext,
) -> list[MetadataRecord]:
    """Fills in what is wrong with each resource; gives the records of the others."""
    counts = Counter((each.resource_type, each.resource_name) for each in resources)
    records: list[MetadataRecord] = []
    for resource, answer in zip(resources, answers, strict=True):
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise InvalidRequest("Each resource must appear at most once.")
            known = known_resource(resource.resource_type, resource.resource_name)
            _check_name(known, context.image)
            overrides = after(resource, known)
            check_values_fit(overrides)
            _check_overrides(known, overrides, context)
            named = {config.name for config in resource.configs}
            records += config_records(known, context.image.config(known), overrides, named)
        except KafkaError as error:
            answer.error_code, answer.error_message = error.code, str(error)
    return [*records, *_clear_elr_records(records, context.image)]


def _clear_elr_records(
    records: Iterable[MetadataRecord], image: MetadataImage
) -> list[ClearElrRecord]:
    """Another min.insync.replicas gives eligible another meaning: who is eligible is forgotten (KIP-966)."""
    if not image.features.get(ELIGIBLE_LEADER_REPLICAS):
        return []
    return [
        ClearElrRecord(
            topic_name=record.resource_name
            if record.resource_type == ConfigResourceType.TOPIC
            else ""
        )
        for record in records
        if isinstance(record, ConfigRecord) and record.name == MIN_INSYNC_REPLICAS
    ]


def _check_name(resource: ConfigResource, image: MetadataImage) -> None:
    match resource.type:
        case ConfigResourceType.TOPIC:
            if not resource.name:
                raise InvalidRequest("Default topic resources are not allowed.")
            check_topic_name(resource.name)
            if resource.name not in image.topics:
                raise UnknownTopicOrPartition(f"The topic '{resource.name}' does not exist.")
        case ConfigResourceType.GROUP if not resource.name:
            raise InvalidRequest("Default group resources are not allowed.")
        case ConfigResourceType.CLIENT_METRICS if not resource.name:
            raise InvalidRequest("Subscription name can't be empty")


def _check_overrides(
    resource: ConfigResource, overrides: Mapping[str, str], context: ControllerContext
) -> None:
    image, settings = context.image, context.settings
    broker = BrokerSettings.of(image, settings.node_id, settings.static)
    match resource.type:
        case ConfigResourceType.TOPIC:
            check_topic_overrides(overrides, broker.topic_defaults())
        case ConfigResourceType.BROKER:
            check_broker_overrides(resource, overrides, image, settings)
        case ConfigResourceType.GROUP:
            try:
                check_group_config(overrides, broker.values(settings.broker_configs))
            except ConfigError as error:
                raise InvalidConfig(str(error)) from error
        case ConfigResourceType.CLIENT_METRICS:
            try:
                client_metrics_subscription(overrides)
            except ConfigError as error:
                raise InvalidConfig(str(error)) from error


def _editable_lists(
    kind: ConfigResourceType, context: ControllerContext
) -> tuple[Mapping[str, ConfigKey], Mapping[str, str]]:
    """The keys that may be lists, and what they hold where they are not set.

    Lists of other kinds are not edited in place.
    """
    image, settings = context.image, context.settings
    if kind is ConfigResourceType.TOPIC:
        broker = BrokerSettings.of(image, settings.node_id, settings.static)
        return TOPIC_CONFIGS, broker.topic_defaults()
    if kind is ConfigResourceType.BROKER:
        return settings.broker_configs, settings.static
    return {}, {}
