"""The requests that a controller takes: the API of each, what of the controller handles it, and of
how many partitions it is.

Whoever asks names one of these, wherever the active controller runs. What a controller does by itself, as when a
session ends, is not among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from millstream.controller.controller import Controller
from millstream.controller.result import ControllerContext, ControllerResult
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_partition import AlterPartitionRequest
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.elect_leaders import ElectLeadersRequest

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


def every_partition(_request: object, image: MetadataImage) -> int:
    return sum(len(topic.partitions) for topic in image.topics)


def _of_topics(
    request: AlterPartitionRequest | AlterPartitionReassignmentsRequest, _image: MetadataImage
) -> int:
    return sum(len(each.partitions) for each in request.topics)


def _to_elect(request: ElectLeadersRequest, image: MetadataImage) -> int:
    if request.topic_partitions is None:
        return every_partition(request, image)
    return sum(len(each.partitions) for each in request.topic_partitions)


def _of_heartbeat(request: BrokerHeartbeatRequest, image: MetadataImage) -> int:
    """Most heartbeats only say that the broker lives; others may change leaders."""
    broker = image.brokers.get(BrokerId(request.broker_id))
    asks = request.want_shut_down or request.want_fence or bool(request.offline_log_dirs)
    return every_partition(request, image) if broker and (broker.fenced or asks) else 0


@dataclass(frozen=True, slots=True)
class ControllerApi(Generic[RequestT, ResponseT]):
    """An API with the types of its request and of its response."""

    key: ApiKey
    handle: Callable[[Controller, RequestT, ControllerContext], ControllerResult[ResponseT]]
    partitions: Callable[[RequestT, MetadataImage], int] = lambda _request, _image: 0
    """At most so many partitions the controller has to look at: it plans in a thread where they are many."""


ALLOCATE_PRODUCER_IDS: Final = ControllerApi(
    ApiKey.ALLOCATE_PRODUCER_IDS, Controller.handle_allocate_producer_ids
)
ALTER_CLIENT_QUOTAS: Final = ControllerApi(
    ApiKey.ALTER_CLIENT_QUOTAS, Controller.handle_alter_client_quotas
)
ALTER_CONFIGS: Final = ControllerApi(ApiKey.ALTER_CONFIGS, Controller.handle_alter_configs)
ALTER_PARTITION: Final = ControllerApi(
    ApiKey.ALTER_PARTITION,
    Controller.handle_alter_partition,
    _of_topics,
)
ALTER_PARTITION_REASSIGNMENTS: Final = ControllerApi(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    Controller.handle_alter_partition_reassignments,
    _of_topics,
)
ALTER_USER_SCRAM_CREDENTIALS: Final = ControllerApi(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS, Controller.handle_alter_user_scram_credentials
)
ASSIGN_REPLICAS_TO_DIRS: Final = ControllerApi(
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    Controller.handle_assign_replicas_to_directories,
    lambda request, _image: sum(
        len(topic.partitions) for directory in request.directories for topic in directory.topics
    ),
)
BROKER_HEARTBEAT: Final = ControllerApi(
    ApiKey.BROKER_HEARTBEAT,
    Controller.handle_broker_heartbeat,
    _of_heartbeat,
)
BROKER_REGISTRATION: Final = ControllerApi(
    ApiKey.BROKER_REGISTRATION,
    Controller.handle_broker_registration,
    every_partition,
)
CONTROLLER_REGISTRATION: Final = ControllerApi(
    ApiKey.CONTROLLER_REGISTRATION, Controller.handle_controller_registration
)
CREATE_ACLS: Final = ControllerApi(ApiKey.CREATE_ACLS, Controller.handle_create_acls)
CREATE_DELEGATION_TOKEN: Final = ControllerApi(
    ApiKey.CREATE_DELEGATION_TOKEN, Controller.handle_create_delegation_token
)
CREATE_PARTITIONS: Final = ControllerApi(
    ApiKey.CREATE_PARTITIONS,
    Controller.handle_create_partitions,
    lambda request, _image: sum(each.count for each in request.topics),
)
CREATE_TOPICS: Final = ControllerApi(
    ApiKey.CREATE_TOPICS,
    Controller.handle_create_topics,
    lambda request, _image: sum(
        max(len(each.assignments), each.num_partitions) for each in request.topics
    ),
)
DELETE_ACLS: Final = ControllerApi(ApiKey.DELETE_ACLS, Controller.handle_delete_acls)
DELETE_TOPICS: Final = ControllerApi(ApiKey.DELETE_TOPICS, Controller.handle_delete_topics)
ELECT_LEADERS: Final = ControllerApi(
    ApiKey.ELECT_LEADERS,
    Controller.handle_elect_leaders,
    _to_elect,
)
EXPIRE_DELEGATION_TOKEN: Final = ControllerApi(
    ApiKey.EXPIRE_DELEGATION_TOKEN, Controller.handle_expire_delegation_token
)
INCREMENTAL_ALTER_CONFIGS: Final = ControllerApi(
    ApiKey.INCREMENTAL_ALTER_CONFIGS, Controller.handle_incremental_alter_configs
)
RENEW_DELEGATION_TOKEN: Final = ControllerApi(
    ApiKey.RENEW_DELEGATION_TOKEN, Controller.handle_renew_delegation_token
)
UNREGISTER_BROKER: Final = ControllerApi(
    ApiKey.UNREGISTER_BROKER,
    Controller.handle_unregister_broker,
    every_partition,
)
UPDATE_FEATURES: Final = ControllerApi(ApiKey.UPDATE_FEATURES, Controller.handle_update_features)
