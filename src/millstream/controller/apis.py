"""The requests that a controller takes: the API of each, and what of the controller handles it.

Whoever asks names one of these, wherever the active controller runs. What a controller does by itself, as when a session ends, is not
among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from millstream.controller.controller import Controller
from millstream.controller.result import ControllerContext, ControllerResult
from millstream.protocol.api import ApiKey

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


@dataclass(frozen=True, slots=True)
class ControllerApi(Generic[RequestT, ResponseT]):
    """An API with the types of its request and of its response."""

    key: ApiKey
    handle: Callable[[Controller, RequestT, ControllerContext], ControllerResult[ResponseT]]


ALLOCATE_PRODUCER_IDS: Final = ControllerApi(
    ApiKey.ALLOCATE_PRODUCER_IDS, Controller.handle_allocate_producer_ids
)
ALTER_CLIENT_QUOTAS: Final = ControllerApi(
    ApiKey.ALTER_CLIENT_QUOTAS, Controller.handle_alter_client_quotas
)
ALTER_CONFIGS: Final = ControllerApi(ApiKey.ALTER_CONFIGS, Controller.handle_alter_configs)
ALTER_PARTITION: Final = ControllerApi(ApiKey.ALTER_PARTITION, Controller.handle_alter_partition)
ALTER_PARTITION_REASSIGNMENTS: Final = ControllerApi(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS, Controller.handle_alter_partition_reassignments
)
ALTER_USER_SCRAM_CREDENTIALS: Final = ControllerApi(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS, Controller.handle_alter_user_scram_credentials
)
ASSIGN_REPLICAS_TO_DIRS: Final = ControllerApi(
    ApiKey.ASSIGN_REPLICAS_TO_DIRS, Controller.handle_assign_replicas_to_directories
)
BROKER_HEARTBEAT: Final = ControllerApi(ApiKey.BROKER_HEARTBEAT, Controller.handle_broker_heartbeat)
BROKER_REGISTRATION: Final = ControllerApi(
    ApiKey.BROKER_REGISTRATION, Controller.handle_broker_registration
)
CONTROLLER_REGISTRATION: Final = ControllerApi(
    ApiKey.CONTROLLER_REGISTRATION, Controller.handle_controller_registration
)
CREATE_ACLS: Final = ControllerApi(ApiKey.CREATE_ACLS, Controller.handle_create_acls)
CREATE_DELEGATION_TOKEN: Final = ControllerApi(
    ApiKey.CREATE_DELEGATION_TOKEN, Controller.handle_create_delegation_token
)
CREATE_PARTITIONS: Final = ControllerApi(
    ApiKey.CREATE_PARTITIONS, Controller.handle_create_partitions
)
CREATE_TOPICS: Final = ControllerApi(ApiKey.CREATE_TOPICS, Controller.handle_create_topics)
DELETE_ACLS: Final = ControllerApi(ApiKey.DELETE_ACLS, Controller.handle_delete_acls)
DELETE_TOPICS: Final = ControllerApi(ApiKey.DELETE_TOPICS, Controller.handle_delete_topics)
ELECT_LEADERS: Final = ControllerApi(ApiKey.ELECT_LEADERS, Controller.handle_elect_leaders)
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
    ApiKey.UNREGISTER_BROKER, Controller.handle_unregister_broker
)
UPDATE_FEATURES: Final = ControllerApi(ApiKey.UPDATE_FEATURES, Controller.handle_update_features)
