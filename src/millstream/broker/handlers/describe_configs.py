"""DescribeConfigs: the configurations of topics, brokers, groups, client metrics and broker loggers, and
where each value comes from.

Versions 1-4. 1+ gives sources and, when asked, synonyms; 3+ types and, when asked, documentation. An absent
or empty list of keys means all of them, unknown keys are left out. Topics: UNKNOWN_TOPIC_OR_PARTITION,
INVALID_TOPIC_EXCEPTION. Brokers: a broker describes itself, and under the empty name the dynamic defaults of
all brokers; another id is INVALID_REQUEST. Groups and client metrics need not exist: then their defaults are
described. Loggers: every logger of this process with the level that counts. Values of sensitive keys are
null. Kafka's `internal.*` keys are shown only where they are set. Kafka's keys that have no effect here are
listed with Kafka's types and defaults; their documentation says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.config.log_levels import log_levels
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.config_permissions import config_refusal
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import InvalidRequest, KafkaError, UnknownTopicOrPartition
from millstream.metadata.config_key import Scope, UpdateMode
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.effective_config import (
    BrokerSettings,
    EffectiveConfig,
    broker_default_entries,
    broker_entries,
    client_metrics_entries,
    group_entries,
    logger_entries,
    topic_entries,
)
from millstream.metadata.image import MetadataImage
from millstream.metadata.topic_names import check_topic_name
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DESCRIBE_CONFIGS,
    versions=range(1, 5),
    permissions=(
        Permission(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),
        Permission(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC),
        Permission(Operation.DESCRIBE_CONFIGS, ResourceType.GROUP),
    ),
    lists=(Lists(("resources",), ("results",), 2),),
    tells_all=True,
)


def handle(
    request: DescribeConfigsRequest,
    context: RequestContext,
    *,
    access: Access,
    config: DynamicConfig,
    identity: NodeIdentity,
    metadata: Metadata,
) -> DescribeConfigsResponse:
    image, own_id = metadata.image, identity.node_id
    settings = BrokerSettings.of(image, own_id, config.current.settings)
    return DescribeConfigsResponse(
        results=[
            _refused(resource, refusal)
            if (
                refusal := config_refusal(
                    access,
                    context,
                    Operation.DESCRIBE_CONFIGS,
                    resource.resource_type,
                    resource.resource_name,
                )
            )
            else _describe(resource, request, image, settings, own_id)
            for resource in request.resources
        ]
    )


def failed(
    request: DescribeConfigsRequest, _version: int, error: KafkaError
) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                error_code=error.code,
                error_message=str(error),
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _refused(resource: DescribeConfigsResource, error: KafkaError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=str(error),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _describe(
    resource: DescribeConfigsResource,
    request: DescribeConfigsRequest,
    image: MetadataImage,
    settings: BrokerSettings,
    own_id: BrokerId,
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        entries = _entries(resource, image, settings, own_id)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, str(error)
        return result
    wanted = set(resource.configuration_keys or ())
    result.configs = [
        _config(entry, request) for entry in entries if not wanted or entry.key.name in wanted
    ]
    return result


def _entries(
    resource: DescribeConfigsResource,
    image: MetadataImage,
    settings: BrokerSettings,
    own_id: BrokerId,
) -> Iterable[EffectiveConfig]:
    name = resource.resource_name
    match resource.resource_type:
        case ConfigResourceType.TOPIC:
            return _topic(name, image, settings)
        case ConfigResourceType.BROKER if not name:
            return broker_default_entries(BROKER_CONFIGS, image.broker_default_config())
        case ConfigResourceType.BROKER:
            _check_broker_id(name, own_id, " or empty string")
            return broker_entries(
                BROKER_CONFIGS,
                settings,
            )
        case ConfigResourceType.BROKER_LOGGER:
            if not name:
                raise InvalidRequest("Broker id must not be empty")
            _check_broker_id(name, own_id)
            return logger_entries(log_levels())
        case ConfigResourceType.CLIENT_METRICS:
            if not name:
                raise InvalidRequest("Client metrics subscription name must not be empty")
            return client_metrics_entries(
                image.config(ConfigResource(ConfigResourceType.CLIENT_METRICS, name))
            )
        case ConfigResourceType.GROUP:
            if not name:
                raise InvalidRequest("Group name must not be empty")
            overrides = image.config(ConfigResource(ConfigResourceType.GROUP, name))
            return group_entries(overrides, settings)
        case unknown:
            raise InvalidRequest(f"Resources of type {unknown} cannot be described")


def _topic(name: str, image: MetadataImage, settings: BrokerSettings) -> Sequence[EffectiveConfig]:
    check_topic_name(name)
    if name not in image.topics:
        raise UnknownTopicOrPartition
    return topic_entries(
        image.topic_config(name),
        settings,
    )


def _check_broker_id(name: str, own_id: BrokerId, alternative: str = "") -> None:
    """Of a resource that only the broker itself knows."""
    if not name.removeprefix("-").isdecimal():
        raise InvalidRequest(f"Broker id must be an integer, but it is: {name}")
    if int(name) != own_id:
        raise InvalidRequest(
            f"Unexpected broker id, expected {own_id}{alternative}, but received {name}"
        )


def _config(
    entry: EffectiveConfig, request: DescribeConfigsRequest
) -> DescribeConfigsResourceResult:
    key = entry.key
    return DescribeConfigsResourceResult(
        name=key.name,
        value=entry.value,
        read_only=key.scope is Scope.BROKER and key.dynamic is UpdateMode.READ_ONLY,
        config_source=entry.source,
        is_sensitive=key.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source)
            for s in (entry.synonyms if request.include_synonyms else ())
        ],
        config_type=key.type,
        documentation=key.meaning if request.include_documentation else None,
    )
