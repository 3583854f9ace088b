"""elect-leaders and log-dirs: what is told of what a cluster answered."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from millstream.cli.cluster.command import cluster
from millstream.cli.cluster.leader_elections import election_rows
from millstream.cli.cluster.log_dirs import broker_objects, directory_rows, replica_rows
from millstream.clients.admin import LogDirDescription, ReplicaInfo, Results
from millstream.errors import BrokerNotAvailable, ElectionNotNeeded, KafkaStorageError
from millstream.errors import PreferredLeaderNotAvailable as NotInSync
from millstream.model import TopicPartition

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
