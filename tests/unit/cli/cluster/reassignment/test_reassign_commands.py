"""plan, execute, verify, cancel and list against a cluster in memory: what is asked of it, printed and exited with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

import pytest
from click.testing import CliRunner, Result

from millstream.cli.cluster.command import cluster
from millstream.cli.cluster.options import AskedNodes
from millstream.clients.admin import (
    ClusterDescription,
    LogDirDescription,
    PartitionReassignment,
    ReplicaLogDirs,
    Results,
    TopicDescription,
    TopicPartitionReplica,
)
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.errors import (
    KafkaError,
    NetworkException,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from millstream.model import ZERO_UUID, TopicPartition
from millstream.net.client.core.addresses import Address

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class ClusterInMemory:
    """Four brokers, of which 4 is fenced. Moves go on until they are called off, or `finish` is called."""

    def __init__(self) -> None:
        self.topics: dict[str, list[tuple[int, ...]]] = {"t": [(1, 2), (2, 1)], "u": [(1,)]}
        self.moving: dict[TopicPartition, tuple[int, ...]] = {}
        self.configs: dict[tuple[str, str], str] = {}
        self.directories: dict[TopicPartitionReplica, str] = {}
        self.factor_may_change: bool | None = None
        self.silent: set[str] = set()
        """Brokers that died just now, and are not fenced yet."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def describe_cluster(self, **_: object) -> ClusterDescription:
        nodes = [BrokerNode(n, Address("h", 9090 + n), None) for n in (1, 2, 3, 4)]
        return ClusterDescription("c", 1, nodes, None, frozenset({4}))

    def describe_log_dirs(
        self, brokers: Iterable[int], *_: object, **__: object
    ) -> Results[int, Results[str, LogDirDescription]]:
        return Results(
            {each: Results({"/a": LogDirDescription({}, None, None, False)}) for each in brokers}
        )

    def list_topics(self, **_: object) -> list[str]:
        return [*self.topics]

    def describe_topics(self, names: Iterable[str]) -> Results[str, TopicDescription]:
        found: Results[str, TopicDescription] = Results()
        for name in names:
            if name not in self.topics:
                found[name] = UnknownTopicOrPartition(f"{name}: no such topic")
                continue
            partitions = [
                PartitionDescription(n, each[0], 0, each, each)
                for n, each in enumerate(self.topics[name])
            ]
            found[name] = TopicDescription(name, ZERO_UUID, False, partitions)
        return found

    def list_partition_reassignments(self) -> dict[TopicPartition, PartitionReassignment]:
        return {
            key: PartitionReassignment(
                tuple(dict.fromkeys((*wanted, *self.replicas(key)))),
                tuple(each for each in wanted if each not in self.replicas(key)),
                tuple(each for each in self.replicas(key) if each not in wanted),
            )
            for key, wanted in self.moving.items()
        }

    def alter_partition_reassignments(
        self,
        wanted: Mapping[TopicPartition, tuple[int, ...] | None],
        *,
        allow_replication_factor_change: bool = True,
    ) -> Results[TopicPartition, None]:
        self.factor_may_change = allow_replication_factor_change
        results: Results[TopicPartition, None] = Results()
        for key, replicas in wanted.items():
            results[key] = None
            if replicas is not None:
                self.moving[key] = replicas
            elif self.moving.pop(key, None) is None:
                results[key] = NoReassignmentInProgress(f"{key}: nothing moves")
        return results

    def incremental_alter_configs(self, changes: Mapping) -> Results[object, KafkaError | None]:
        for resource, given in changes.items():
            for change in given if resource.name not in self.silent else ():
                if change.value is None:
                    self.configs.pop((resource.name, change.name), None)
                else:
                    self.configs[resource.name, change.name] = change.value
        away = NetworkException("it is not there")
        return Results({each: away if each.name in self.silent else None for each in changes})

    def alter_replica_log_dirs(
        self, moves: Mapping[TopicPartitionReplica, str]
    ) -> Results[TopicPartitionReplica, None]:
        self.directories.update(moves)
        return Results(dict.fromkeys(moves))

    def describe_replica_log_dirs(
        self, wanted: Iterable[TopicPartitionReplica]
    ) -> Results[TopicPartitionReplica, ReplicaLogDirs]:
        return Results(
            {
                key: ReplicaLogDirs("/old", 0, self.directories.get(key), 3)
                if key in self.directories
                else ReplicaLogDirs("/old", 0)
                for key in wanted
            }
        )

    def replicas(self, key: TopicPartition) -> tuple[int, ...]:
        return self.topics[key.topic][key.partition]

    def finish(self) -> None:
        for key, wanted in self.moving.items():
            self.topics[key.topic][key.partition] = wanted
        self.moving.clear()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> ClusterInMemory:
    found = ClusterInMemory()
    monkeypatch.setattr(AskedNodes, "admin", lambda _: found)
    return found


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "plan.json"
    path.write_text(
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3,2]},{"topic":"t","partition":1,"replicas":[2,3]}]}'
    )
    return str(path)


def run(*words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cluster, ["reassign", *words], input=text)


def test_a_plan_is_json_and_nothing_else(made: ClusterInMemory) -> None:
    told = run("plan", "t", "--broker-list", "2,3")
    assert told.exit_code == 0
    planned = {each["partition"]: each["replicas"] for each in json.loads(told.stdout)["partitions"]}  # fmt: skip
    assert {frozenset(each) for each in planned.values()} == {frozenset({2, 3})}
    assert {each[0] for each in planned.values()} == {2, 3}
    assert "2 would have other replicas" in told.stderr
    assert made.moving == {}


def test_a_plan_is_for_brokers_that_are_up(made: ClusterInMemory) -> None:
    assert made.topics
    told = json.loads(run("plan", "--all", "--replication-factor", "3").stdout)
    assert {each for entry in told["partitions"] for each in entry["replicas"]} == {1, 2, 3}
    assert {entry["topic"] for entry in told["partitions"]} == {"t", "u"}


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("plan",), 2, "name TOPICs, or give --all"),
        (("plan", "t", "--all"), 2, "name TOPICs, or give --all"),
        (("plan", "t", "--broker-list", "1,x"), 2, "'1,x' is not like 1,2,3"),
        (("plan", "t", "--broker-list", "1,1"), 2, "names a broker more than once"),
        (("plan", "t", "--broker-list", "9"), 2, "--broker-list names broker 9, and the cluster has 1, 2, 3, 4"),
        (("plan", "t", "--replication-factor", "5"), 2, "5 replicas need as many brokers, and there are 3"),
        (("plan", "zz"), 3, "zz: no such topic"),
        (("cancel",), 2, "give FILE, or --all"),
        (("execute", "/no/such/file"), 2, "does not exist"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("made")
def test_what_cannot_be_is_one_sentence(words: tuple[str, ...], code: int, sentence: str) -> None:
    told = run(*words)
    assert (told.exit_code, told.stdout) == (code, "")
    assert sentence in " ".join(told.stderr.split())


def test_moves_begin_are_watched_and_end(made: ClusterInMemory, file: str) -> None:
    begun = run("execute", file)
    assert begun.exit_code == 0, begun.stderr
    before = {each["partition"]: each["replicas"] for each in json.loads(begun.stdout)["partitions"]}  # fmt: skip
    assert before == {0: [1, 2], 1: [2, 1]}
    assert "2 partitions on the way" in begun.stderr
    assert made.moving == {T0: (3, 2), T1: (2, 3)}
    assert made.factor_may_change is True
    watched = run("verify", file, "--output", "json")
    assert watched.exit_code == 1
    assert [each["state"] for each in json.loads(watched.stdout)] == ["in progress"] * 2
    listed = json.loads(run("list", "--output", "json").stdout)
    assert [(each["adding"], each["removing"]) for each in listed] == [([3], [1]), ([3], [1])]
    made.finish()
    done = run("verify", file)
    assert done.exit_code == 0
    assert "all moves are completed" in done.stderr
    assert "no partition moves" in run("list").stderr


def test_what_was_printed_takes_the_partitions_back(made: ClusterInMemory, file: str) -> None:
    back = run("execute", file).stdout
    made.finish()
    assert run("execute", "-", text=back).exit_code == 0
    made.finish()
    assert made.topics["t"] == [(1, 2), (2, 1)]


def test_moves_are_called_off(made: ClusterInMemory, file: str) -> None:
    run("execute", file, "--throttle", "1000")
    told = run("cancel", file, "--output", "jsonl")
    assert told.exit_code == 0
    assert [json.loads(line)["result"] for line in told.stdout.splitlines()] == ["called off"] * 2
    assert (made.moving, made.configs) == ({}, {})
    again = run("cancel", "--all")
    assert (again.exit_code, again.stdout) == (0, "")
    assert "nothing of it moves" in again.stderr


def test_a_second_reassignment_waits_for_the_first(made: ClusterInMemory, file: str) -> None:
    made.moving[TopicPartition("u", 0)] = (2,)
    refused = run("execute", file)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "1 partition on the way already" in refused.stderr
    assert run("execute", file, "--additional").exit_code == 0


def test_what_is_not_there_is_told_before_anything_is_changed(made: ClusterInMemory) -> None:
    text = '{"partitions":[{"topic":"t","partition":7,"replicas":[1]}]}'
    missing = run("execute", "-", "--throttle", "5", text=text)
    assert missing.exit_code == 3
    assert "there is no partition t-7" in missing.stderr
    nobody = run("execute", "-", text=text.replace("[1]", "[9]"))
    assert nobody.exit_code == 2
    assert "- names broker 9, and the cluster has 1, 2, 3, 4" in nobody.stderr
    assert (made.moving, made.configs) == ({}, {})


def test_throttles_are_set_and_taken_away_once_nothing_moves(
    made: ClusterInMemory, file: str
) -> None:
    run("execute", file, "--throttle", "1000", "--disallow-replication-factor-change")
    assert made.factor_may_change is False
    assert made.configs["t", "leader.replication.throttled.replicas"] == "0:1,0:2,1:2,1:1"
    assert made.configs["t", "follower.replication.throttled.replicas"] == "0:3,1:3"
    assert {name for (name, key) in made.configs if key.endswith(".rate")} == {"1", "2", "3"}
    run("verify", file)
    assert made.configs, "they are on the way"
    made.finish()
    assert run("verify", file, "--preserve-throttles").exit_code == 0
    assert made.configs
    run("verify", file)
    assert made.configs == {}


def test_a_broker_that_is_away_does_not_keep_moves_from_being_called_off(
    made: ClusterInMemory, file: str
) -> None:
    run("execute", file, "--throttle", "1000")
    made.silent = {"2"}
    cancelled = run("cancel", file, "--yes")
    assert (cancelled.exit_code, "called off" in cancelled.stdout) == (0, True)
    assert "broker 2 does not answer, and keeps its throttle" in cancelled.stderr
    assert {name for (name, _) in made.configs} == {"2"}


def test_replicas_go_to_directories(made: ClusterInMemory) -> None:
    text = '{"partitions":[{"topic":"u","partition":0,"replicas":[1],"log_dirs":["/new"]}]}'
    assert run("execute", "-", text=text).exit_code == 0
    assert made.directories == {TopicPartitionReplica("u", 0, 1): "/new"}
    made.finish()
    told = json.loads(run("verify", "-", "--output", "json", text=text).stdout)
    assert [each["state"] for each in told] == ["completed", "in progress"]
    run("cancel", "-", text=text)
    assert made.directories == {TopicPartitionReplica("u", 0, 1): "/old"}


def test_what_neither_moves_nor_is_as_wanted_is_told(made: ClusterInMemory, file: str) -> None:
    assert made.moving == {}
    told = run("verify", file)
    assert told.exit_code == 1
    assert "was it executed, or called off?" in told.stderr
    assert "other replicas" in told.stdout


def test_what_is_tried_moves_nothing(made: ClusterInMemory, file: str) -> None:
    tried = run("execute", file, "--throttle", "1000", "--dry-run")
    assert (tried.exit_code, tried.stderr) == (
        0,
        "2 partitions would move; without --dry-run they do\n",
    )
    assert (made.moving, made.configs) == ({}, {})
    run("execute", file)
    called_off = run("cancel", file, "--dry-run", "--output", "json")
    assert [each["result"] for each in json.loads(called_off.stdout)] == ["would be called off"] * 2
    assert made.moving.keys() == {T0, T1}


def test_whoever_interrupts_is_told_that_what_began_goes_on(
    made: ClusterInMemory, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(made, "alter_partition_reassignments", interrupted)
    told = run("execute", file)
    assert told.exit_code == 130
    assert f"`millstream cluster reassign verify {file}` shows how far it is" in told.stderr


@pytest.mark.parametrize("call", ["alter_partition_reassignments", "incremental_alter_configs"])
def test_whoever_interrupts_a_cancellation_is_told_what_may_be_left(
    made: ClusterInMemory, file: str, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run("execute", file, "--throttle", "1000")
    monkeypatch.setattr(made, call, interrupted)
    told = run("cancel", file)
    assert told.exit_code == 130
    assert "throttles may stay; `millstream cluster reassign list` shows" in told.stderr


def test_what_is_tried_is_refused_as_what_is_done(made: ClusterInMemory) -> None:
    text = (
        '{"partitions":[{"topic":"t","partition":0,"replicas":[3]},'
        '{"topic":"t","partition":1,"replicas":[2,3]}]}'
    )
    words = ("execute", "-", "--dry-run", "--disallow-replication-factor-change")
    told = run(*words, text=text)
    assert told.exit_code != 0
    assert "1 partition would move" in told.stderr
    assert "t-0: The replication factor is changed from 2 to 1" in told.stderr
    assert made.moving == {}


def test_a_directory_is_looked_at_by_what_is_tried(made: ClusterInMemory) -> None:
    text = '{"partitions":[{"topic":"u","partition":0,"replicas":[1],"log_dirs":["/a"]}]}'
    told = run("execute", "-", "--dry-run", text=text)
    assert (told.exit_code, "1 partition would move" in told.stderr) == (0, True)
    told = run("execute", "-", "--dry-run", text=text.replace("/a", "/none"))
    assert told.exit_code != 0
    assert "u-0: broker 1 has no data directory /none" in told.stderr
    assert (made.moving, made.directories) == ({}, {})
