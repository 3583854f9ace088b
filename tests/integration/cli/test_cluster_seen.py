"""`millstream cluster status | quorum | brokers | features` against a node that is broker and controller, asked at either listener."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main
from millstream.testing.node_runner import ThreadNode
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient
from tests.support.kafka_node import free_port


class World:
    def __init__(self, broker: str, controller: str) -> None:
        self.broker, self.controller = broker, controller

    def run(self, *arguments: str, of_controllers: bool = False) -> Result:
        option = (
            ("--bootstrap-controller", self.controller) if of_controllers else ("-b", self.broker)
        )
        return CliRunner().invoke(main, ["cluster", *arguments, *option])

    def told(self, *arguments: str, of_controllers: bool = False) -> list[dict[str, object]]:
        result = self.run(*arguments, "--output", "json", of_controllers=of_controllers)
        assert result.exit_code == 0, result.output
        rows: list[dict[str, object]] = json.loads(result.stdout)
        return rows


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    brokers, controllers = (f"127.0.0.1:{free_port()}" for _ in range(2))
    node = ThreadNode(
        {
            "listeners": f"PLAINTEXT://{brokers},CONTROLLER://{controllers}",
            "log.dirs": str(tmp_path_factory.mktemp("node")),
            "millstream.flush.on.ack": "never",
        }
    )
    node.start(LONG_ENOUGH_S)
    with RawClient(brokers) as client:
        client.create_topic("t", 3)
    yield World(brokers, controllers)
    node.stop()


def test_the_status_on_one_screen(world: World) -> None:
    lines = world.run("status").stdout.splitlines()
    assert lines[1].startswith("controller  node 1, epoch ")
    assert lines[3] == "brokers     1 active, 0 fenced, 0 cordoned"
    assert (
        lines[4]
        == "partitions  3 of 1 topic, 0 without a leader, 0 under-replicated, 0 under min ISR, 0 not led by their first replica"
    )
    (told,) = world.told("status")
    (node,) = told["nodes"]  # type: ignore[misc]  # one row of a table
    assert (node["roles"], node["state"], node["quorum"], node["leads"]) == (
        ["broker", "controller"],
        "active",
        "leader",
        3,
    )


def test_controllers_tell_of_the_quorum(world: World) -> None:
    (told,) = world.told("status", of_controllers=True)
    assert (told["active_controller"], told["voters"]) == (1, 1)
    (quorum,) = world.told("quorum", "--status", of_controllers=True)
    assert (quorum["leader_id"], quorum["max_follower_lag"]) == (1, 0)
    assert "LeaderId:               1" in world.run("quorum", of_controllers=True).stdout


def test_a_voter_that_is_there_is_not_added_again(world: World, tmp_path: Path) -> None:
    file = tmp_path / "broker.properties"
    file.write_text("process.roles=broker\nnode.id=2\ncontroller.quorum.bootstrap.servers=h:1\n")
    result = world.run("quorum", "add-controller", "--config", str(file))
    assert (result.exit_code, "is no controller" in result.stderr) == (2, True)


def test_brokers_and_features(world: World) -> None:
    (broker,) = world.told("brokers")
    assert (broker["state"], broker["leads"], len(broker["log_dirs"])) == ("active", 3, 1)  # type: ignore[arg-type]  # a list
    levels = {row["feature"]: row["finalized"] for row in world.told("features")}
    assert levels["metadata.version"] == 30
    changed = world.told("features", "downgrade", "--feature", "share.version=0", "--dry-run")
    assert changed == [{"feature": "share.version", "level": 0, "result": "could be changed"}]
    refused = world.run("features", "upgrade", "--feature", "share.version=9")
    assert (refused.exit_code, refused.stderr.startswith("error: share.version: ")) == (1, True)


def test_versions_of_apis(world: World) -> None:
    """A node of ours takes what Kafka 4.3 takes, and our client the same: Produce from 3 on since Kafka 4.0."""
    by_name = {row["name"]: row for row in world.told("brokers", "api-versions")}
    assert by_name["PRODUCE"] == {"broker": 1, "api": 0, "name": "PRODUCE", "min": 0, "max": 13, "usable": 13}  # fmt: skip
    assert by_name["FETCH"]["usable"] == 18
    alone = world.run("brokers", "api-versions", "--broker", "9")
    assert (alone.exit_code != 0, "9" in alone.stderr) == (True, True)
    refused = world.run("brokers", "api-versions", of_controllers=True)
    assert refused.exit_code == 2


def test_disks_plans_and_elections(world: World) -> None:
    (directory,) = json.loads(world.run("log-dirs", "--output", "json", "--topic-list", "t").stdout)["brokers"][0]["logDirs"]  # fmt: skip
    assert sorted(each["partition"] for each in directory["partitions"]) == ["t-0", "t-1", "t-2"]
    planned = world.run("reassign", "plan", "t")
    assert json.loads(planned.stdout)["partitions"][2]["replicas"] == [1]
    assert "0 would have other replicas" in planned.stderr
    refused = world.run("reassign", "plan", "t", "--replication-factor", "2")
    assert (refused.exit_code, "2 replicas need as many brokers" in refused.stderr) == (2, True)
    assert world.told("reassign", "list") == []
    (row,) = world.told("elect-leaders", "preferred", "t", "--partition", "1")
    assert (row["partition"], row["result"], row["leader"]) == (1, "not needed", 1)
    tried = world.told("elect-leaders", "preferred", "t", "--dry-run")
    assert [(row["result"], row["leader"]) for row in tried] == [("not needed", 1)] * 3
    alive = world.run("brokers", "unregister", "1", "--dry-run")
    assert (alive.exit_code, "Broker 1 is alive" in alive.stderr) == (1, True)
    unknown = world.run("elect-leaders", "unclean", "zz", "--yes")
    assert (unknown.exit_code, unknown.stderr.startswith("error: zz: ")) == (3, True)


def test_what_is_as_wanted_moves_nowhere(world: World, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(world.run("reassign", "plan", "t").stdout)
    tried = world.run("reassign", "execute", str(file), "--throttle", "1000", "--dry-run")
    assert (tried.exit_code, tried.stdout) == (0, file.read_text())
    assert tried.stderr == "0 partitions would move; without --dry-run they do\n"
    begun = world.run("reassign", "execute", str(file), "--throttle", "1000")
    assert (begun.exit_code, begun.stdout) == (0, file.read_text())
    assert world.run("reassign", "verify", str(file)).exit_code == 0
    cancelled = world.run("reassign", "cancel", str(file))
    assert (cancelled.exit_code, "nothing of it moves" in cancelled.stderr) == (0, True)


def test_what_controllers_do_not_know_is_said(world: World) -> None:
    result = world.run("brokers", of_controllers=True)
    assert (result.exit_code, "give --bootstrap-server" in result.stderr) == (2, True)
    both = world.run("status", "--bootstrap-controller", world.controller)
    assert (both.exit_code, "not both" in both.stderr) == (2, True)


def test_nobody_there_is_one_sentence() -> None:
    result = CliRunner().invoke(main, ["cluster", "status", "-b", "127.0.0.1:1"])
    assert (result.exit_code, result.stderr.count("\n")) == (5, 1)
