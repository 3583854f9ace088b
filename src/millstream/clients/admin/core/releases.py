"""Since which Kafka release each admin API exists, for the error of those who ask an older broker."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.errors import UnsupportedVersion
from millstream.protocol.api import ApiKey

SINCE: Final = MappingProxyType(
    {
        ApiKey.ELECT_LEADERS: "2.2",
        ApiKey.INCREMENTAL_ALTER_CONFIGS: "2.3",
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: "2.4",
        ApiKey.LIST_PARTITION_REASSIGNMENTS: "2.4",
        ApiKey.OFFSET_DELETE: "2.4",
        ApiKey.DESCRIBE_CLIENT_QUOTAS: "2.6",
        ApiKey.ALTER_CLIENT_QUOTAS: "2.6",
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "2.7",
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: "2.7",
        ApiKey.UPDATE_FEATURES: "2.7",
        ApiKey.DESCRIBE_CLUSTER: "2.8",
        ApiKey.DESCRIBE_PRODUCERS: "2.8",
        ApiKey.UNREGISTER_BROKER: "2.8, with KRaft",
        ApiKey.DESCRIBE_TRANSACTIONS: "3.0",
        ApiKey.LIST_TRANSACTIONS: "3.0",
        ApiKey.DESCRIBE_QUORUM: "3.3, with KRaft",
        ApiKey.CONSUMER_GROUP_DESCRIBE: "3.7",
        ApiKey.LIST_CONFIG_RESOURCES: "3.7",
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: "3.8, with KRaft",
        ApiKey.ADD_RAFT_VOTER: "3.9, with KRaft",
        ApiKey.REMOVE_RAFT_VOTER: "3.9, with KRaft",
        ApiKey.SHARE_GROUP_DESCRIBE: "4.1",
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: "4.1",
        ApiKey.ALTER_SHARE_GROUP_OFFSETS: "4.1",
        ApiKey.DELETE_SHARE_GROUP_OFFSETS: "4.1",
        ApiKey.STREAMS_GROUP_DESCRIBE: "4.1",
    }
)
"""Of all others since 2.1 at the latest, the oldest that clients speak to."""


def unsupported(api: ApiKey) -> UnsupportedVersion:
    since = SINCE.get(api)
    if since is None:
        return UnsupportedVersion(
            f"{api.name}: the broker does not serve it, or in no version that this client speaks"
        )
    return UnsupportedVersion(
        f"{api.name} exists since Kafka {since}; the broker does not serve it, or has it switched off"
    )
