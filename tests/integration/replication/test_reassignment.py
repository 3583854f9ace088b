"""Replicas that move to other brokers: as the command has it, over brokers that are real, down to the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.broker.storage import background
from millstream.cli.main import main
from millstream.clients import NewTopic
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.blocking import Admin, Consumer, Producer
from millstream.model import TopicPartition
from millstream.testing import Cluster
from tests.patience import LONG_ENOUGH_MS, wait_until

RECORDS = 300


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "_DELETED_FILES_INTERVAL_MS", 100)
        data = tmp_path_factory.mktemp("cluster")
        with Cluster(data=data, settings={"log.segment.delete.delay.ms": "0"}) as cluster:
            yield cluster


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[Admin]:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        yield admin


def reassign(cluster: Cluster, *arguments: str) -> Result:
    return CliRunner().invoke(
        main, ["cluster", "reassign", *arguments, "-b", cluster.bootstrap_servers]
    )


def plan(path: Path, topic: str, *replicas: list[int]) -> str:
    partitions = [
        {"topic": topic, "partition": number, "replicas": each}
        for number, each in enumerate(replicas)
    ]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


def filled(cluster: Cluster, admin: Admin, topic: str, *replicas: list[int]) -> None:
    new = NewTopic(topic, assignments=list(replicas))
    admin.create_topics([new]).raise_errors()
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for number in range(RECORDS):
            producer.send(topic, str(number).encode() * 20, partition=number % len(replicas))


def held(cluster: Cluster, admin: Admin, topic: str) -> int:
    count = 0
    names = [TopicPartition(topic, each.partition) for each in described(admin, topic)]
    with Consumer(
        bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign(names)
        while count < RECORDS and (came := consumer.poll(timeout_ms=LONG_ENOUGH_MS)):
            count += len(came)
    return count


def described(admin: Admin, topic: str) -> list[PartitionDescription]:
    return admin.describe_topics([topic]).result(topic).partitions


def directories(cluster: Cluster, node: int, topic: str) -> list[str]:
    return sorted(
        each.name for each in Path(cluster.data).glob(f"*{node}*/**/{topic}-*") if each.is_dir()
    )


def test_replicas_move_and_nothing_stays_behind(
    cluster: Cluster, admin: Admin, tmp_path: Path
) -> None:
    filled(cluster, admin, "moved", [1, 2], [2, 1])
    file = plan(tmp_path / "plan.json", "moved", [2, 3], [3, 2])
    begun = reassign(cluster, "execute", file)
    assert begun.exit_code == 0, begun.output
    back = [each["replicas"] for each in json.loads(begun.stdout)["partitions"]]
    assert back == [[1, 2], [2, 1]]
    wait_until(lambda: reassign(cluster, "verify", file).exit_code == 0)
    found = described(admin, "moved")
    assert [[*each.replicas] for each in found] == [[2, 3], [3, 2]]
    wait_until(lambda: directories(cluster, 1, "moved") == [])
    assert directories(cluster, 3, "moved") == ["moved-0", "moved-1"]
    assert held(cluster, admin, "moved") == RECORDS


def test_a_partition_gets_more_replicas_and_fewer(
    cluster: Cluster, admin: Admin, tmp_path: Path
) -> None:
    filled(cluster, admin, "sized", [1])
    for replicas in ([1, 2, 3], [3]):
        file = plan(tmp_path / "plan.json", "sized", replicas)
        assert reassign(cluster, "execute", file).exit_code == 0
        wait_until(lambda file=file: reassign(cluster, "verify", file).exit_code == 0)
        wait_until(lambda r=replicas: sorted(described(admin, "sized")[0].isr) == r)
    wait_until(lambda: not (directories(cluster, 1, "sized") or directories(cluster, 2, "sized")))
    assert described(admin, "sized")[0].leader == 3
    assert held(cluster, admin, "sized") == RECORDS


def test_a_move_to_a_broker_that_is_down_is_called_off(
    cluster: Cluster, admin: Admin, tmp_path: Path
) -> None:
    filled(cluster, admin, "stays", [1, 2])
    cluster.stop(3)
    file = plan(tmp_path / "plan.json", "stays", [3, 2])
    assert reassign(cluster, "execute", file).exit_code == 0
    verified = reassign(cluster, "verify", file)
    assert (verified.exit_code, "in progress" in verified.stdout) == (1, True)
    assert [*described(admin, "stays")[0].replicas] == [3, 2, 1]
    cancelled = reassign(cluster, "cancel", file, "--yes")
    assert (cancelled.exit_code, "called off" in cancelled.stdout) == (0, True), cancelled.output
    cluster.restart(3)
    # Kafka's order: of the replicas of the move, target first, without those that were to be added.
    wait_until(lambda: [*described(admin, "stays")[0].replicas] == [2, 1])
    wait_until(lambda: directories(cluster, 3, "stays") == [])
    assert held(cluster, admin, "stays") == RECORDS


def test_a_replica_that_was_away_while_its_topic_was_deleted_is_moved_aside(
    cluster: Cluster, admin: Admin
) -> None:
    filled(cluster, admin, "gone", [1, 2, 3])
    wait_until(lambda: directories(cluster, 3, "gone") == ["gone-0"])
    cluster.stop(3)
    admin.delete_topics(["gone"]).raise_errors()
    admin.create_topics([NewTopic("gone", assignments=[[1, 2]])]).raise_errors()
    cluster.restart(3)
    (aside,) = directories(cluster, 3, "gone")
    assert aside.endswith("-stray")
    assert directories(cluster, 1, "gone")[0] == "gone-0"
