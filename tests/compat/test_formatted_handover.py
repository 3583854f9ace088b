"""Directories that one has formatted and the other starts with: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.storage.command import storage
from millstream.metadata.features import default_levels
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
)
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.testing.broker import Broker
from tests.support.clients.raw_client import RawClient
from tests.support.kafka_node import (
    NEEDS_KAFKA,
    KafkaNode,
    dumped_metadata,
    kafka_node,
    run_tool,
    running,
)

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAw"
OPTIONS = (
    "--feature", "transaction.version=1", "--feature", "group.version=0",
    "--add-scram", 'SCRAM-SHA-512=[name=alice,iterations=8192,salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5Y2g=",password=secret]',
)  # fmt: skip
USERS = {"alice": [CredentialInfo(2, 8192)]}
FEATURES = {
    "metadata.version": 30, "eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1, "transaction.version": 1,
}  # fmt: skip

pytestmark = NEEDS_KAFKA


def format_ours(node: KafkaNode, *options: str) -> None:
    arguments = ["format", "-t", CLUSTER, "-c", str(node.properties), *options]
    result = CliRunner().invoke(storage, arguments)
    assert result.exit_code == 0, result.output


def told(bootstrap: str) -> tuple[dict[str, int], dict[str, list[CredentialInfo]]]:
    """The finalized features and the users of a cluster."""
    with RawClient(bootstrap) as client:
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        features = client.ask(ApiKey.API_VERSIONS, 4, request).finalized_features
        users = client.ask(
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, DescribeUserScramCredentialsRequest(users=None)
        ).results  # fmt: skip
    return (
        {each.name: each.max_version_level for each in features},
        {each.user: each.credential_infos for each in users},
    )


def records_of(file: Path) -> list[str]:
    """Without offsets, times and sizes, and without what differs between two directories."""
    found = re.findall(r"headerKeys: \[\] (?:payload: )?(.*)", dumped_metadata(file))
    masked = (
        re.sub(r'"(lastContainedLogTimestamp|voterDirectoryId)":("[^"]*"|\d+)', r'"\1":...', each)
        for each in found
    )
    return list(masked)


@pytest.mark.parametrize("static", [False, True], ids=["standalone", "static"])
def test_kafka_starts_with_what_we_formatted_and_we_go_on_with_it(
    tmp_path: Path, static: bool
) -> None:
    data = tmp_path / "data"
    node = kafka_node(data, tmp_path, static=static)
    format_ours(node, *OPTIONS, *(() if static else ("--standalone",)))
    quorum = {} if static else {"kraft.version": 1}
    with running(node) as bootstrap:
        assert told(bootstrap) == (FEATURES | quorum, USERS)
    assert " ERROR " not in node.log.read_text()
    settings = {"controller.quorum.voters": "1@127.0.0.1:9093"} if static else {}
    with Broker(data=data, settings=settings) as broker:
        assert told(broker.bootstrap_servers) == (FEATURES | quorum, USERS)


@pytest.mark.parametrize("release", ["3.3", "3.6", "3.7-IV2", "3.9", "4.2"])
def test_kafka_goes_on_with_a_cluster_of_an_older_release_that_we_began(
    tmp_path: Path, release: str
) -> None:
    """And we with what it made of it."""
    data = tmp_path / "data"
    node = kafka_node(data, tmp_path)
    format_ours(node, "--standalone", "--release-version", release)
    with Broker(data=data) as broker:
        began = told(broker.bootstrap_servers)
        create(broker.bootstrap_servers, "ours")
    with running(node) as bootstrap:
        assert told(bootstrap) == began
        assert topics(bootstrap) == {"ours": 2}
        create(bootstrap, "theirs")
        upgrade = ("upgrade", "--release-version", "4.3")
        run_tool("org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", bootstrap, *upgrade)
    with Broker(data=data) as broker:
        features, _ = told(broker.bootstrap_servers)
        assert features == {**default_levels(30)}
        assert topics(broker.bootstrap_servers) == {"ours": 2, "theirs": 2}


def create(bootstrap: str, topic: str) -> None:
    with RawClient(bootstrap) as client:
        client.create_topic(topic, partitions=2)


def topics(bootstrap: str) -> dict[str, int]:
    with RawClient(bootstrap) as client:
        found = client.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None)).topics
    return {each.name: len(each.partitions) for each in found}


def test_the_first_records_of_a_cluster_are_those_that_kafka_writes(tmp_path: Path) -> None:
    """Up to the registration of the controller, from directories that were formatted alike."""
    theirs, ours = tmp_path / "kafka", tmp_path / "ours"
    node = kafka_node(theirs, tmp_path)
    arguments = ("format", "-t", CLUSTER, "-c", str(node.properties), "--standalone", *OPTIONS)
    run_tool("kafka.tools.StorageTool", *arguments)
    with running(node):
        pass
    text = node.properties.read_text().replace(str(theirs), str(ours))
    node.properties.write_text(text)
    format_ours(node, "--standalone", *OPTIONS)
    with Broker(data=ours):
        pass
    log = f"__cluster_metadata-0/{0:020}.log"
    records = records_of(theirs / log)[:12]
    assert "END_TRANSACTION_RECORD" in records[-1]
    assert records_of(ours / log)[:12] == records
    for file in ("bootstrap.checkpoint", f"__cluster_metadata-0/{0:020}-{0:010}.checkpoint"):
        assert records_of(ours / file) == records_of(theirs / file)


def test_kafkas_info_finds_nothing_wrong_with_what_we_formatted(tmp_path: Path) -> None:
    node = kafka_node(tmp_path / "data", tmp_path)
    format_ours(node, "--standalone")
    theirs = run_tool("kafka.tools.StorageTool", "info", "-c", str(node.properties))
    ours = CliRunner().invoke(storage, ["info", "-c", str(node.properties)])
    assert ours.stdout == theirs
