"""The API table: keys, versions and headers, written out as the reference release announces them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from millstream.protocol.api import (
    CONTROLLER_APIS,
    VERSIONS,
    ApiKey,
    request_class,
    request_header_version,
    response_class,
    response_header_version,
)

# key, name, lowest and highest version, first flexible version (- for none); Apache Kafka 4.3.1
TABLE = """
0 PRODUCE 3-13 9
1 FETCH 4-18 12
2 LIST_OFFSETS 1-11 6
3 METADATA 0-13 9
8 OFFSET_COMMIT 2-10 8
9 OFFSET_FETCH 1-10 6
10 FIND_COORDINATOR 0-6 3
11 JOIN_GROUP 0-9 6
12 HEARTBEAT 0-4 4
13 LEAVE_GROUP 0-5 4
14 SYNC_GROUP 0-5 4
15 DESCRIBE_GROUPS 0-6 5
16 LIST_GROUPS 0-5 3
17 SASL_HANDSHAKE 0-1 -
18 API_VERSIONS 0-4 3
19 CREATE_TOPICS 2-7 5
20 DELETE_TOPICS 1-6 4
21 DELETE_RECORDS 0-2 2
22 INIT_PRODUCER_ID 0-5 2
23 OFFSET_FOR_LEADER_EPOCH 2-4 4
24 ADD_PARTITIONS_TO_TXN 0-5 3
25 ADD_OFFSETS_TO_TXN 0-4 3
26 END_TXN 0-5 3
27 WRITE_TXN_MARKERS 1-2 1
28 TXN_OFFSET_COMMIT 0-5 3
29 DESCRIBE_ACLS 1-3 2
30 CREATE_ACLS 1-3 2
31 DELETE_ACLS 1-3 2
32 DESCRIBE_CONFIGS 1-4 4
33 ALTER_CONFIGS 0-2 2
34 ALTER_REPLICA_LOG_DIRS 1-2 2
35 DESCRIBE_LOG_DIRS 1-5 2
36 SASL_AUTHENTICATE 0-2 2
37 CREATE_PARTITIONS 0-3 2
38 CREATE_DELEGATION_TOKEN 1-3 2
39 RENEW_DELEGATION_TOKEN 1-2 2
40 EXPIRE_DELEGATION_TOKEN 1-2 2
41 DESCRIBE_DELEGATION_TOKEN 1-3 2
42 DELETE_GROUPS 0-2 2
43 ELECT_LEADERS 0-2 2
44 INCREMENTAL_ALTER_CONFIGS 0-1 1
45 ALTER_PARTITION_REASSIGNMENTS 0-1 0
46 LIST_PARTITION_REASSIGNMENTS 0-0 0
47 OFFSET_DELETE 0-0 -
48 DESCRIBE_CLIENT_QUOTAS 0-1 1
49 ALTER_CLIENT_QUOTAS 0-1 1
50 DESCRIBE_USER_SCRAM_CREDENTIALS 0-0 0
51 ALTER_USER_SCRAM_CREDENTIALS 0-0 0
52 VOTE 0-2 0
53 BEGIN_QUORUM_EPOCH 0-1 1
54 END_QUORUM_EPOCH 0-1 1
55 DESCRIBE_QUORUM 0-2 0
56 ALTER_PARTITION 2-3 2
57 UPDATE_FEATURES 0-2 0
58 ENVELOPE 0-0 0
59 FETCH_SNAPSHOT 0-1 0
60 DESCRIBE_CLUSTER 0-2 0
61 DESCRIBE_PRODUCERS 0-0 0
62 BROKER_REGISTRATION 0-4 0
63 BROKER_HEARTBEAT 0-2 0
64 UNREGISTER_BROKER 0-0 0
65 DESCRIBE_TRANSACTIONS 0-0 0
66 LIST_TRANSACTIONS 0-2 0
67 ALLOCATE_PRODUCER_IDS 0-0 0
68 CONSUMER_GROUP_HEARTBEAT 0-1 0
69 CONSUMER_GROUP_DESCRIBE 0-1 0
70 CONTROLLER_REGISTRATION 0-0 0
71 GET_TELEMETRY_SUBSCRIPTIONS 0-0 0
72 PUSH_TELEMETRY 0-0 0
73 ASSIGN_REPLICAS_TO_DIRS 0-0 0
74 LIST_CONFIG_RESOURCES 0-1 0
75 DESCRIBE_TOPIC_PARTITIONS 0-0 0
76 SHARE_GROUP_HEARTBEAT 1-1 1
77 SHARE_GROUP_DESCRIBE 1-1 1
78 SHARE_FETCH 1-2 1
79 SHARE_ACKNOWLEDGE 1-2 1
80 ADD_RAFT_VOTER 0-1 0
81 REMOVE_RAFT_VOTER 0-0 0
82 UPDATE_RAFT_VOTER 0-0 0
83 INITIALIZE_SHARE_GROUP_STATE 0-0 0
84 READ_SHARE_GROUP_STATE 0-0 0
85 WRITE_SHARE_GROUP_STATE 0-1 0
86 DELETE_SHARE_GROUP_STATE 0-0 0
87 READ_SHARE_GROUP_STATE_SUMMARY 0-1 0
88 STREAMS_GROUP_HEARTBEAT 0-0 0
89 STREAMS_GROUP_DESCRIBE 0-0 0
90 DESCRIBE_SHARE_GROUP_OFFSETS 0-1 0
91 ALTER_SHARE_GROUP_OFFSETS 0-0 0
92 DELETE_SHARE_GROUP_OFFSETS 0-0 0
"""
CONTROLLER_KEYS = {
    *(1, *range(17, 21), *range(29, 34), *range(36, 42), *range(43, 47)),
    *(*range(49, 61), *range(62, 65), 67, 70, 73, *range(80, 83)),
}


def test_keys_and_versions_are_those_of_kafka_4_3() -> None:
    announced = [
        f"{key.value} {key.name} {versions.lowest}-{versions.highest} "
        f"{'-' if versions.first_flexible is None else versions.first_flexible}"
        for key, versions in VERSIONS.items()
    ]
    assert announced == TABLE.strip().splitlines()


def test_a_controller_listens_to_the_keys_that_kafkas_does() -> None:
    assert {key.value for key in CONTROLLER_APIS} == CONTROLLER_KEYS


@pytest.mark.parametrize("key", list(ApiKey), ids=lambda key: key.name)
def test_the_messages_of_an_api_carry_its_key_and_versions(key: ApiKey) -> None:
    for kind in (request_class(key), response_class(key)):
        assert key == kind.KEY
        assert VERSIONS[key].lowest == kind.LOWEST_VERSION
        assert VERSIONS[key].first_flexible == kind.FIRST_FLEXIBLE_VERSION
        unstable = 1 if key is ApiKey.INIT_PRODUCER_ID else 0  # version 6 is not announced yet
        assert VERSIONS[key].highest + unstable == kind.HIGHEST_VERSION


@pytest.mark.parametrize(("version", "request_header", "response_header"), [(11, 1, 0), (12, 2, 1)])
def test_flexible_versions_have_flexible_headers(
    version: int, request_header: int, response_header: int
) -> None:
    assert request_header_version(ApiKey.FETCH, version) == request_header
    assert response_header_version(ApiKey.FETCH, version) == response_header


@pytest.mark.parametrize("version", [0, 2, 3, 4])
def test_an_api_versions_response_always_has_the_oldest_header(version: int) -> None:
    """KIP-511: the client does not know yet whether the broker speaks flexible versions."""
    assert response_header_version(ApiKey.API_VERSIONS, version) == 0


def test_importing_the_table_loads_no_message() -> None:
    code = (
        "import sys, millstream.protocol.api; "
        "print([m for m in sys.modules if m.startswith('millstream.protocol.generated.')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['millstream.protocol.generated.api_keys']"
