"""Every API that the broker does not serve, and why. A test holds this list and the registry to be exact complements."""

from __future__ import annotations

from millstream.protocol.api import ApiKey

_TOPICS = "administration of topics beyond create, delete and add partitions: not built yet"
_SHARE = "share groups (KIP-932): not built yet"
_SECURITY = "authentication and authorization: not built yet"
_QUOTAS = "quotas: not built yet"
_QUORUM = "more than one node: not built yet"

SKIPPED: dict[ApiKey, str] = {
    ApiKey.DELETE_RECORDS: _TOPICS,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _TOPICS,
    ApiKey.DESCRIBE_LOG_DIRS: _TOPICS,
    ApiKey.ELECT_LEADERS: _QUORUM,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _QUORUM,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _QUORUM,
    ApiKey.SASL_HANDSHAKE: _SECURITY,
    ApiKey.SASL_AUTHENTICATE: _SECURITY,
    ApiKey.DESCRIBE_ACLS: _SECURITY,
    ApiKey.CREATE_ACLS: _SECURITY,
    ApiKey.DELETE_ACLS: _SECURITY,
    ApiKey.CREATE_DELEGATION_TOKEN: _SECURITY,
    ApiKey.RENEW_DELEGATION_TOKEN: _SECURITY,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _SECURITY,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _SECURITY,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _SECURITY,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _SECURITY,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS: _QUOTAS,
    ApiKey.VOTE: _QUORUM,
    ApiKey.BEGIN_QUORUM_EPOCH: _QUORUM,
    ApiKey.END_QUORUM_EPOCH: _QUORUM,
    ApiKey.DESCRIBE_QUORUM: _QUORUM,
    ApiKey.ALTER_PARTITION: _QUORUM,
    ApiKey.UPDATE_FEATURES: "feature levels are fixed when the directory is formatted; changing them: not built yet",
    ApiKey.ENVELOPE: _QUORUM,
    ApiKey.FETCH_SNAPSHOT: _QUORUM,
    ApiKey.BROKER_REGISTRATION: _QUORUM,
    ApiKey.BROKER_HEARTBEAT: _QUORUM,
    ApiKey.UNREGISTER_BROKER: _QUORUM,
    ApiKey.ALLOCATE_PRODUCER_IDS: _QUORUM,
    ApiKey.CONTROLLER_REGISTRATION: _QUORUM,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: _QUORUM,
    ApiKey.ADD_RAFT_VOTER: _QUORUM,
    ApiKey.REMOVE_RAFT_VOTER: _QUORUM,
    ApiKey.UPDATE_RAFT_VOTER: _QUORUM,
    ApiKey.SHARE_GROUP_HEARTBEAT: _SHARE,
    ApiKey.SHARE_GROUP_DESCRIBE: _SHARE,
    ApiKey.SHARE_FETCH: _SHARE,
    ApiKey.SHARE_ACKNOWLEDGE: _SHARE,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _SHARE,
    ApiKey.READ_SHARE_GROUP_STATE: _SHARE,
    ApiKey.WRITE_SHARE_GROUP_STATE: _SHARE,
    ApiKey.DELETE_SHARE_GROUP_STATE: _SHARE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _SHARE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _SHARE,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _SHARE,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _SHARE,
}
