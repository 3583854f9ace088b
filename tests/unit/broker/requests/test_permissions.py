"""What each API asks leave for, as Apache Kafka does, and what becomes of a request that is refused as a whole."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

import pytest

from millstream.broker.controller_handlers.envelope import FORWARDABLE
from millstream.broker.handlers import describe_quorum
from millstream.broker.metadata_log.driver import QuorumDescription
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.dispatch import Dispatcher
from millstream.broker.requests.registry import (
    BROKER_HANDLERS,
    CONTROLLER_HANDLERS,
    HANDLERS,
    Handler,
)
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import ClusterAuthorizationFailed, NotLeaderOrFollower
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import ApiKey, Message, request_class, response_class
from millstream.protocol.frames import decode_response, encode_request
from millstream.raft.quorum_description import ReplicaState
from millstream.runtime.system import SystemClock
from millstream.security.acl import CLUSTER_NAME, Operation, ResourceType
from millstream.security.principal import KafkaPrincipal
from tests.filled_requests import error_codes, filled_request
from tests.support.access_rules import ScriptedAuthorizer
from tests.support.handler_services import GivenQuorum, controller_services, handler_services

CLIENT: Final = ClientConnection(1, "10.0.0.9", 4711, "PLAINTEXT", KafkaPrincipal("User", "alice"))
CLUSTER_AUTHORIZATION_FAILED: Final = 31

GOLDEN: Final = """
ADD_OFFSETS_TO_TXN: WRITE TRANSACTIONAL_ID, READ GROUP
ADD_PARTITIONS_TO_TXN: CLUSTER_ACTION CLUSTER, WRITE TRANSACTIONAL_ID, WRITE TOPIC
ADD_RAFT_VOTER: ALTER CLUSTER!
ALTER_CLIENT_QUOTAS: ALTER_CONFIGS CLUSTER!
ALTER_CONFIGS: ALTER_CONFIGS CLUSTER, ALTER_CONFIGS TOPIC, ALTER_CONFIGS GROUP
ALTER_PARTITION: CLUSTER_ACTION CLUSTER!
ALTER_PARTITION_REASSIGNMENTS: ALTER CLUSTER!
ALTER_REPLICA_LOG_DIRS: ALTER CLUSTER!
ALTER_SHARE_GROUP_OFFSETS: READ GROUP, READ TOPIC
ALTER_USER_SCRAM_CREDENTIALS: ALTER CLUSTER!
ALLOCATE_PRODUCER_IDS: CLUSTER_ACTION CLUSTER!
API_VERSIONS:
ASSIGN_REPLICAS_TO_DIRS: CLUSTER_ACTION CLUSTER!
BEGIN_QUORUM_EPOCH: CLUSTER_ACTION CLUSTER!
BROKER_HEARTBEAT: CLUSTER_ACTION CLUSTER!
BROKER_REGISTRATION: CLUSTER_ACTION CLUSTER!
CONSUMER_GROUP_DESCRIBE: DESCRIBE GROUP, DESCRIBE TOPIC
CONSUMER_GROUP_HEARTBEAT: READ GROUP, DESCRIBE TOPIC
CONTROLLER_REGISTRATION: CLUSTER_ACTION CLUSTER!
CREATE_ACLS: ALTER CLUSTER!
CREATE_DELEGATION_TOKEN: CREATE_TOKENS USER
CREATE_PARTITIONS: ALTER TOPIC
CREATE_TOPICS: CREATE CLUSTER, CREATE TOPIC, DESCRIBE_CONFIGS TOPIC
DELETE_ACLS: ALTER CLUSTER!
DELETE_GROUPS: DELETE GROUP
DELETE_RECORDS: DELETE TOPIC
DELETE_SHARE_GROUP_OFFSETS: DELETE GROUP, READ TOPIC
DELETE_SHARE_GROUP_STATE: CLUSTER_ACTION CLUSTER!
DELETE_TOPICS: DELETE CLUSTER, DESCRIBE TOPIC, DELETE TOPIC
DESCRIBE_ACLS: DESCRIBE CLUSTER!
DESCRIBE_CLIENT_QUOTAS: DESCRIBE_CONFIGS CLUSTER!
DESCRIBE_CLUSTER: DESCRIBE CLUSTER
DESCRIBE_CONFIGS: DESCRIBE_CONFIGS CLUSTER, DESCRIBE_CONFIGS TOPIC, DESCRIBE_CONFIGS GROUP
DESCRIBE_DELEGATION_TOKEN: DESCRIBE DELEGATION_TOKEN, DESCRIBE_TOKENS USER
DESCRIBE_GROUPS: DESCRIBE GROUP
DESCRIBE_LOG_DIRS: DESCRIBE CLUSTER!
DESCRIBE_PRODUCERS: READ TOPIC
DESCRIBE_QUORUM: DESCRIBE CLUSTER!
DESCRIBE_SHARE_GROUP_OFFSETS: DESCRIBE GROUP, DESCRIBE TOPIC
DESCRIBE_TOPIC_PARTITIONS: DESCRIBE TOPIC
DESCRIBE_TRANSACTIONS: DESCRIBE TRANSACTIONAL_ID, DESCRIBE TOPIC
DESCRIBE_USER_SCRAM_CREDENTIALS: DESCRIBE CLUSTER!
ELECT_LEADERS: ALTER CLUSTER!
END_TXN: WRITE TRANSACTIONAL_ID
EXPIRE_DELEGATION_TOKEN:
END_QUORUM_EPOCH: CLUSTER_ACTION CLUSTER!
ENVELOPE: CLUSTER_ACTION CLUSTER!
FETCH: CLUSTER_ACTION CLUSTER, READ TOPIC
FETCH_SNAPSHOT: CLUSTER_ACTION CLUSTER!
FIND_COORDINATOR: DESCRIBE GROUP, DESCRIBE TRANSACTIONAL_ID, CLUSTER_ACTION CLUSTER
GET_TELEMETRY_SUBSCRIPTIONS:
HEARTBEAT: READ GROUP
INCREMENTAL_ALTER_CONFIGS: ALTER_CONFIGS CLUSTER, ALTER_CONFIGS TOPIC, ALTER_CONFIGS GROUP
INIT_PRODUCER_ID: WRITE TRANSACTIONAL_ID, TWO_PHASE_COMMIT TRANSACTIONAL_ID, IDEMPOTENT_WRITE CLUSTER, WRITE TOPIC
INITIALIZE_SHARE_GROUP_STATE: CLUSTER_ACTION CLUSTER!
JOIN_GROUP: READ GROUP
LEAVE_GROUP: READ GROUP
LIST_CONFIG_RESOURCES: DESCRIBE_CONFIGS CLUSTER!
LIST_GROUPS: DESCRIBE CLUSTER, DESCRIBE GROUP
LIST_OFFSETS: DESCRIBE TOPIC
LIST_PARTITION_REASSIGNMENTS: DESCRIBE CLUSTER!
LIST_TRANSACTIONS: DESCRIBE TRANSACTIONAL_ID
METADATA: DESCRIBE TOPIC, CREATE CLUSTER, CREATE TOPIC, DESCRIBE CLUSTER
OFFSET_COMMIT: READ GROUP, READ TOPIC
OFFSET_DELETE: DELETE GROUP, READ TOPIC
OFFSET_FETCH: DESCRIBE GROUP, DESCRIBE TOPIC
OFFSET_FOR_LEADER_EPOCH: CLUSTER_ACTION CLUSTER, DESCRIBE TOPIC
PRODUCE: WRITE TRANSACTIONAL_ID, WRITE TOPIC
PUSH_TELEMETRY:
READ_SHARE_GROUP_STATE: CLUSTER_ACTION CLUSTER!
READ_SHARE_GROUP_STATE_SUMMARY: CLUSTER_ACTION CLUSTER!
REMOVE_RAFT_VOTER: ALTER CLUSTER!
RENEW_DELEGATION_TOKEN:
SASL_AUTHENTICATE:
SASL_HANDSHAKE:
SHARE_ACKNOWLEDGE: READ GROUP, READ TOPIC
SHARE_FETCH: READ GROUP, READ TOPIC
SHARE_GROUP_DESCRIBE: DESCRIBE GROUP, DESCRIBE TOPIC
SHARE_GROUP_HEARTBEAT: READ GROUP, DESCRIBE TOPIC
STREAMS_GROUP_DESCRIBE: DESCRIBE GROUP, DESCRIBE TOPIC
STREAMS_GROUP_HEARTBEAT: READ GROUP, DESCRIBE TOPIC, CREATE CLUSTER, CREATE TOPIC
SYNC_GROUP: READ GROUP
TXN_OFFSET_COMMIT: WRITE TRANSACTIONAL_ID, READ GROUP, READ TOPIC
UNREGISTER_BROKER: ALTER CLUSTER!
UPDATE_FEATURES: ALTER CLUSTER!
UPDATE_RAFT_VOTER: CLUSTER_ACTION CLUSTER!
VOTE: CLUSTER_ACTION CLUSTER!
WRITE_SHARE_GROUP_STATE: CLUSTER_ACTION CLUSTER!
WRITE_TXN_MARKERS: ALTER CLUSTER, CLUSTER_ACTION CLUSTER
"""
"""Calls of `AuthHelper` in `kafka.server.KafkaApis`, `ControllerApis`, `AclApis` and `ConfigHelper` of Apache Kafka 4.3.1; `!` where it
refuses the whole request (`authorizeClusterOperation`, or an answer made with CLUSTER_AUTHORIZATION_FAILED). They are the rows of
"Operations and Resources on Protocols" in Kafka's documentation (Security, Authorization and ACLs), with these differences, where the
code counts: Produce asks for no IdempotentWrite; ElectLeaders asks for Alter, not ClusterAction; brokers need ClusterAction for
AddPartitionsToTxn from version 4 on and to find the coordinator of share state; Describe and DescribeConfigs on topics and groups, the
Cluster rows of DeleteTopics, Metadata and StreamsGroupHeartbeat, and TwoPhaseCommit are not in the documentation.
"""


def rows() -> dict[str, list[tuple[str, str, bool]]]:
    """(operation, type of resource, whether the whole request is refused) by the name of the API."""
    found = {}
    for line in GOLDEN.strip().splitlines():
        name, told = line.split(":")
        pairs = [each.split() for each in told.split(",") if each.strip()]
        found[name] = [(op, kind.removesuffix("!"), kind.endswith("!")) for op, kind in pairs]
    return found


ALSO_LOOKED_AT_BY_BROKERS: Final = {
    ApiKey.ALTER_CONFIGS, ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.RENEW_DELEGATION_TOKEN,
}  # fmt: skip
"""Loggers and pools of threads are the broker's own, and how a client has logged in is seen there alone."""

REFUSED_AS_A_WHOLE: Final = [
    handler
    for handler in HANDLERS.values()
    if any(refused for *_, refused in rows()[handler.api.key.name])
]


def test_every_api_says_what_kafka_asks_leave_for() -> None:
    said = {
        handler.api.key.name: [
            (each.operation.name, each.resource_type.name, each.refuses_request)
            for each in handler.api.permissions
        ]
        for handler in HANDLERS.values()
    }
    assert said == rows()


def test_an_api_that_says_nothing_cannot_be_built() -> None:
    with pytest.raises(TypeError, match="permissions"):
        ApiSpec(ApiKey.HEARTBEAT, versions=range(5))  # type: ignore[call-arg]  # what is shown


@pytest.mark.parametrize("handler", REFUSED_AS_A_WHOLE, ids=lambda handler: handler.api.key.name)
def test_a_request_that_is_refused_as_a_whole_is_answered_so_and_not_handled(
    handler: Handler,
) -> None:
    """The services are stand-ins: a handler that ran would fail on them."""
    api, authorizer = handler.api, ScriptedAuthorizer(refused=None)
    for version in api.versions:
        answer = answered(authorizer, api.key, version)
        if api.key is ApiKey.DESCRIBE_LOG_DIRS and version < 3:
            assert answer.results == []  # has no error at its top: an empty answer, as Kafka's
        elif api.key is ApiKey.ELECT_LEADERS and version == 0:
            assert set(error_codes(answer.replica_election_results)) == {
                CLUSTER_AUTHORIZATION_FAILED
            }
        else:
            assert set(error_codes(answer)) == {CLUSTER_AUTHORIZATION_FAILED}
    (operation,) = (each.operation for each in api.permissions if each.refuses_request)
    once = (operation, ResourceType.CLUSTER, CLUSTER_NAME)
    assert authorizer.asked == [once] * len(api.versions)
    assert set(map(id, authorizer.requesters)) == {id(CLIENT)}


def answered(authorizer: ScriptedAuthorizer, key: ApiKey, version: int) -> Any:
    request = filled_request(request_class(key), version, "group")
    frame = b"".join(bytes(piece) for piece in encode_request(key, version, 7, "c", request))[4:]
    answer: Any = dispatcher(authorizer, key).handle(memoryview(frame), CLIENT)
    return decode_response(key, version, memoryview(b"".join(map(bytes, answer))[4:]))[1]


def dispatcher(authorizer: ScriptedAuthorizer, key: ApiKey, **given: Any) -> Dispatcher:
    given = {
        "access": Access(authorizer),
        "clock": SystemClock(),
        "controller": GivenQuorum(1),
        "metrics": NodeMetrics(lambda: 0),
    } | given
    if key in BROKER_HANDLERS:
        return Dispatcher(handler_services(**given), BROKER_HANDLERS)
    return Dispatcher(controller_services(**given), CONTROLLER_HANDLERS)


def test_only_permissions_on_the_cluster_refuse_a_request() -> None:
    deciding = {
        each.resource_type
        for handler in HANDLERS.values()
        for each in handler.api.permissions
        if each.refuses_request
    }
    assert deciding == {ResourceType.CLUSTER}
    assert not Permission(Operation.READ, ResourceType.TOPIC).refuses_request


class Elsewhere(GivenQuorum):
    """The controller is another node, which this one hears of or not."""

    hears_leader = True

    def leads(self) -> bool:
        return False

    def is_elsewhere(self) -> bool:
        return True

    def quorum(self) -> QuorumDescription:
        return replace(super().quorum(), own=ReplicaState(hears_leader=self.hears_leader))

    async def forward(self, key: ApiKey, _request: Message, caller: RequestContext) -> Message:
        assert caller.connection is CLIENT
        return response_class(key)()


def frame_for(api: ApiSpec) -> memoryview:
    request = filled_request(request_class(api.key), api.highest, "group")
    pieces = encode_request(api.key, api.highest, 7, "c", request)
    return memoryview(b"".join(map(bytes, pieces))[4:])


def test_a_broker_asks_nothing_about_what_it_passes_on() -> None:
    """The node of the controller asks, for the client's principal and address."""
    passed_on = [handler.api for handler in BROKER_HANDLERS.values() if handler.api.is_forwarded]
    assert {api.key for api in passed_on} == FORWARDABLE - ALSO_LOOKED_AT_BY_BROKERS
    authorizer = ScriptedAuthorizer(refused=None)
    for api in passed_on:
        asked = dispatcher(authorizer, api.key, controller=Elsewhere(2))
        handled: Any = asked.handle(frame_for(api), CLIENT)
        asyncio.run(handled)
    assert authorizer.asked == []


def test_whom_the_quorum_lacks_is_told_to_who_may_describe_the_cluster() -> None:
    """Where nobody leads, nobody else could ask for it."""
    alone = Elsewhere(2)
    alone.hears_leader = False
    told = []
    for refused in (None, frozenset[tuple[Operation, ResourceType]]()):
        asked = dispatcher(ScriptedAuthorizer(refused), ApiKey.DESCRIBE_QUORUM, controller=alone)
        answer: Any = asked.handle(frame_for(describe_quorum.API), CLIENT)
        frame = memoryview(b"".join(map(bytes, answer)))[4:]
        response = decode_response(ApiKey.DESCRIBE_QUORUM, 2, frame)[1]
        told.append((response.error_code, "has no leader that answers" in response.error_message))
    assert told == [
        (ClusterAuthorizationFailed.code, False),
        (NotLeaderOrFollower.code, True),
    ]
