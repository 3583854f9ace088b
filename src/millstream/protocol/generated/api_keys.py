"""The API table of Kafka 4.3: keys, versions, and where the messages are.

Written by `make codegen` from codegen/schemas.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class ApiKey(IntEnum):
    """What a request asks for; the first field of its header."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


API_VERSIONS: Final[dict[ApiKey, tuple[int, int, int | None]]] = {
    ApiKey.PRODUCE: (3, 13, 9),
    ApiKey.FETCH: (4, 18, 12),
    ApiKey.LIST_OFFSETS: (1, 11, 6),
    ApiKey.METADATA: (0, 13, 9),
    ApiKey.OFFSET_COMMIT: (2, 10, 8),
    ApiKey.OFFSET_FETCH: (1, 10, 6),
    ApiKey.FIND_COORDINATOR: (0, 6, 3),
    ApiKey.JOIN_GROUP: (0, 9, 6),
    ApiKey.HEARTBEAT: (0, 4, 4),
    ApiKey.LEAVE_GROUP: (0, 5, 4),
    ApiKey.SYNC_GROUP: (0, 5, 4),
    ApiKey.DESCRIBE_GROUPS: (0, 6, 5),
    ApiKey.LIST_GROUPS: (0, 5, 3),
    ApiKey.SASL_HANDSHAKE: (0, 1, None),
    ApiKey.API_VERSIONS: (0, 4, 3),
    ApiKey.CREATE_TOPICS: (2, 7, 5),
    ApiKey.DELETE_TOPICS: (1, 6, 4),
    ApiKey.DELETE_RECORDS: (0, 2, 2),
    ApiKey.INIT_PRODUCER_ID: (0, 5, 2),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 4, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5, 3),
    ApiKey.ADD_OFFSETS_TO_TXN: (0, 4, 3),
    ApiKey.END_TXN: (0, 5, 3),
    ApiKey.WRITE_TXN_MARKERS: (1, 2, 1),
    ApiKey.TXN_OFFSET_COMMIT: (0, 5, 3),
    ApiKey.DESCRIBE_ACLS: (1, 3, 2),
    ApiKey.CREATE_ACLS: (1, 3, 2),
    ApiKey.DELETE_ACLS: (1, 3, 2),
    ApiKey.DESCRIBE_CONFIGS: (1, 4, 4),
    ApiKey.ALTER_CONFIGS: (0, 2, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (1, 2, 2),
    ApiKey.DESCRIBE_LOG_DIRS: (1, 5, 2),
    ApiKey.SASL_AUTHENTICATE: (0, 2, 2),
    ApiKey.CREATE_PARTITIONS: (0, 3, 2),
    ApiKey.CREATE_DELEGATION_TOKEN: (1, 3, 2),
    ApiKey.RENEW_DELEGATION_TOKEN: (1, 2, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (1, 2, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (1, 3, 2),
    ApiKey.DELETE_GROUPS: (0, 2, 2),
    ApiKey.ELECT_LEADERS: (0, 2, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 1, 0),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (0, 0, 0),
    ApiKey.OFFSET_DELETE: (0, 0, None),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (0, 1, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: (0, 1, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (0, 0, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (0, 0, 0),
    ApiKey.VOTE: (0, 2, 0),
    ApiKey.BEGIN_QUORUM_EPOCH: (0, 1, 1),
    ApiKey.END_QUORUM_EPOCH: (0, 1, 1),
    ApiKey.DESCRIBE_QUORUM: (0, 2, 0),
    ApiKey.ALTER_PARTITION: (2, 3, 2),
    ApiKey.UPDATE_FEATURES: (0, 2, 0),
    ApiKey.ENVELOPE: (0, 0, 0),
    ApiKey.FETCH_SNAPSHOT: (0, 1, 0),
    ApiKey.DESCRIBE_CLUSTER: (0, 2, 0),
    ApiKey.DESCRIBE_PRODUCERS: (0, 0, 0),
    ApiKey.BROKER_REGISTRATION: (0, 4, 0),
    ApiKey.BROKER_HEARTBEAT: (0, 2, 0),
    ApiKey.UNREGISTER_BROKER: (0, 0, 0),
    ApiKey.DESCRIBE_TRANSACTIONS: (0, 0, 0),
    ApiKey.LIST_TRANSACTIONS: (0, 2, 0),
    ApiKey.ALLOCATE_PRODUCER_IDS: (0, 0, 0),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (0, 1, 0),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (0, 1, 0),
    ApiKey.CONTROLLER_REGISTRATION: (0, 0, 0),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: (0, 0, 0),
    ApiKey.PUSH_TELEMETRY: (0, 0, 0),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: (0, 0, 0),
    ApiKey.LIST_CONFIG_RESOURCES: (0, 1, 0),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (0, 0, 0),
    ApiKey.SHARE_GROUP_HEARTBEAT: (1, 1, 1),
    ApiKey.SHARE_GROUP_DESCRIBE: (1, 1, 1),
    ApiKey.SHARE_FETCH: (1, 2, 1),
    ApiKey.SHARE_ACKNOWLEDGE: (1, 2, 1),
    ApiKey.ADD_RAFT_VOTER: (0, 1, 0),
    ApiKey.REMOVE_RAFT_VOTER: (0, 0, 0),
    ApiKey.UPDATE_RAFT_VOTER: (0, 0, 0),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (0, 0, 0),
    ApiKey.READ_SHARE_GROUP_STATE: (0, 0, 0),
    ApiKey.WRITE_SHARE_GROUP_STATE: (0, 1, 0),
    ApiKey.DELETE_SHARE_GROUP_STATE: (0, 0, 0),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (0, 1, 0),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (0, 0, 0),
    ApiKey.STREAMS_GROUP_DESCRIBE: (0, 0, 0),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (0, 1, 0),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (0, 0, 0),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (0, 0, 0),
}
"""Lowest version, highest that is stable, first flexible one or None."""

API_MODULES: Final[dict[ApiKey, tuple[str, str]]] = {
    ApiKey.PRODUCE: ("produce", "Produce"),
    ApiKey.FETCH: ("fetch", "Fetch"),
    ApiKey.LIST_OFFSETS: ("list_offsets", "ListOffsets"),
    ApiKey.METADATA: ("metadata", "Metadata"),
    ApiKey.OFFSET_COMMIT: ("offset_commit", "OffsetCommit"),
    ApiKey.OFFSET_FETCH: ("offset_fetch", "OffsetFetch"),
    ApiKey.FIND_COORDINATOR: ("find_coordinator", "FindCoordinator"),
    ApiKey.JOIN_GROUP: ("join_group", "JoinGroup"),
    ApiKey.HEARTBEAT: ("heartbeat", "Heartbeat"),
    ApiKey.LEAVE_GROUP: ("leave_group", "LeaveGroup"),
    ApiKey.SYNC_GROUP: ("sync_group", "SyncGroup"),
    ApiKey.DESCRIBE_GROUPS: ("describe_groups", "DescribeGroups"),
    ApiKey.LIST_GROUPS: ("list_groups", "ListGroups"),
    ApiKey.SASL_HANDSHAKE: ("sasl_handshake", "SaslHandshake"),
    ApiKey.API_VERSIONS: ("api_versions", "ApiVersions"),
    ApiKey.CREATE_TOPICS: ("create_topics", "CreateTopics"),
    ApiKey.DELETE_TOPICS: ("delete_topics", "DeleteTopics"),
    ApiKey.DELETE_RECORDS: ("delete_records", "DeleteRecords"),
    ApiKey.INIT_PRODUCER_ID: ("init_producer_id", "InitProducerId"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ("offset_for_leader_epoch", "OffsetForLeaderEpoch"),
    ApiKey.ADD_PARTITIONS_TO_TXN: ("add_partitions_to_txn", "AddPartitionsToTxn"),
    ApiKey.ADD_OFFSETS_TO_TXN: ("add_offsets_to_txn", "AddOffsetsToTxn"),
    ApiKey.END_TXN: ("end_txn", "EndTxn"),
    ApiKey.WRITE_TXN_MARKERS: ("write_txn_markers", "WriteTxnMarkers"),
    ApiKey.TXN_OFFSET_COMMIT: ("txn_offset_commit", "TxnOffsetCommit"),
    ApiKey.DESCRIBE_ACLS: ("describe_acls", "DescribeAcls"),
    ApiKey.CREATE_ACLS: ("create_acls", "CreateAcls"),
    ApiKey.DELETE_ACLS: ("delete_acls", "DeleteAcls"),
    ApiKey.DESCRIBE_CONFIGS: ("describe_configs", "DescribeConfigs"),
    ApiKey.ALTER_CONFIGS: ("alter_configs", "AlterConfigs"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: ("alter_replica_log_dirs", "AlterReplicaLogDirs"),
    ApiKey.DESCRIBE_LOG_DIRS: ("describe_log_dirs", "DescribeLogDirs"),
    ApiKey.SASL_AUTHENTICATE: ("sasl_authenticate", "SaslAuthenticate"),
    ApiKey.CREATE_PARTITIONS: ("create_partitions", "CreatePartitions"),
    ApiKey.CREATE_DELEGATION_TOKEN: ("create_delegation_token", "CreateDelegationToken"),
    ApiKey.RENEW_DELEGATION_TOKEN: ("renew_delegation_token", "RenewDelegationToken"),
    ApiKey.EXPIRE_DELEGATION_TOKEN: ("expire_delegation_token", "ExpireDelegationToken"),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: ("describe_delegation_token", "DescribeDelegationToken"),
    ApiKey.DELETE_GROUPS: ("delete_groups", "DeleteGroups"),
    ApiKey.ELECT_LEADERS: ("elect_leaders", "ElectLeaders"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ("incremental_alter_configs", "IncrementalAlterConfigs"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: ("alter_partition_reassignments", "AlterPartitionReassignments"),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: ("list_partition_reassignments", "ListPartitionReassignments"),
    ApiKey.OFFSET_DELETE: ("offset_delete", "OffsetDelete"),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: ("describe_client_quotas", "DescribeClientQuotas"),
    ApiKey.ALTER_CLIENT_QUOTAS: ("alter_client_quotas", "AlterClientQuotas"),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: ("describe_user_scram_credentials", "DescribeUserScramCredentials"),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: ("alter_user_scram_credentials", "AlterUserScramCredentials"),
    ApiKey.VOTE: ("vote", "Vote"),
    ApiKey.BEGIN_QUORUM_EPOCH: ("begin_quorum_epoch", "BeginQuorumEpoch"),
    ApiKey.END_QUORUM_EPOCH: ("end_quorum_epoch", "EndQuorumEpoch"),
    ApiKey.DESCRIBE_QUORUM: ("describe_quorum", "DescribeQuorum"),
    ApiKey.ALTER_PARTITION: ("alter_partition", "AlterPartition"),
    ApiKey.UPDATE_FEATURES: ("update_features", "UpdateFeatures"),
    ApiKey.ENVELOPE: ("envelope", "Envelope"),
    ApiKey.FETCH_SNAPSHOT: ("fetch_snapshot", "FetchSnapshot"),
    ApiKey.DESCRIBE_CLUSTER: ("describe_cluster", "DescribeCluster"),
    ApiKey.DESCRIBE_PRODUCERS: ("describe_producers", "DescribeProducers"),
    ApiKey.BROKER_REGISTRATION: ("broker_registration", "BrokerRegistration"),
    ApiKey.BROKER_HEARTBEAT: ("broker_heartbeat", "BrokerHeartbeat"),
    ApiKey.UNREGISTER_BROKER: ("unregister_broker", "UnregisterBroker"),
    ApiKey.DESCRIBE_TRANSACTIONS: ("describe_transactions", "DescribeTransactions"),
    ApiKey.LIST_TRANSACTIONS: ("list_transactions", "ListTransactions"),
    ApiKey.ALLOCATE_PRODUCER_IDS: ("allocate_producer_ids", "AllocateProducerIds"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ("consumer_group_heartbeat", "ConsumerGroupHeartbeat"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ("consumer_group_describe", "ConsumerGroupDescribe"),
    ApiKey.CONTROLLER_REGISTRATION: ("controller_registration", "ControllerRegistration"),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: ("get_telemetry_subscriptions", "GetTelemetrySubscriptions"),
    ApiKey.PUSH_TELEMETRY: ("push_telemetry", "PushTelemetry"),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: ("assign_replicas_to_dirs", "AssignReplicasToDirs"),
    ApiKey.LIST_CONFIG_RESOURCES: ("list_config_resources", "ListConfigResources"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ("describe_topic_partitions", "DescribeTopicPartitions"),
    ApiKey.SHARE_GROUP_HEARTBEAT: ("share_group_heartbeat", "ShareGroupHeartbeat"),
    ApiKey.SHARE_GROUP_DESCRIBE: ("share_group_describe", "ShareGroupDescribe"),
    ApiKey.SHARE_FETCH: ("share_fetch", "ShareFetch"),
    ApiKey.SHARE_ACKNOWLEDGE: ("share_acknowledge", "ShareAcknowledge"),
    ApiKey.ADD_RAFT_VOTER: ("add_raft_voter", "AddRaftVoter"),
    ApiKey.REMOVE_RAFT_VOTER: ("remove_raft_voter", "RemoveRaftVoter"),
    ApiKey.UPDATE_RAFT_VOTER: ("update_raft_voter", "UpdateRaftVoter"),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: ("initialize_share_group_state", "InitializeShareGroupState"),
    ApiKey.READ_SHARE_GROUP_STATE: ("read_share_group_state", "ReadShareGroupState"),
    ApiKey.WRITE_SHARE_GROUP_STATE: ("write_share_group_state", "WriteShareGroupState"),
    ApiKey.DELETE_SHARE_GROUP_STATE: ("delete_share_group_state", "DeleteShareGroupState"),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: ("read_share_group_state_summary", "ReadShareGroupStateSummary"),
    ApiKey.STREAMS_GROUP_HEARTBEAT: ("streams_group_heartbeat", "StreamsGroupHeartbeat"),
    ApiKey.STREAMS_GROUP_DESCRIBE: ("streams_group_describe", "StreamsGroupDescribe"),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: ("describe_share_group_offsets", "DescribeShareGroupOffsets"),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: ("alter_share_group_offsets", "AlterShareGroupOffsets"),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: ("delete_share_group_offsets", "DeleteShareGroupOffsets"),
}
"""Module, and the name that `Request` and `Response` are appended to."""

CONTROLLER_APIS: Final = frozenset({
    ApiKey.FETCH,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.ALTER_PARTITION,
    ApiKey.UPDATE_FEATURES,
    ApiKey.ENVELOPE,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.CONTROLLER_REGISTRATION,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.UPDATE_RAFT_VOTER,
})
"""Served on a controller's listener."""

BROKER_APIS: Final = frozenset({
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_RECORDS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.DELETE_GROUPS,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.OFFSET_DELETE,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.UPDATE_FEATURES,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.DESCRIBE_TRANSACTIONS,
    ApiKey.LIST_TRANSACTIONS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
    ApiKey.PUSH_TELEMETRY,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    ApiKey.STREAMS_GROUP_DESCRIBE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
})
"""Served on a broker's listener."""
