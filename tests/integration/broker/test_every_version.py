"""Each served API answers in each version it announces, with and without content, as Kafka 4.3.1 does.

The errors were compared with a Kafka 4.3.1 that was asked the same. It closes the connection where a rule of access names no
kind of resource, and does not answer a Produce without records nor an AddPartitionsToTxn without transactions at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from millstream.broker.requests.registry import BROKER_HANDLERS
from millstream.errors import TopicAlreadyExists, error_for
from millstream.model import ZERO_UUID, uuid_text
from millstream.protocol.api import VERSIONS, ApiKey, request_class, response_class
from millstream.protocol.frames import decode_response_header
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.testing.broker import Broker
from tests.filled_requests import error_codes, filled_request
from tests.patience import wait_until
from tests.support.clients.raw_client import RawClient, batch_of, request_frame

EVERY = [
    (key, version) for key, handler in BROKER_HANDLERS.items() for version in handler.api.versions
]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(in_process=True, settings={"group.initial.rebalance.delay.ms": "0"}) as running:
        with RawClient(running.bootstrap_servers) as client:
            for kind, name in enumerate(
                ("group", "transaction", f"group:{uuid_text(ZERO_UUID)}:0")
            ):
                wait_until(partial(has_coordinator, client, kind, name))
        yield running


def has_coordinator(client: RawClient, kind: int, name: str) -> bool:
    """Of groups, transactions, share groups: it has loaded what it keeps and answers."""
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[name])
    found = client.ask(ApiKey.FIND_COORDINATOR, 6, request)
    return bool(found.coordinators[0].error_code == 0)


def known_topic(client: RawClient) -> None:
    """`known` with a record; a request before this one may have deleted it."""
    topic = CreatableTopic(name="known", num_partitions=1, replication_factor=1)
    created = client.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic]))
    if created.topics[0].error_code != TopicAlreadyExists.code:
        assert client.produce("known", batch_of(b"x")).error_code == 0


EXPECTED: dict[ApiKey, tuple[str | dict[int, str], str | dict[int, str]]] = {
    ApiKey.ADD_OFFSETS_TO_TXN: ("InvalidRequest", "InvalidRequest"),
    ApiKey.ADD_PARTITIONS_TO_TXN: ("NONE", "InvalidRequest NONE"),
    ApiKey.ADD_RAFT_VOTER: ("InconsistentClusterId", "InconsistentClusterId"),
    ApiKey.ALTER_CLIENT_QUOTAS: ("", "InvalidRequest"),
    ApiKey.ALTER_CONFIGS: ("", "InvalidConfig"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: ("NONE", "NONE NoReassignmentInProgress"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: ("", "LogDirNotFound"),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: ("InvalidGroupId", "NONE UnknownTopicOrPartition"),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: ("", "UnsupportedSaslMechanism"),
    ApiKey.API_VERSIONS: ({0: "NONE", 3: "InvalidRequest"}, "NONE"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ("", "GroupIdNotFound"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ("InvalidRequest", "InvalidRequest"),
    ApiKey.CREATE_ACLS: ("", "SecurityDisabled"),
    ApiKey.CREATE_DELEGATION_TOKEN: ("DelegationTokenRequestNotAllowed", "DelegationTokenRequestNotAllowed"),
    ApiKey.CREATE_PARTITIONS: ("", "InvalidPartitions"),
    ApiKey.CREATE_TOPICS: ("", "TopicAlreadyExists"),
    ApiKey.DELETE_ACLS: ("", "SecurityDisabled"),
    ApiKey.DELETE_GROUPS: ("", "GroupIdNotFound"),
    ApiKey.DELETE_RECORDS: ("", "NONE"),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: ("InvalidGroupId", "GroupIdNotFound"),
    ApiKey.DELETE_SHARE_GROUP_STATE: ("", "UnknownTopicOrPartition"),
    ApiKey.DELETE_TOPICS: ("", "NONE"),
    ApiKey.DESCRIBE_ACLS: ("SecurityDisabled", "SecurityDisabled"),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: ("NONE", "InvalidRequest"),
    ApiKey.DESCRIBE_CLUSTER: ("NONE", "NONE"),
    ApiKey.DESCRIBE_CONFIGS: ("", "NONE"),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: ("DelegationTokenRequestNotAllowed", "DelegationTokenRequestNotAllowed"),
    ApiKey.DESCRIBE_GROUPS: ("", {0: "NONE", 6: "GroupIdNotFound"}),
    ApiKey.DESCRIBE_LOG_DIRS: ("NONE", "NONE"),
    ApiKey.DESCRIBE_PRODUCERS: ("", "NONE"),
    ApiKey.DESCRIBE_QUORUM: ("NONE", "NONE UnknownTopicOrPartition"),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: ("", "NONE"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ("NONE", "NONE"),
    ApiKey.DESCRIBE_TRANSACTIONS: ("", "TransactionalIdNotFound"),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: ("NONE", "NONE ResourceNotFound"),
    ApiKey.ELECT_LEADERS: ("NONE", "ElectionNotNeeded NONE"),
    ApiKey.END_TXN: ("InvalidRequest", "InvalidRequest"),
    ApiKey.EXPIRE_DELEGATION_TOKEN: ("DelegationTokenRequestNotAllowed", "DelegationTokenRequestNotAllowed"),
    ApiKey.FETCH: ("NONE", {4: "NONE", 13: "NONE UnknownTopicId"}),
    ApiKey.FIND_COORDINATOR: ("NONE", "NONE"),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: ("NONE", "NONE"),
    ApiKey.HEARTBEAT: ("InvalidGroupId", "UnknownMemberId"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ("", "InvalidConfig"),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: ("", "UnknownTopicOrPartition"),
    ApiKey.INIT_PRODUCER_ID: ("NONE", "NONE"),
    ApiKey.JOIN_GROUP: ("InvalidGroupId", {0: "NONE", 4: "MemberIdRequired"}),
    ApiKey.LEAVE_GROUP: ("InvalidGroupId", {0: "UnknownMemberId", 3: "NONE UnknownMemberId"}),
    ApiKey.LIST_CONFIG_RESOURCES: ("NONE", "NONE"),
    ApiKey.LIST_GROUPS: ("NONE", "NONE"),
    ApiKey.LIST_OFFSETS: ("", "NONE"),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: ("NONE", "NONE"),
    ApiKey.LIST_TRANSACTIONS: ("NONE", "NONE"),
    ApiKey.METADATA: ("NONE", "NONE"),
    ApiKey.OFFSET_COMMIT: ("", {2: "NONE", 10: "UnknownTopicId"}),
    ApiKey.OFFSET_DELETE: ("InvalidGroupId", "GroupIdNotFound"),
    ApiKey.OFFSET_FETCH: ("NONE", {1: "NONE", 10: "NONE UnknownTopicId"}),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ("", "NONE"),
    ApiKey.PRODUCE: ("", {3: "InvalidRecord", 13: "UnknownTopicId"}),
    ApiKey.PUSH_TELEMETRY: ("InvalidRequest", "InvalidRequest"),
    ApiKey.READ_SHARE_GROUP_STATE: ("", "InvalidRequest"),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: ("", "UnknownTopicOrPartition"),
    ApiKey.REMOVE_RAFT_VOTER: ("InconsistentClusterId", "InconsistentClusterId"),
    ApiKey.RENEW_DELEGATION_TOKEN: ("DelegationTokenRequestNotAllowed", "DelegationTokenRequestNotAllowed"),
    ApiKey.SASL_AUTHENTICATE: ("IllegalSaslState", "IllegalSaslState"),
    ApiKey.SASL_HANDSHAKE: ("IllegalSaslState", "IllegalSaslState"),
    ApiKey.SHARE_ACKNOWLEDGE: ("InvalidRequest", "InvalidRequest"),
    ApiKey.SHARE_FETCH: ("InvalidRequest", "InvalidRequest"),
    ApiKey.SHARE_GROUP_DESCRIBE: ("", "GroupIdNotFound"),
    ApiKey.SHARE_GROUP_HEARTBEAT: ("InvalidRequest", "InvalidRequest"),
    ApiKey.STREAMS_GROUP_DESCRIBE: ("", "GroupIdNotFound"),
    ApiKey.STREAMS_GROUP_HEARTBEAT: ("InvalidRequest", "InvalidRequest"),
    ApiKey.SYNC_GROUP: ({0: "InvalidGroupId", 5: "InconsistentGroupProtocol"}, {0: "UnknownMemberId", 5: "InconsistentGroupProtocol"}),
    ApiKey.TXN_OFFSET_COMMIT: ("", "InvalidRequest"),
    ApiKey.UNREGISTER_BROKER: ("BrokerIdNotRegistered", "BrokerIdNotRegistered"),
    ApiKey.UPDATE_FEATURES: ("NONE", "InvalidUpdateVersion"),
    ApiKey.WRITE_SHARE_GROUP_STATE: ("", "InvalidRequest"),
    ApiKey.WRITE_TXN_MARKERS: ("", "NONE"),
}  # fmt: skip
"""The errors in the answer to an empty request and to a filled one; where versions differ, by the first that has them."""


def test_what_is_served_is_what_kafka_4_3_serves() -> None:
    for key, handler in BROKER_HANDLERS.items():
        assert (handler.api.lowest, handler.api.highest) == VERSIONS[key][:2], key.name


@pytest.mark.parametrize(("key", "version"), EVERY, ids=[f"{key.name}-{v}" for key, v in EVERY])
@pytest.mark.parametrize("content", ["empty", "filled"])
def test_every_version_is_answered(broker: Broker, key: ApiKey, version: int, content: str) -> None:
    """With the errors that belong to it, in bytes that are those of the version and no others."""
    kind = request_class(key)
    group = f"{key.name}-{version}"
    request = kind() if content == "empty" else filled_request(kind, version, group)
    if key is ApiKey.INIT_PRODUCER_ID:
        request.transactional_id = None
    if key is ApiKey.PRODUCE:
        request.acks = 1
    with RawClient(broker.bootstrap_servers) as client:
        known_topic(client)
        client.send(request_frame(key, version, request, correlation_id=77))
        frame = memoryview(client.read_frame())
    header, start = decode_response_header(key, version, frame)
    answer = response_class(key).decode(frame, start, version)[0]
    body = bytearray()
    answer.encode(body, version)
    assert (header.correlation_id, bytes(frame[start:])) == (77, bytes(body))
    told = {"NONE" if code == 0 else type(error_for(code)).__name__ for code in error_codes(answer)}
    expected = EXPECTED[key][content == "filled"]
    assert told == set(of_version(expected, version).split()), answer


def of_version(expected: str | dict[int, str], version: int) -> str:
    if isinstance(expected, str):
        return expected
    return expected[max(first for first in expected if first <= version)]
