"""The cluster's nodes: who is there, who controls, and brokers that are gone for good."""

from __future__ import annotations

from typing import NamedTuple

from millstream.clients.admin.controllers import BROKERS, CONTROLLERS
from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import check, operations
from millstream.clients.admin.core.routes import AnyBroker
from millstream.clients.admin.driver import AdminCalls
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.errors import UnsupportedVersion
from millstream.net.client.core.addresses import Address
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from millstream.protocol.generated.metadata import MetadataRequest, MetadataResponse
from millstream.protocol.generated.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from millstream.security.acl import Operation

_LAST_METADATA_WITH_CLUSTER_OPERATIONS = 10


class ClusterDescription(NamedTuple):
    """`controller_id` is -1 while there is none. `authorized_operations` is None unless it was asked for."""

    cluster_id: str | None
    controller_id: int
    nodes: list[BrokerNode]
    authorized_operations: frozenset[Operation] | None = None
    fenced_broker_ids: frozenset[int] = frozenset()
    """Registered, but not serving; among `nodes` if they were asked for."""


async def describe_cluster(
    admin: AdminCalls,
    *,
    include_authorized_operations: bool = False,
    include_fenced_brokers: bool = False,
    timeout_ms: int | None = None,
) -> ClusterDescription:
    """Returns the brokers, or with `bootstrap_controllers` the controllers. Fenced brokers since Kafka 4.0."""
    deadline_ms = admin._driver.deadline(timeout_ms)

    def build(_: Asked[None]) -> DescribeClusterRequest:
        return DescribeClusterRequest(
            include_cluster_authorized_operations=include_authorized_operations,
            endpoint_type=CONTROLLERS if admin._driver.asks_controllers else BROKERS,
            include_fenced_brokers=include_fenced_brokers,
        )

    call = Call[None, ClusterDescription, DescribeClusterResponse](
        api=ApiKey.DESCRIBE_CLUSTER,
        response=DescribeClusterResponse,
        route=AnyBroker(),
        build=build,
        read=lambda response, asked: dict.fromkeys(asked.keys, _described(response)),
    )
    try:
        return await admin._driver.one(call, None, deadline_ms)
    except UnsupportedVersion:
        if include_fenced_brokers:
            raise
    older = _metadata_call(include=include_authorized_operations)
    return await admin._driver.one(older, None, deadline_ms)


async def unregister_broker(
    admin: AdminCalls, broker_id: int, *, timeout_ms: int | None = None
) -> None:
    """Forget a broker that is gone for good (KRaft). Raises BrokerIdNotRegistered."""

    def read(response: UnregisterBrokerResponse, asked: Asked[int]) -> dict[int, None]:
        check(response.error_code, f"broker {broker_id}", response.error_message)
        return dict.fromkeys(asked.keys)

    call = Call[int, None, UnregisterBrokerResponse](
        api=ApiKey.UNREGISTER_BROKER,
        response=UnregisterBrokerResponse,
        route=AnyBroker(),
        build=lambda asked: UnregisterBrokerRequest(asked.keys[0]),
        read=read,
    )
    await admin._driver.one(call, broker_id, admin._driver.deadline(timeout_ms))


def _described(response: DescribeClusterResponse) -> ClusterDescription:
    check(response.error_code, "describe_cluster", response.error_message)
    nodes = [
        BrokerNode(each.broker_id, Address(each.host, each.port), each.rack)
        for each in response.brokers
    ]
    return ClusterDescription(
        response.cluster_id,
        response.controller_id,
        nodes,
        operations(response.cluster_authorized_operations),
        frozenset(each.broker_id for each in response.brokers if each.is_fenced),
    )


def _metadata_call(*, include: bool) -> Call[None, ClusterDescription, MetadataResponse]:
    """For brokers before Kafka 2.8."""

    def read(response: MetadataResponse, asked: Asked[None]) -> dict[None, ClusterDescription]:
        described = ClusterDescription(
            response.cluster_id,
            response.controller_id,
            [
                BrokerNode(each.node_id, Address(each.host, each.port), each.rack)
                for each in response.brokers
            ],
            operations(response.cluster_authorized_operations),
        )
        return dict.fromkeys(asked.keys, described)

    return Call(
        api=ApiKey.METADATA,
        response=MetadataResponse,
        route=AnyBroker(),
        build=lambda _: MetadataRequest(
            topics=[],
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=include,
        ),
        read=read,
        version_max=_LAST_METADATA_WITH_CLUSTER_OPERATIONS,
    )
