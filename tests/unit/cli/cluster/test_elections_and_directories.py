"""elect-leaders and log-dirs: what is told of what a cluster answered."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from click.testing import CliRunner

from millstream.cli.cluster.brokers import check_forgettable
from millstream.cli.cluster.command import cluster
from millstream.cli.cluster.leader_elections import election_rows, planned_elections
from millstream.cli.cluster.log_dirs import broker_objects, directory_rows, replica_rows
from millstream.cli.cluster.options import AskedNodes
from millstream.clients.admin import (
    ClusterDescription,
    LogDirDescription,
    PartitionDescription,
    ReplicaInfo,
    Results,
    TopicDescription,
)
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.errors import (
    BrokerIdNotRegistered,
    BrokerNotAvailable,
    ElectionNotNeeded,
    InvalidRequest,
    KafkaStorageError,
)
from millstream.errors import PreferredLeaderNotAvailable as NotInSync
from millstream.model import TopicPartition, Uuid
from millstream.net.client.core.addresses import Address

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
HELD = {
    T0: ReplicaInfo(100, 0, False),
    T1: ReplicaInfo(20, 3, True),
    TopicPartition("u", 0): ReplicaInfo(7, 0, False),
}
FOUND = {
    2: BrokerNotAvailable("gone"),
    1: Results(
        {
            "/b": KafkaStorageError("failed"),
            "/a": LogDirDescription(HELD, 1_000, 500, False),
            "/c": LogDirDescription({}, None, None, True),
        }
    ),
}


def test_who_leads_after_an_election_is_told() -> None:
    rows = election_rows({T1: ElectionNotNeeded(), T0: None, T2: NotInSync("x")}, {T0: 3, T1: 1})
    assert [(r["partition"], r["result"], r["leader"]) for r in rows] == [
        (0, "elected", 3),
        (1, "not needed", 1),
    ]


@pytest.mark.parametrize(
    ("kind", "leader", "isr", "offline", "result"),
    [
        ("preferred", 1, (1, 2), (), "not needed"),
        ("preferred", 2, (1, 2), (), "1 would be elected"),
        ("preferred", 2, (2,), (), "1 is not in sync"),
        ("unclean", 2, (2,), (1,), "not needed"),
        ("unclean", -1, (1,), (1,), "one of 2 would be elected"),
        ("unclean", -1, (1,), (1, 2), "no replica is up"),
    ],
)
def test_what_an_election_would_do(
    kind: str, leader: int, isr: tuple[int, ...], offline: tuple[int, ...], result: str
) -> None:
    partitions = [
        PartitionDescription(number, leader, replicas=(1, 2), isr=isr, offline_replicas=offline)
        for number in (0, 1)
    ]
    topic = TopicDescription("t", Uuid(bytes(16)), False, partitions)
    (row,) = planned_elections([topic], kind, [T1])
    assert (row["partition"], row["result"]) == (1, result)
    assert len(planned_elections([topic], kind, None)) == 2


def test_a_partition_that_is_not_there_is_an_error_of_what_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = TopicDescription("t", Uuid(bytes(16)), False, [PartitionDescription(0, 1, 0, (1,), (1,))])  # fmt: skip

    class OneTopic:
        def list_topics(self) -> list[str]:
            return ["t"]

        def describe_topics(self, _: object) -> Results[str, TopicDescription]:
            return Results({"t": topic})

    monkeypatch.setattr(AskedNodes, "admin", lambda _: nullcontext(OneTopic()))
    words = ("preferred", "t", "--partition", "0", "--partition", "7", "--dry-run")
    told = CliRunner().invoke(cluster, ["elect-leaders", *words])
    assert told.exit_code == 3
    assert "not needed" in told.stdout
    assert "there is no partition t-7" in told.stderr


def test_only_a_broker_that_is_gone_can_be_forgotten() -> None:
    nodes = [BrokerNode(each, Address("h", 1), None) for each in (1, 2)]
    found = ClusterDescription("c", 1, nodes, fenced_broker_ids=frozenset({2}))
    check_forgettable(found, 2)
    with pytest.raises(InvalidRequest, match="Broker 1 is alive: stop it"):
        check_forgettable(found, 1)
    with pytest.raises(BrokerIdNotRegistered, match="Broker ID 3 is not currently registered"):
        check_forgettable(found, 3)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("preferred",), "name TOPICs, or give --path-to-json-file or --all"),
        (("preferred", "t", "--all"), "name TOPICs, or give --path-to-json-file or --all"),
        (("preferred", "t", "u", "--partition", "0"), "--partition goes with one TOPIC"),
        (("preferred", "--all", "--partition", "0"), "--partition goes with one TOPIC"),
        (("first", "t"), "'first' is not one of"),
        (
            ("preferred", "t", "--bootstrap-controller", "h:1"),
            "controllers do not tell who leads: give --bootstrap-server",
        ),
    ],
)
def test_elections_that_cannot_be_asked_for(words: tuple[str, ...], sentence: str) -> None:
    told = CliRunner().invoke(cluster, ["elect-leaders", *words])
    assert told.exit_code == 2
    assert sentence in " ".join(told.stderr.split())


def test_each_directory_has_a_row_also_one_that_failed() -> None:
    assert directory_rows(FOUND, None) == [
        {"broker": 1, "log_dir": "/a", "state": "online", "replicas": 3, "bytes": 127, "usable_bytes": 500, "total_bytes": 1_000},
        {"broker": 1, "log_dir": "/b", "state": "offline", "replicas": None, "bytes": None, "usable_bytes": None, "total_bytes": None},
        {"broker": 1, "log_dir": "/c", "state": "cordoned", "replicas": 0, "bytes": 0, "usable_bytes": None, "total_bytes": None},
    ]  # fmt: skip
    assert directory_rows(FOUND, ["u"])[0]["bytes"] == 7


def test_each_replica_has_a_row() -> None:
    rows = replica_rows(FOUND, ["t"])
    assert [(r["topic"], r["partition"], r["offset_lag"], r["is_future"]) for r in rows] == [
        ("t", 0, 0, False),
        ("t", 1, 3, True),
    ]


def test_as_json_it_is_what_kafkas_tool_prints() -> None:
    assert broker_objects(FOUND, ["t"]) == [
        {
            "broker": 1,
            "logDirs": [
                {
                    "partitions": [
                        {"partition": "t-0", "size": 100, "offsetLag": 0, "isFuture": False},
                        {"partition": "t-1", "size": 20, "offsetLag": 3, "isFuture": True},
                    ],
                    "error": None,
                    "logDir": "/a",
                },
                {"partitions": [], "error": "KAFKA_STORAGE_ERROR", "logDir": "/b"},
                {"partitions": [], "error": None, "logDir": "/c"},
            ],
        }
    ]


def test_directories_that_cannot_be_asked_for() -> None:
    told = CliRunner().invoke(cluster, ["log-dirs", "--broker-list", "one"])
    assert told.exit_code == 2
    assert "'one' is not like 1,2,3" in told.stderr
    told = CliRunner().invoke(cluster, ["log-dirs", "--bootstrap-controller", "h:1"])
    assert "controllers do not tell of log directories" in " ".join(told.stderr.split())
