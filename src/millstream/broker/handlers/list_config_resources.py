"""ListConfigResources: which resources have configurations (KIP-1142; before that the API listed
client metrics only, KIP-1000).

Version 0 names client metrics subscriptions. Version 1 takes the types wanted, none for all: groups and client metrics
with configurations of their own, and every broker, broker logger and topic. UNSUPPORTED_VERSION for any other type.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import UnsupportedVersion
from millstream.metadata.image import MetadataImage
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.LIST_CONFIG_RESOURCES,
    versions=range(2),
    permissions=(cluster_permission(Operation.DESCRIBE_CONFIGS),),
    kept_whole="kinds of resources, made a set",
)

_LISTED: Final = (
    ConfigResourceType.GROUP,
    ConfigResourceType.CLIENT_METRICS,
    ConfigResourceType.BROKER_LOGGER,
    ConfigResourceType.BROKER,
    ConfigResourceType.TOPIC,
)


def handle(
    request: ListConfigResourcesRequest, context: RequestContext, *, metadata: Metadata
) -> ListConfigResourcesResponse:
    if context.version == 0:
        wanted = {int(ConfigResourceType.CLIENT_METRICS)}
    else:
        wanted = set(request.resource_types) or {int(kind) for kind in _LISTED}
    if not wanted <= {int(kind) for kind in _LISTED}:
        return ListConfigResourcesResponse(error_code=UnsupportedVersion.code)
    image = metadata.image
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in _LISTED
            if kind in wanted
            for name in _names(kind, image)
        ]
    )


def _names(kind: ConfigResourceType, image: MetadataImage) -> Iterable[str]:
    match kind:
        case ConfigResourceType.TOPIC:
            return sorted(image.topics.by_name)
        case ConfigResourceType.BROKER | ConfigResourceType.BROKER_LOGGER:
            return map(str, sorted(image.brokers))
        case _:
            return sorted(resource.name for resource in image.configs if resource.type is kind)
