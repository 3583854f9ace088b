"""Tells who may change which configurations, and whether the broker or the controller of a node was asked.

Configurations of brokers, loggers and metrics subscriptions are the cluster's resource, those of
topics and groups are theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.requests.access import Access
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import KafkaError
from millstream.protocol.enums import ConfigResourceType
from millstream.security.acl import CLUSTER_NAME, Operation, ResourceType

_RESOURCES: Final[Mapping[int, ResourceType]] = MappingProxyType(
    {
        ConfigResourceType.TOPIC: ResourceType.TOPIC,
        ConfigResourceType.BROKER: ResourceType.CLUSTER,
        ConfigResourceType.BROKER_LOGGER: ResourceType.CLUSTER,
        ConfigResourceType.CLIENT_METRICS: ResourceType.CLUSTER,
        ConfigResourceType.GROUP: ResourceType.GROUP,
    }
)


class _Resource(Protocol):
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...


def config_refusal(
    access: Access, context: RequestContext, operation: Operation, config_type: int, name: str
) -> KafkaError | None:
    """Returns the error for a client that may not do it.

    Configurations of unknown types are nobody's: they are refused as such.
    """
    resource_type = _RESOURCES.get(config_type)
    if access.is_open or resource_type is None:
        return None
    try:
        access.check(
            context,
            operation,
            resource_type,
            CLUSTER_NAME if resource_type is ResourceType.CLUSTER else name,
        )
    except KafkaError as error:
        return error
    return None


def config_refusals(
    access: Access, context: RequestContext, resources: Sequence[_Resource]
) -> dict[int, KafkaError]:
    """Returns the errors of changes that a client may not make, by their place in the request.

    Two changes of one resource are left to the controller, which refuses both.
    """
    counts = Counter((each.resource_type, each.resource_name) for each in resources)
    found: dict[int, KafkaError] = {}
    for place, resource in enumerate(resources):
        key = (resource.resource_type, resource.resource_name)
        error = None
        if counts[key] == 1:
            error = config_refusal(access, context, Operation.ALTER_CONFIGS, *key)
        if error is not None:
            found[place] = error
    return found


def is_of_controller(context: RequestContext, config: BrokerConfig) -> bool:
    """Whether a client asks the controller of this node directly."""
    names = {name.upper() for name in config.controller_listener_names}
    return context.listener_name.upper() in names


def is_asked_as_broker(context: RequestContext, config: BrokerConfig) -> bool:
    """Whether a client asks the broker of this node: what came in an envelope was looked at
    by the broker that was asked.
    """
    return not context.connection.is_forwarded and not is_of_controller(context, config)
