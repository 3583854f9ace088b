"""Three nodes that are controller and broker each: they elect one that leads, and another one when it is killed or stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.broker.config.standing_alone import SETTINGS_ALONE
from millstream.cli.storage.command import storage
from millstream.clients.admin import Admin, NewTopic
from millstream.errors import MillstreamError
from tests.integration.broker.test_brokers_apart import SESSION, Node, consumed, described, produced
from tests.patience import LONG_ENOUGH_S, until
from tests.support.kafka_node import free_port

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


class Three:
    def __init__(self, directory: Path) -> None:
        ports = [free_port() for _ in range(3)]
        voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in enumerate(ports, 1))
        self.nodes = {
            number: Node(
                {
                    "node.id": str(number),
                    "listeners": f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}",
                    "controller.quorum.voters": voters,
                    "log.dirs": str(directory / f"node-{number}"),
                    "millstream.flush.on.ack": "never",
                    **SETTINGS_ALONE,
                    **SESSION,
                },
                CLUSTER_ID,
            )
            for number, port in enumerate(ports, 1)
        }

    @property
    def bootstrap(self) -> str:
        return ",".join(node.report.bootstrap for node in self.nodes.values())


@asynccontextmanager
async def three(directory: Path) -> AsyncIterator[Three]:
    made = Three(directory)
    async with asyncio.timeout(LONG_ENOUGH_S * 2):
        await asyncio.gather(*(node.start() for node in made.nodes.values()))
        try:
            yield made
        finally:
            for node in made.nodes.values():
                if not node.running.done():
                    await node.kill()


async def leads_now(admin: Admin, *, other_than: int = -1) -> int:
    """Returns who leads, as soon as somebody does that is another one."""
    while True:
        try:
            leader = (await admin.describe_metadata_quorum(timeout_ms=2_000)).leader_id
        except MillstreamError:
            leader = -1
        if leader not in {-1, other_than}:
            return leader
        await asyncio.sleep(0.02)


async def test_three_nodes_are_one_cluster(tmp_path: Path) -> None:
    async with three(tmp_path) as made, Admin(bootstrap_servers=made.bootstrap) as admin:
        (await admin.create_topics([NewTopic("t", 6)])).raise_errors()
        assert {p.leader for p in (await described(admin, "t")).partitions} == {1, 2, 3}
        quorum = await admin.describe_metadata_quorum()
        assert {voter.replica_id for voter in quorum.voters} == {1, 2, 3}
        values = sorted(f"v{number}" for number in range(300))
        await produced(made.bootstrap, values, 6)
        assert await consumed(made.bootstrap, "g", 300) == values


@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_another_controller_leads_when_the_first_is_gone(tmp_path: Path, how: str) -> None:
    """What was decided stays, partitions of the others go on, and the node that is gone comes back."""
    async with three(tmp_path) as made, Admin(bootstrap_servers=made.bootstrap) as admin:
        (await admin.create_topics([NewTopic("t", 3)])).raise_errors()
        first = await leads_now(admin)
        await getattr(made.nodes[first], how)()
        second = await leads_now(admin, other_than=first)
        (await admin.create_topics([NewTopic("later", 1)])).raise_errors()
        assert len((await described(admin, "later")).partitions) == 1
        await made.nodes[first].start()
        quorum = await admin.describe_metadata_quorum()
        assert quorum.leader_id == second
        values = sorted(f"v{number}" for number in range(90))
        await produced(made.bootstrap, values, 3)
        assert await consumed(made.bootstrap, "g", 90) == values


def formatted(directory: Path, node_id: int, port: int, how: str, **more: str) -> Node:
    """A controller of a dynamic quorum, formatted with `how`."""
    directory.mkdir()
    settings = {
        "process.roles": "controller",
        "node.id": str(node_id),
        "listeners": f"CONTROLLER://127.0.0.1:{port}",
        "log.dirs": str(directory / "data"),
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    written = directory / "controller.properties"
    written.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    options = ["format", "-t", CLUSTER_ID, "-c", str(written), how]
    result = CliRunner().invoke(storage, options, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return Node(settings, None)


async def test_a_controller_adds_itself_to_the_quorum(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With `controller.quorum.auto.join.enable`; it is a voter in its next life, too, and needed then."""
    caplog.set_level(logging.INFO, "millstream.broker.metadata_log")
    ports = [free_port() for _ in range(2)]
    servers = f"127.0.0.1:{ports[0]}"
    first = formatted(
        tmp_path / "1", 1, ports[0], "--standalone", controller_quorum_bootstrap_servers=servers
    )
    second = formatted(
        tmp_path / "2", 2, ports[1], "--no-initial-controllers",
        controller_quorum_bootstrap_servers=servers, controller_quorum_auto_join_enable="true",
    )  # fmt: skip
    async with asyncio.timeout(LONG_ENOUGH_S), Admin(bootstrap_controllers=servers) as admin:
        await first.start()
        await second.start()
        while len((await admin.describe_metadata_quorum()).voters) < 2:  # noqa: ASYNC110 - another node acts
            await asyncio.sleep(0.05)
        told = "metadata quorum: the voters are 1, 2: node 2 with directory "
        await until(lambda: caplog.text.count(told) == 2)  # the second hears of it a little later
        await second.stop()
        await second.start()
        quorum = await admin.describe_metadata_quorum()
        assert {voter.replica_id for voter in quorum.voters} == {1, 2}
        assert not quorum.observers
        await second.stop()
        await first.stop()
