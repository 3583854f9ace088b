"""Admin calls about configurations. A broker's own are asked of that broker, all others of anybody."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from millstream.clients.admin.results import (
    AlterConfig,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    Results,
    item_error,
)
from millstream.clients.cluster import Cluster
from millstream.clients.connection import Connection
from millstream.errors import UnknownServerError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

_Result = TypeVar("_Result")

_OF_ONE_BROKER = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)


async def describe_configs(
    cluster: Cluster, resources: Sequence[ConfigResource], deadline_ms: int
) -> Results[ConfigResource, dict[str, ConfigEntry]]:
    results: Results[ConfigResource, dict[str, ConfigEntry]] = Results()

    async def ask(node_id: int | None, wanted: list[ConfigResource]) -> None:
        request = DescribeConfigsRequest(
            resources=[DescribeConfigsResource(r.type, r.name, None) for r in wanted]
        )

        async def attempt() -> DescribeConfigsResponse:
            connection = await _connection(cluster, node_id)
            return await connection.request(
                ApiKey.DESCRIBE_CONFIGS, request, DescribeConfigsResponse
            )

        response = await cluster.retrying(attempt, deadline_ms)
        for result in response.results:
            resource = ConfigResource(
                ConfigResourceType(result.resource_type), result.resource_name
            )
            if result.error_code:
                results[resource] = item_error(
                    result.error_code, resource.name, result.error_message
                )
            else:
                results[resource] = {entry.name: _entry(entry) for entry in result.configs}

    await _of_each_node(resources, ask)
    return _complete(results, resources)


async def incremental_alter_configs(
    cluster: Cluster,
    changes: Mapping[ConfigResource, Sequence[AlterConfig]],
    deadline_ms: int,
    *,
    validate_only: bool,
) -> Results[ConfigResource, None]:
    results: Results[ConfigResource, None] = Results()

    async def ask(node_id: int | None, wanted: list[ConfigResource]) -> None:
        request = IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource.type,
                    resource.name,
                    [AlterableConfig(c.name, c.operation, c.value) for c in changes[resource]],
                )
                for resource in wanted
            ],
            validate_only=validate_only,
        )

        async def attempt() -> IncrementalAlterConfigsResponse:
            connection = await _connection(cluster, node_id)
            return await connection.request(
                ApiKey.INCREMENTAL_ALTER_CONFIGS, request, IncrementalAlterConfigsResponse
            )

        response = await cluster.retrying(attempt, deadline_ms)
        for result in response.responses:
            resource = ConfigResource(
                ConfigResourceType(result.resource_type), result.resource_name
            )
            failed = result.error_code != 0
            results[resource] = (
                item_error(result.error_code, resource.name, result.error_message)
                if failed
                else None
            )

    await _of_each_node(changes, ask)
    return _complete(results, changes)


async def _of_each_node(
    resources: Iterable[ConfigResource],
    ask: Callable[[int | None, list[ConfigResource]], Awaitable[None]],
) -> None:
    by_node: dict[int | None, list[ConfigResource]] = {}
    for resource in resources:
        own = resource.type in _OF_ONE_BROKER and resource.name
        by_node.setdefault(int(resource.name) if own else None, []).append(resource)
    await asyncio.gather(*(ask(node_id, wanted) for node_id, wanted in by_node.items()))


async def _connection(cluster: Cluster, node_id: int | None) -> Connection:
    return await (cluster.any_connection() if node_id is None else cluster.connection(node_id))


def _entry(entry: DescribeConfigsResourceResult) -> ConfigEntry:
    known = entry.config_source in ConfigSource.__members__.values()
    source = ConfigSource(entry.config_source) if known else ConfigSource.UNKNOWN
    return ConfigEntry(entry.name, entry.value, source, entry.is_sensitive, entry.read_only)


def _complete(
    results: Results[ConfigResource, _Result], resources: Iterable[ConfigResource]
) -> Results[ConfigResource, _Result]:
    for resource in resources:
        if resource not in results:
            results[resource] = UnknownServerError(
                f"{resource.name}: the broker's answer leaves this out"
            )
    return results
