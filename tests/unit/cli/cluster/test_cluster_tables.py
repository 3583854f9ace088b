"""Quorum, brokers and features as rows, and what the options of features ask for."""

from __future__ import annotations

import click
import pytest

from millstream.cli.cluster.brokers import broker_rows
from millstream.cli.cluster.command import cluster
from millstream.cli.cluster.features import feature_rows, wanted_levels
from millstream.cli.cluster.quorum import replication_rows, status_row
from millstream.clients.admin import (
    ClusterDescription,
    FeatureMetadata,
    FeatureRange,
    LogDirDescription,
    QuorumInfo,
    QuorumReplica,
    RaftVoterEndpoint,
    Results,
    TopicDescription,
)
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.errors import BrokerNotAvailable, KafkaStorageError
from millstream.model import ZERO_UUID, Uuid, uuid_text
from millstream.net.client.core.addresses import Address

DISK = Uuid(bytes([7]) * 16)
QUORUM = QuorumInfo(
    2,
    5,
    40,
    [QuorumReplica(1, DISK, 38, 900, 400), QuorumReplica(2, DISK, 41, 1_000, 1_000)],
    [QuorumReplica(4, ZERO_UUID, 41, 950, None)],
    {2: [RaftVoterEndpoint("CONTROLLER", Address("two", 9093))]},
)


def test_the_status_of_the_quorum_is_what_kafkas_tool_tells() -> None:
    assert status_row(QUORUM, "c") == {
        "cluster_id": "c",
        "leader_id": 2,
        "leader_epoch": 5,
        "high_watermark": 40,
        "max_follower_lag": 3,
        "max_follower_lag_time_ms": 600,
        "current_voters": [
            {"id": 1, "directoryId": uuid_text(DISK)},
            {"id": 2, "directoryId": uuid_text(DISK), "endpoints": ["CONTROLLER://two:9093"]},
        ],
        "current_observers": [{"id": 4}],
    }


def test_the_leader_is_the_first_of_the_replicas() -> None:
    rows = replication_rows(QUORUM, None)
    assert [(row["node_id"], row["lag"], row["status"]) for row in rows] == [
        (2, 0, "Leader"),
        (1, 3, "Follower"),
        (4, 0, "Observer"),
    ]
    times = [
        (row["last_fetch_ms"], row["last_caught_up_ms"]) for row in replication_rows(QUORUM, 1_500)
    ]
    assert times == [
        ("500 ms ago", "500 ms ago"),
        ("600 ms ago", "1100 ms ago"),
        ("550 ms ago", None),
    ]


def directory(*, is_cordoned: bool) -> LogDirDescription:
    return LogDirDescription({}, None, None, is_cordoned)


def test_a_broker_has_its_state_and_its_directories() -> None:
    nodes = [BrokerNode(n, Address("h", 9090 + n), None) for n in (3, 2, 1)]
    directories = {
        1: Results({"/b": directory(is_cordoned=False), "/a": KafkaStorageError("gone")}),
        2: Results({"/a": directory(is_cordoned=True)}),
        3: BrokerNotAvailable("gone"),
    }
    partitions = [
        PartitionDescription(0, 1, 0, (1,), (1,)),
        PartitionDescription(1, 2, 0, (2, 1), (2,)),
    ]
    topics = [TopicDescription("t", ZERO_UUID, False, partitions)]
    cluster_of = ClusterDescription("c", 1, nodes, None, frozenset({3}))
    rows = broker_rows(cluster_of, topics, directories)
    assert [
        (row["id"], row["state"], row["leads"], row["replicas"], row["log_dirs"]) for row in rows
    ] == [
        (1, "active", 1, 2, ["/a (offline)", "/b"]),
        (2, "cordoned", 1, 1, ["/a (cordoned)"]),
        (3, "fenced", 0, 0, []),
    ]


def test_levels_of_the_metadata_version_are_names_for_people() -> None:
    found = FeatureMetadata(
        {"metadata.version": FeatureRange(7, 30)},
        16,
        {"metadata.version": FeatureRange(17, 30), "share.version": FeatureRange(0, 1)},
    )
    assert [row["finalized"] for row in feature_rows(found, as_text=True)] == ["4.3-IV0", 0]
    (version, share) = feature_rows(found, as_text=False)
    assert (version["supported_min"], version["supported_max"], version["epoch"]) == (17, 30, 16)
    assert (share["supported_max"], share["finalized"]) == (1, 0)


def test_features_are_wanted_one_by_one_or_by_a_release() -> None:
    assert wanted_levels(("metadata.version=4.2-IV1", "share.version=0"), None) == {
        "metadata.version": 29,
        "share.version": 0,
    }
    assert wanted_levels((), "4.3")["metadata.version"] == 30
    for given, release in (((), None), (("share.version=1",), "4.3")):
        with pytest.raises(click.UsageError, match="give --feature"):
            wanted_levels(given, release)
    for wrong in ("share.version", "share.version=x", "=1", "share.version=-1"):
        with pytest.raises(click.BadParameter, match="is not NAME=LEVEL"):
            wanted_levels((wrong,), None)
    with pytest.raises(click.BadParameter, match=r"no release '5.0': the newest is 4.3-IV0"):
        wanted_levels((), "5.0")


def test_every_subcommand_can_be_asked_for_help() -> None:
    assert sorted(cluster.commands) == [
        "brokers", "elect-leaders", "features", "log-dirs", "quorum", "ready", "reassign", "status",
    ]  # fmt: skip
