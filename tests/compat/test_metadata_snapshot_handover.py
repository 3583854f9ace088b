"""A metadata snapshot of ours in Apache Kafka's own hands: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

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
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.slow,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextmanager
def kafka(data: Path, tmp_path: Path) -> Iterator[str]:
    """Apache Kafka as it is, on a directory that it did not make; its bootstrap address once it answers."""
    port, controller_port = free_port(), free_port()
    properties = tmp_path / "kafka.properties"
    properties.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={data}
authorizer.class.name={AUTHORIZER}
super.users=User:ANONYMOUS
"""
    )
    with (tmp_path / "kafka.log").open("w") as log:
        process = subprocess.Popen(
            ["java", "-Xmx512m", "-cp", CLASSPATH, "kafka.Kafka", str(properties)],
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(port)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        assert process.wait(LONG_ENOUGH_S) == 143, (tmp_path / "kafka.log").read_text()[-2_000:]


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with RawClient(f"127.0.0.1:{port}") as client:
                if client.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None)).brokers:
                    return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("Kafka does not answer")


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
    return Broker(data=data, settings={"authorizer.class.name": AUTHORIZER, **given})


def dumped(checkpoint: Path) -> str:
    done = subprocess.run(
        ["java", "-cp", CLASSPATH, "org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder",
         "--files", str(checkpoint)],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


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
    text = dumped(newest)
    for kind in (
        "SnapshotHeader", "KRaftVoters", "FEATURE_LEVEL_RECORD", "REGISTER_BROKER_RECORD", "TOPIC_RECORD",
        "PARTITION_RECORD", "ACCESS_CONTROL_ENTRY_RECORD", "USER_SCRAM_CREDENTIAL_RECORD", "CLIENT_QUOTA_RECORD",
        "SnapshotFooter",
    ):  # fmt: skip
        assert kind in text
    with kafka(data, tmp_path) as bootstrap:
        assert told(bootstrap) == stored
    with ours(data) as broker:
        assert told(broker.bootstrap_servers) == stored
