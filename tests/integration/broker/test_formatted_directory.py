"""A node that starts on a directory that `millstream storage` or Kafka's own tool has formatted begins with what it was formatted with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.storage.command import storage
from millstream.errors import MillstreamError
from millstream.metadata.features import default_levels
from millstream.metadata.record_versions import record_version
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.control_records import VotersRecord
from millstream.protocol.generated.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
)
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.protocol.generated.metadata_records import PartitionRecord, RegisterBrokerRecord
from millstream.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from millstream.raft.voter_set import Voter, VoterEndpoint, voters_from_record
from millstream.records.batch import iterate_batches
from millstream.records.control import ControlType, read_control_type
from millstream.records.record import iterate_records
from millstream.testing import Broker
from tests.support.clients.raw_client import RawClient

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAw"
RECORDED = Path(__file__).parents[2] / "golden" / "kafka_4_3_1_storage.json"
SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
"""


def formatted(directory: Path, *options: str, more: str = "") -> Path:
    data, settings = directory / "data", directory / "node.properties"
    settings.write_text(f"{SETTINGS}log.dirs={data}\n{more}")
    arguments = ["format", "-t", CLUSTER, "-c", str(settings), *options]
    result = CliRunner().invoke(storage, arguments)
    assert result.exit_code == 0, result.output
    return data


def formatted_by_kafka(case: str, directory: Path) -> Path:
    for name, content in json.loads(RECORDED.read_text())[case]["left"].items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = name.endswith("meta.properties")
        path.write_bytes(content.encode() if text else bytes.fromhex(content))
    return directory / "a"


def features(broker: Broker) -> dict[str, int]:
    with RawClient(broker.bootstrap_servers) as client:
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        answer = client.ask(ApiKey.API_VERSIONS, 4, request)
    return {each.name: each.max_version_level for each in answer.finalized_features}


def users(broker: Broker) -> dict[str, list[CredentialInfo]]:
    with RawClient(broker.bootstrap_servers) as client:
        request = DescribeUserScramCredentialsRequest(users=None)
        answer = client.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, request)
    return {each.user: each.credential_infos for each in answer.results}


def test_features_and_users_are_those_that_were_formatted_and_stay_over_a_restart(
    tmp_path: Path,
) -> None:
    data = formatted(
        tmp_path, "--standalone", "--feature", "transaction.version=1", "--feature", "group.version=0",
        "--add-scram", "SCRAM-SHA-512=[name=alice,password=secret,iterations=8192]",
    )  # fmt: skip
    expected = {
        "metadata.version": 30, "kraft.version": 1, "eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1,
        "transaction.version": 1,
    }  # fmt: skip
    with Broker(data=data) as broker:
        assert broker.cluster_id == CLUSTER
        assert features(broker) == expected
        assert users(broker) == {"alice": [CredentialInfo(2, 8192)]}
        broker.kill()
        (data / "bootstrap.checkpoint").write_bytes(b"not read any more")
        broker.start()
        assert features(broker) == expected
        assert users(broker) == {"alice": [CredentialInfo(2, 8192)]}


@pytest.mark.parametrize(
    ("case", "names", "kraft_version"),
    [("scram", {"alice"}, 0), ("scram of a standalone node", {"bob"}, 1)],
)
def test_what_kafkas_own_tool_formatted_is_served(
    tmp_path: Path, case: str, names: set[str], kraft_version: int
) -> None:
    data = formatted_by_kafka(case, tmp_path)
    static = {} if kraft_version else {"controller.quorum.voters": "1@localhost:9093"}
    with Broker(data=data, settings=static) as broker:
        assert broker.cluster_id == CLUSTER
        assert features(broker).get("kraft.version", 0) == kraft_version
        assert users(broker).keys() == names


def test_the_voter_is_still_reached_where_it_was_formatted_to_be(tmp_path: Path) -> None:
    """Others find this controller by what the log says of it, Kafka's tools among them."""
    data = formatted(tmp_path, "--standalone")
    with Broker(data=data):
        pass
    (voter,) = voters_in(data / "__cluster_metadata-0" / f"{0:020}.log")
    assert voter.endpoints == (VoterEndpoint("CONTROLLER", "localhost", 9093),)


def voters_in(log: Path) -> list[Voter]:
    return [
        voter
        for header, batch in iterate_batches(log.read_bytes())
        if header.is_control
        for record in iterate_records(header, batch)
        if read_control_type(record.key) is ControlType.KRAFT_VOTERS
        for voter in voters_from_record(VotersRecord.decode(memoryview(record.value), 0, 0)[0])
    ]


def test_a_cluster_id_may_be_words(tmp_path: Path) -> None:
    with Broker(data=formatted_by_kafka("cluster id of words", tmp_path)) as broker:
        assert broker.cluster_id == "my-cluster"


@pytest.mark.parametrize(
    ("release", "level"), [("3.3", 7), ("3.6", 14), ("3.7-IV2", 17), ("4.0-IV0", 22), ("4.2", 29)]
)
def test_a_cluster_of_an_older_release_is_served_at_its_level(
    tmp_path: Path, release: str, level: int
) -> None:
    """Its records have the versions that nodes of that release read."""
    data = formatted(tmp_path, "--standalone", "--release-version", release)
    with Broker(data=data) as broker:
        for topic in ("before", "after"):
            with RawClient(broker.bootstrap_servers) as client:
                client.create_topic(topic, partitions=2)
            assert features(broker)["metadata.version"] == level
            broker.restart()
    log = data / "__cluster_metadata-0" / f"{0:020}.log"
    expected = {
        RegisterBrokerRecord.KEY: record_version(RegisterBrokerRecord(), level),
        PartitionRecord.KEY: record_version(PartitionRecord(), level),
    }
    assert expected.items() <= versions_in(log).items()


@pytest.mark.parametrize("release", ["3.3", "3.9"])
def test_a_cluster_is_raised_to_the_newest_level_while_it_runs(
    tmp_path: Path, release: str
) -> None:
    """Records of both levels stand in one log, and a crash comes after them."""
    data = formatted(tmp_path, "--standalone", "--release-version", release)
    newest = default_levels(30)
    with Broker(data=data) as broker:
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("before", partitions=2)
            updates = [FeatureUpdateKey(feature=n, max_version_level=level, upgrade_type=1) for n, level in newest.items()]  # fmt: skip
            request = UpdateFeaturesRequest(feature_updates=updates)
            assert client.ask(ApiKey.UPDATE_FEATURES, 2, request).error_code == 0
            client.create_topic("after", partitions=2)
        broker.kill()
        broker.start()
        assert features(broker) == newest
        with RawClient(broker.bootstrap_servers) as client:
            found = client.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None)).topics
        assert sorted((each.name, len(each.partitions)) for each in found) == [
            ("after", 2),
            ("before", 2),
        ]
    assert versions_in(data / "__cluster_metadata-0" / f"{0:020}.log")[RegisterBrokerRecord.KEY] == 4  # fmt: skip


def versions_in(log: Path) -> dict[int, int]:
    """By the number of a kind of record, the version in which it is written."""
    values = [
        bytes(record.value or b"")
        for header, batch in iterate_batches(log.read_bytes())
        if not header.is_control
        for record in iterate_records(header, batch)
    ]
    return {value[1]: value[2] for value in values}


def test_a_release_that_this_version_cannot_serve_is_refused_at_the_first_start(
    tmp_path: Path,
) -> None:
    unstable = "unstable.feature.versions.enable=true\n"
    data = formatted(tmp_path, "--standalone", "--release-version", "4.4-IV0", more=unstable)
    sentence = "this cluster was formatted for metadata.version=31 (4.4-IV0), and this version of Millstream works at 7 to 30"
    for _ in range(2):
        with pytest.raises(MillstreamError, match=re.escape(sentence)), Broker(data=data):
            pass


@pytest.mark.parametrize("content", [b"", b"x", bytes(500)])
def test_a_damaged_file_of_first_records_is_refused_and_never_read_as_none(
    tmp_path: Path, content: bytes
) -> None:
    data = formatted(tmp_path, "--standalone")
    (data / "bootstrap.checkpoint").write_bytes(content)
    for _ in range(2):
        with (
            pytest.raises(MillstreamError, match=r"bootstrap\.checkpoint is damaged, or of a newer version"),
            Broker(data=data),
        ):  # fmt: skip
            pass


def test_a_directory_formatted_for_another_node_is_refused(tmp_path: Path) -> None:
    data = formatted(tmp_path, "--standalone")
    with (
        pytest.raises(MillstreamError, match="belongs to node 1, this is node 2"),
        Broker(data=data, settings={"node.id": "2"}),
    ):
        pass
