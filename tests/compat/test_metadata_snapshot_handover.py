"""A metadata snapshot of ours in Apache Kafka's own hands: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

from pathlib import Path

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from millstream.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from millstream.protocol.generated.create_acls import AclCreation, CreateAclsRequest
from millstream.protocol.generated.describe_acls import DescribeAclsRequest
from millstream.protocol.generated.describe_client_quotas import DescribeClientQuotasRequest
from millstream.protocol.generated.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
)
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.testing.broker import Broker
from tests.support.clients.raw_client import RawClient
from tests.support.kafka_node import NEEDS_KAFKA, dumped_metadata, kafka_node, running

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

pytestmark = NEEDS_KAFKA


def store_something(bootstrap: str) -> None:
    with RawClient(bootstrap) as client:
        rule = AclCreation(
            resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
        )  # fmt: skip
        client.ask(ApiKey.CREATE_ACLS, 3, CreateAclsRequest(creations=[rule]))
        user = ScramCredentialUpsertion("alice", 1, 4096, b"salt", b"salted")
        client.ask(
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, AlterUserScramCredentialsRequest(upsertions=[user])
        )  # fmt: skip
        limit = AlterClientQuotasRequestEntryData(
            [EntityData("user", "alice"), EntityData("client-id", None)],
            [OpData("producer_byte_rate", 1024.0)],
        )
        client.ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, AlterClientQuotasRequest(entries=[limit]))
        for number in range(12):
            client.create_topic(f"t{number}", partitions=3)


def told(bootstrap: str) -> dict[str, object]:
    """What a broker says of everything that was stored."""
    with RawClient(bootstrap) as client:
        topics = client.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None)).topics
        every = DescribeAclsRequest(
            resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1, principal_filter=None,
            host_filter=None, operation=1, permission_type=1,
        )  # fmt: skip
        rules = client.ask(ApiKey.DESCRIBE_ACLS, 3, every).resources
        users = client.ask(
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, DescribeUserScramCredentialsRequest(users=None)
        ).results  # fmt: skip
        limits = client.ask(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, DescribeClientQuotasRequest()).entries
    return {
        "topics": {t.name: (t.topic_id, len(t.partitions)) for t in topics},
        "rules": [(r.resource_name, acl.principal) for r in rules for acl in r.acls],
        "users": {u.user: u.credential_infos for u in users},
        "limits": [
            ({p.entity_type: p.entity_name for p in e.entity}, [(v.key, v.value) for v in e.values])
            for e in limits
        ],
    }


def ours(data: Path, **settings: str) -> Broker:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    access = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    return Broker(data=data, settings={**access, **given})


def test_kafka_reads_our_snapshot_and_goes_on_from_it(tmp_path):
    """The log before it is gone: what Kafka knows, it knows from the snapshot."""
    data = tmp_path / "data"
    with ours(
        data,
        metadata_log_max_record_bytes_between_snapshots="1000",
        metadata_log_segment_ms="1",
        metadata_max_retention_bytes="1",
    ) as broker:
        store_something(broker.bootstrap_servers)
        stored = told(broker.bootstrap_servers)
    assert len(stored["topics"]) == 12
    assert stored["users"] == {"alice": [CredentialInfo(1, 4096)]}
    log, *_ = sorted((data / "__cluster_metadata-0").glob("*.log"))
    assert int(log.stem) > 0
    *_, newest = sorted((data / "__cluster_metadata-0").glob("*.checkpoint"))
    text = dumped_metadata(newest)
    for kind in (
        "SnapshotHeader", "KRaftVoters", "FEATURE_LEVEL_RECORD", "REGISTER_BROKER_RECORD", "TOPIC_RECORD",
        "PARTITION_RECORD", "ACCESS_CONTROL_ENTRY_RECORD", "USER_SCRAM_CREDENTIAL_RECORD", "CLIENT_QUOTA_RECORD",
        "SnapshotFooter",
    ):  # fmt: skip
        assert kind in text
    node = kafka_node(
        data, tmp_path, f"authorizer.class.name={AUTHORIZER}", "super.users=User:ANONYMOUS"
    )
    with running(node) as bootstrap:
        assert told(bootstrap) == stored
    with ours(data) as broker:
        assert told(broker.bootstrap_servers) == stored
