"""Configurations of topics, brokers, broker loggers, groups and client metrics.

A broker's own are asked of that broker, all others of any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done, item_error
from millstream.clients.admin.core.routes import AnyBroker, Node
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import ConfigError, KafkaError, UnsupportedVersion
from millstream.metadata.config_resource import ConfigResource, ConfigSynonym
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import AlterOperation, ConfigResourceType, ConfigSource, ConfigType
from millstream.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from millstream.protocol.generated.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)


class ConfigEntry(NamedTuple):
    """`value` is None where it is sensitive. Synonyms and documentation are there if asked for."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    type: ConfigType = ConfigType.UNKNOWN
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether it was not set anywhere: it is the default of the software."""
        return self.source is ConfigSource.DEFAULT_CONFIG


class AlterConfig(NamedTuple):
    name: str
    value: str | None
    operation: AlterOperation = AlterOperation.SET


_OF_ONE_BROKER: Final = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
_FIRST_LIST_OF_ALL: Final = 1


def _owner(resource: ConfigResource) -> int | None:
    """The broker to ask. Raises ConfigError for a broker that is no number."""
    if resource.type not in _OF_ONE_BROKER or not resource.name:
        return None
    if not resource.name.isdecimal():
        raise ConfigError(
            f"a resource of type {resource.type.name} is named by a broker's id, not {resource.name!r}"
        )
    return int(resource.name)


_OWNER: Final = Node(_owner)


async def describe_configs(
    admin: AdminCalls,
    resources: Iterable[ConfigResource],
    *,
    names: Collection[str] | None = None,
    include_synonyms: bool = False,
    include_documentation: bool = False,
    timeout_ms: int | None = None,
) -> Results[ConfigResource, dict[str, ConfigEntry]]:
    """Entries by name; `names` asks for those alone."""

    def build(asked: Asked[ConfigResource]) -> DescribeConfigsRequest:
        wanted = None if names is None else list(names)
        return DescribeConfigsRequest(
            resources=[DescribeConfigsResource(key.type, key.name, wanted) for key in asked.keys],
            include_synonyms=include_synonyms,
            include_documentation=include_documentation,
        )

    def read(
        response: DescribeConfigsResponse, _: Asked[ConfigResource]
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
        return {
            ConfigResource(ConfigResourceType(each.resource_type), each.resource_name): _described(
                each
            )
            for each in response.results
        }

    call = Call(
        api=ApiKey.DESCRIBE_CONFIGS,
        response=DescribeConfigsResponse,
        route=_OWNER,
        build=build,
        read=read,
    )
    return await admin._driver.run(call, resources, admin._driver.deadline(timeout_ms))


async def incremental_alter_configs(
    admin: AdminCalls,
    changes: Mapping[ConfigResource, Sequence[AlterConfig]],
    *,
    validate_only: bool = False,
    timeout_ms: int | None = None,
) -> Results[ConfigResource, None]:
    """Changes configs: all changes of a resource are made, or none of them (Kafka 2.3)."""

    def build(asked: Asked[ConfigResource]) -> IncrementalAlterConfigsRequest:
        return IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    key.type,
                    key.name,
                    [AlterableConfig(c.name, c.operation, c.value) for c in changes[key]],
                )
                for key in asked.keys
            ],
            validate_only=validate_only,
        )

    def read(
        response: IncrementalAlterConfigsResponse, _: Asked[ConfigResource]
    ) -> dict[ConfigResource, KafkaError | None]:
        return {
            ConfigResource(ConfigResourceType(each.resource_type), each.resource_name): done(
                each.error_code, each.resource_name, each.error_message
            )
            for each in response.responses
        }

    call = Call(
        api=ApiKey.INCREMENTAL_ALTER_CONFIGS,
        response=IncrementalAlterConfigsResponse,
        route=_OWNER,
        build=build,
        read=read,
    )
    return await admin._driver.run(call, changes, admin._driver.deadline(timeout_ms))


async def list_config_resources(
    admin: AdminCalls,
    types: Iterable[ConfigResourceType] = (),
    *,
    timeout_ms: int | None = None,
) -> list[ConfigResource]:
    """Resources of these types, by default of all (Kafka 4.1; client metrics alone since 3.7), sorted.

    Types of a later Kafka are left out.
    """
    wanted = sorted(set(types))

    def build(asked: Asked[None]) -> ListConfigResourcesRequest:
        if asked.version < _FIRST_LIST_OF_ALL:
            if wanted != [ConfigResourceType.CLIENT_METRICS]:
                raise UnsupportedVersion("before Kafka 4.1 only CLIENT_METRICS can be listed")
            return ListConfigResourcesRequest()
        return ListConfigResourcesRequest(resource_types=[int(each) for each in wanted])

    def read(
        response: ListConfigResourcesResponse, asked: Asked[None]
    ) -> dict[None, list[ConfigResource]]:
        check(response.error_code, "list_config_resources")
        listed = [
            ConfigResource(ConfigResourceType(each.resource_type), each.resource_name)
            for each in response.config_resources
            if each.resource_type in ConfigResourceType.__members__.values()
        ]
        return dict.fromkeys(asked.keys, sorted(listed))

    call = Call(
        api=ApiKey.LIST_CONFIG_RESOURCES,
        response=ListConfigResourcesResponse,
        route=AnyBroker(),
        build=build,
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def list_client_metrics_resources(
    admin: AdminCalls, *, timeout_ms: int | None = None
) -> list[str]:
    """Lists the names of client metrics subscriptions (Kafka 3.7)."""
    listed = await list_config_resources(
        admin, [ConfigResourceType.CLIENT_METRICS], timeout_ms=timeout_ms
    )
    return [resource.name for resource in listed]


def _described(result: DescribeConfigsResult) -> dict[str, ConfigEntry] | KafkaError:
    if result.error_code:
        return item_error(result.error_code, result.resource_name, result.error_message)
    return {entry.name: _entry(entry) for entry in result.configs}


def _entry(entry: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        entry.name,
        entry.value,
        ConfigSource.of(entry.config_source),
        entry.is_sensitive,
        entry.read_only,
        ConfigType.of(entry.config_type),
        tuple(
            ConfigSynonym(each.name, each.value, ConfigSource.of(each.source))
            for each in entry.synonyms
        ),
        entry.documentation,
    )
