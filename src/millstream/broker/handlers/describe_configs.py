"""DescribeConfigs: the configurations of topics and brokers, with where each value comes from.

Versions 1-4. 1+ gives sources and, when asked, synonyms; 3+ types and, when asked, documentation. An absent or empty list of keys
means all of them, unknown keys are left out. Topics: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION. Brokers: a broker
describes itself, and under the empty name the dynamic defaults of all brokers; another id is INVALID_REQUEST.
Values of sensitive keys are null. Kafka's `internal.*` keys are shown only where a topic sets them.
Not supported: groups, client metrics and broker loggers (INVALID_REQUEST).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.broker.api_spec import ApiSpec
from millstream.broker.config_table import BROKER_CONFIGS
from millstream.broker.request_context import RequestContext
from millstream.errors import InvalidRequest, KafkaError, UnknownTopicOrPartition
from millstream.metadata.config_key import ConfigKey, ConfigType, Scope, UpdateMode
from millstream.metadata.config_resource import ConfigResourceType
from millstream.metadata.effective_config import (
    BrokerSettings,
    ConfigEntry,
    ConfigSource,
    ConfigSynonym,
    broker_entries,
    topic_entries,
)
from millstream.metadata.topic_names import check_topic_name
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

API = ApiSpec(ApiKey.DESCRIBE_CONFIGS, versions=range(1, 5))


def handle(request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[_describe(resource, request, context) for resource in request.resources]
    )


def _describe(
    resource: DescribeConfigsResource, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        entries = _entries(resource, context)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, str(error)
        return result
    wanted = set(resource.configuration_keys or ())
    result.configs = [
        _config(entry, request) for entry in entries if not wanted or entry.key.name in wanted
    ]
    return result


def _entries(resource: DescribeConfigsResource, context: RequestContext) -> Iterable[ConfigEntry]:
    match resource.resource_type:
        case ConfigResourceType.TOPIC:
            return _topic(resource.resource_name, context)
        case ConfigResourceType.BROKER:
            return _broker(resource.resource_name, context)
        case unknown:
            raise InvalidRequest(f"Resources of type {unknown} cannot be described here")


def _topic(name: str, context: RequestContext) -> Sequence[ConfigEntry]:
    check_topic_name(name)
    image = context.node.metadata.image
    if name not in image.topics:
        raise UnknownTopicOrPartition
    return topic_entries(image.topic_config(name), _settings(context))


def _broker(name: str, context: RequestContext) -> Sequence[ConfigEntry]:
    own_id = context.node.identity.node_id
    if not name:
        return _dynamic_defaults(context)
    if not name.isdecimal():
        raise InvalidRequest(f"Broker id must be an integer, but it is: {name}")
    if int(name) != own_id:
        raise InvalidRequest(f"Ask broker {name} itself: this is broker {own_id}")
    return broker_entries(BROKER_CONFIGS, _settings(context))


def _dynamic_defaults(context: RequestContext) -> list[ConfigEntry]:
    found = []
    for name, value in sorted(context.node.metadata.image.broker_default_config().items()):
        key = BROKER_CONFIGS.get(name) or ConfigKey(name, ConfigType.STRING, None, sensitive=True)
        shown = None if key.sensitive else value
        synonym = ConfigSynonym(name, shown, ConfigSource.DYNAMIC_DEFAULT_BROKER)
        found.append(ConfigEntry(key, shown, synonym.source, (synonym,)))
    return found


def _settings(context: RequestContext) -> BrokerSettings:
    node = context.node
    return BrokerSettings.of(node.metadata.image, node.identity.node_id, node.config.settings)


def _config(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
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
        documentation=key.doc if request.include_documentation else None,
    )
