"""Brokers whose controller is another node: they register, follow its log, pass requests on, and go on when it goes and comes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.standing_alone import SETTINGS_ALONE
from millstream.broker.node.process import NodeProcess, ReadyReport
from millstream.clients import (
    Consumer,
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    Producer,
    ShareConsumer,
)
from millstream.clients.admin import (
    Admin,
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    TopicDescription,
)
from millstream.errors import DuplicateBrokerRegistration, UnknownTopicOrPartition
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom
from tests.patience import LONG_ENOUGH_S, eventually, until

SESSION = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "100"}


class Node:
    """A node of the cluster under test, in this process."""

    def __init__(self, settings: dict[str, str], cluster_id: str | None) -> None:
        self._settings = settings
        self._cluster_id = cluster_id
        self.process: NodeProcess
        self.report: ReadyReport
        self.running: asyncio.Task[None]

    def begin(self) -> asyncio.Future[ReadyReport]:
        config = broker_config(self._settings)
        self.process = NodeProcess(config, SystemClock(), SystemRandom(), SystemFileSystem())
        ready: asyncio.Future[ReadyReport] = asyncio.get_running_loop().create_future()
        self.running = asyncio.create_task(self.process.run(ready.set_result, self._cluster_id))
        return ready

    async def start(self) -> None:
        ready = self.begin()
        await asyncio.wait({ready, self.running}, return_when=asyncio.FIRST_COMPLETED)
        if self.running.done():
            await self.running
        self.report = await ready
        at = dict(re.findall(r"(\w+)://([\d.]+:\d+)", self.report.listeners))
        for name, address in at.items():  # the same ones in its next life
            listeners = self._settings["listeners"]
            self._settings["listeners"] = listeners.replace(f"{name}://127.0.0.1:0", f"{name}://{address}")  # fmt: skip

    async def stop(self) -> None:
        self.process.request_stop()
        await self.running

    async def kill(self) -> None:
        self.process.request_abort()
        await self.running


class Cluster:
    """One controller, and brokers apart from it."""

    def __init__(self, directory: Path, **of_controller: str) -> None:
        self._directory = directory
        self._nodes: list[Node] = []
        settings = {
            "process.roles": "controller",
            "node.id": "100",
            "listeners": "CONTROLLER://127.0.0.1:0",
            "log.dirs": str(directory / "controller"),
            **SESSION,
            **{key.replace("_", "."): value for key, value in of_controller.items()},
        }
        self.controller = Node(settings, None)

    def broker(self, node_id: int, cluster_id: str | None = None) -> Node:
        settings = {
            "process.roles": "broker",
            "node.id": str(node_id),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "controller.quorum.bootstrap.servers": self.controller.report.bootstrap,
            "log.dirs": str(self._directory / f"broker-{node_id}"),
            "millstream.flush.on.ack": "never",
            **SETTINGS_ALONE,
            **SESSION,
        }
        node = Node(settings, cluster_id or self.controller.report.cluster_id)
        self._nodes.append(node)
        return node

    async def stop(self) -> None:
        for node in [*self._nodes, self.controller]:
            if hasattr(node, "running") and not node.running.done():
                await node.stop()


@asynccontextmanager
async def cluster(
    directory: Path, brokers: int = 2, **of_controller: str
) -> AsyncIterator[Cluster]:
    made = Cluster(directory, **of_controller)
    async with asyncio.timeout(LONG_ENOUGH_S * 2):
        await made.controller.start()
        for number in range(1, brokers + 1):
            await made.broker(number).start()
        try:
            yield made
        finally:
            await made.stop()


async def brokers_are(admin: Admin, count: int) -> None:
    """Until so many brokers are not fenced."""
    while len((await admin.describe_cluster()).nodes) != count:  # noqa: ASYNC110 - it is asked
        await asyncio.sleep(0.05)


async def described(admin: Admin, topic: str) -> TopicDescription:
    """A topic that was created just now: a broker may hear of it a little later than the client."""
    while True:
        with contextlib.suppress(UnknownTopicOrPartition):
            return (await admin.describe_topics([topic])).result(topic)
        await asyncio.sleep(0.05)


async def until_led(admin: Admin, topic: str) -> None:
    """Until every partition has a leader."""
    while not all(each.leader >= 0 for each in (await described(admin, topic)).partitions):  # noqa: ASYNC110 - it is asked
        await asyncio.sleep(0.05)


async def produced(bootstrap: str, values: list[str], partitions: int) -> None:
    # Producer ids come from the controller, which may be away.
    async with Producer(bootstrap_servers=bootstrap, enable_idempotence=False) as producer:
        for number, value in enumerate(values):
            await producer.send("t", value.encode(), partition=number % partitions)


async def consumed(bootstrap: str, group: str, count: int, **settings: str) -> list[str]:
    """Whatever the group has not committed yet; it commits that."""
    found: list[str] = []
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", **settings
    ) as consumer:
        consumer.subscribe(["t"])
        while len(found) < count:
            found += [r.value.decode() for r in await consumer.poll(timeout_ms=500) if r.value]
        await consumer.commit()
    return sorted(found)


async def test_two_brokers_share_topics_and_either_passes_requests_on(tmp_path: Path) -> None:
    async with cluster(tmp_path) as made:
        first, second = made._nodes
        async with Admin(bootstrap_servers=second.report.bootstrap) as admin:
            (await admin.create_topics([NewTopic("t", 6)])).raise_errors()
            quorum = await admin.describe_metadata_quorum()
            assert (quorum.leader_id, [each.replica_id for each in quorum.voters]) == (100, [100])
            assert {each.replica_id for each in quorum.observers} == {1, 2}
            assert {each.leader for each in (await described(admin, "t")).partitions} == {1, 2}
        values = sorted(f"v{number}" for number in range(600))
        await produced(first.report.bootstrap, values, 6)
        assert await consumed(second.report.bootstrap, "g", 600) == values


async def test_transactions_span_brokers(tmp_path: Path) -> None:
    """Coordinators of transactions and groups are on either broker, as are the partitions: of one topic, and of offsets."""
    async with cluster(tmp_path) as made:
        bootstrap = made._nodes[0].report.bootstrap
        async with Admin(bootstrap_servers=bootstrap) as admin:
            (await admin.create_topics([NewTopic("t", 4)])).raise_errors()
            await described(admin, "t")
        for number in range(8):
            async with Producer(
                bootstrap_servers=bootstrap, transactional_id=f"x{number}"
            ) as producer:
                await producer.init_transactions()
                for commits in (True, False):
                    await producer.begin_transaction()
                    for partition in range(4):
                        value = f"{number}-{partition}-{commits}".encode()
                        await producer.send("t", value, partition=partition)
                    offsets = {TopicPartition("t", 0): OffsetAndMetadata(number if commits else 99)}
                    await producer.send_offsets_to_transaction(
                        offsets, ConsumerGroupMetadata(f"g{number}")
                    )
                    await (
                        producer.commit_transaction() if commits else producer.abort_transaction()
                    )
        found = await consumed(bootstrap, "reader", 32, isolation_level="read_committed")
        assert found == sorted(f"{n}-{p}-True" for n in range(8) for p in range(4))
        async with Admin(bootstrap_servers=bootstrap) as admin:
            listed = await admin.list_consumer_group_offsets([f"g{number}" for number in range(8)])
            for number in range(8):
                (offset,) = listed.result(f"g{number}").values()
                assert offset.offset == number


async def test_share_groups_span_brokers(tmp_path: Path) -> None:
    """The state of a partition is kept by either broker. Whatever was accepted does not come again to the next member."""
    async with cluster(tmp_path) as made:
        bootstrap = made._nodes[0].report.bootstrap
        async with Admin(bootstrap_servers=bootstrap) as admin:
            (await admin.create_topics([NewTopic("t", 6)])).raise_errors()
            await described(admin, "t")
            earliest = AlterConfig("share.auto.offset.reset", "earliest")
            group = ConfigResource(ConfigResourceType.GROUP, "g")
            (await admin.incremental_alter_configs({group: [earliest]})).raise_errors()
            for first in (0, 60):
                values = sorted(f"v{number:03}" for number in range(first, first + 60))
                await produced(bootstrap, values, 6)
                assert await shared(bootstrap, "g", 60) == values
            offsets = (await admin.list_share_group_offsets(["g"])).result("g")
            assert {partition.partition for partition in offsets} == set(range(6))
            assert sum(each.lag for each in offsets.values()) == 0


async def shared(bootstrap: str, group: str, count: int) -> list[str]:
    """As many records as a new member of the share group gets, all accepted."""
    found: list[str] = []
    async with ShareConsumer(bootstrap_servers=bootstrap, group_id=group) as consumer:
        consumer.subscribe(["t"])
        while len(found) < count:
            found += [r.value.decode() for r in await consumer.poll(timeout_ms=500) if r.value]
        await consumer.commit()
    return sorted(found)


async def test_brokers_go_on_without_their_controller_and_with_it_again(tmp_path: Path) -> None:
    async with cluster(tmp_path) as made:
        bootstrap = made._nodes[0].report.bootstrap
        async with Admin(bootstrap_servers=bootstrap) as admin:
            (await admin.create_topics([NewTopic("t", 2)])).raise_errors()
            await made.controller.kill()
            values = sorted(f"v{number}" for number in range(100))
            await produced(bootstrap, values, 2)
            await made.controller.start()
            (await admin.create_topics([NewTopic("later", 2)])).raise_errors()
            assert len((await described(admin, "later")).partitions) == 2
        assert await consumed(bootstrap, "g", 100) == values


async def test_a_killed_broker_is_fenced_and_comes_back_with_all_that_it_had(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path) as made:
        first, second = made._nodes
        async with Admin(bootstrap_servers=second.report.bootstrap) as admin:
            (await admin.create_topics([NewTopic("t", 4)])).raise_errors()
            values = sorted(f"v{number}" for number in range(100))
            await produced(first.report.bootstrap, values, 4)
            await first.kill()
            await brokers_are(admin, 1)
            lost = [p for p in (await described(admin, "t")).partitions if p.replicas == (1,)]
            assert {(p.leader, p.isr, p.eligible_leader_replicas) for p in lost} == {(-1, (), (1,))}
            await first.start()
            await brokers_are(admin, 2)
            await until_led(admin, "t")
            found = (await described(admin, "t")).partitions
            assert {(p.leader, p.isr, p.eligible_leader_replicas) for p in found} == {
                (number, (number,), ()) for number in (1, 2)
            }
        assert await consumed(second.report.bootstrap, "g", 100) == values


async def test_each_broker_has_the_directories_of_its_replicas_alone(tmp_path: Path) -> None:
    """One that is away when they are deleted sets them aside when it is back, also where the name is used again."""
    async with cluster(tmp_path) as made:
        first, second = made._nodes
        async with Admin(bootstrap_servers=second.report.bootstrap) as admin:
            (await admin.create_topics([NewTopic("t", 4), NewTopic("gone", 4)])).raise_errors()
            await directories_are(tmp_path, await places(admin, "t") | await places(admin, "gone"))
            await first.stop()
            (await admin.delete_topics(["t", "gone"])).raise_errors()
            await first.start()
            await brokers_are(admin, 2)
            (await admin.create_topics([NewTopic("t", 2)])).raise_errors()
            await directories_are(tmp_path, await places(admin, "t"))


async def places(admin: Admin, topic: str) -> set[tuple[int, str]]:
    """Broker and directory name of each partition."""
    partitions = (await described(admin, topic)).partitions
    return {(each.leader, f"{topic}-{each.partition}") for each in partitions if each.leader}


async def directories_are(tmp_path: Path, expected: set[tuple[int, str]]) -> None:
    def found() -> set[tuple[int, str]]:
        return {
            (broker, path.name)
            for broker in (1, 2)
            for path in (tmp_path / f"broker-{broker}").iterdir()
            if re.fullmatch(r"[a-z]+-\d+", path.name)
        }

    await until(lambda: found() == expected)


async def test_a_killed_broker_that_comes_back_before_its_session_is_over_waits_for_that(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(tmp_path, brokers=1) as made:
        (broker,) = made._nodes
        async with Admin(bootstrap_servers=broker.report.bootstrap) as admin:
            (await admin.create_topics([NewTopic("t", 2)])).raise_errors()
            values = sorted(f"v{number}" for number in range(100))
            await produced(broker.report.bootstrap, values, 2)
        await broker.kill()
        with caplog.at_level(logging.INFO):
            await broker.start()
        assert "is not registered yet" in caplog.text
        assert await consumed(broker.report.bootstrap, "g", 100) == values


async def test_a_broker_whose_id_another_one_has_ends(tmp_path: Path) -> None:
    """It gives up when its time for a registration is over, and the other one never hears of it."""
    async with cluster(tmp_path, brokers=1) as made:
        second = made.broker(1)
        second._settings["log.dirs"] = str(tmp_path / "second")
        second._settings["initial.broker.registration.timeout.ms"] = "300"
        with pytest.raises(DuplicateBrokerRegistration, match="give this one its own"):
            await second.start()
        (broker, _) = made._nodes
        async with Admin(bootstrap_servers=broker.report.bootstrap) as admin:
            (await admin.create_topics([NewTopic("t", 2)])).raise_errors()
            assert {each.leader for each in (await described(admin, "t")).partitions} == {1}


async def test_a_broker_whose_log_ends_before_the_controllers_begins_takes_a_snapshot(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "millstream.broker.metadata_log")
    retention = {
        "metadata_log_max_record_bytes_between_snapshots": "1",
        "metadata_max_retention_bytes": "1",
        "metadata_log_segment_bytes": "8388608",
    }
    async with cluster(tmp_path, **retention) as made:
        first, second = made._nodes
        async with Admin(bootstrap_servers=second.report.bootstrap) as admin:
            (await admin.create_topics([NewTopic("gone", 2)])).raise_errors()
            await first.stop()
            log = tmp_path / "controller" / "__cluster_metadata-0"
            (await admin.delete_topics(["gone"])).raise_errors()
            number = 0
            while len(list(log.glob("*.checkpoint"))) < 2 or number < 3:
                number += 1
                (await admin.create_topics([NewTopic(f"t{number}", 1)])).raise_errors()
            await first.start()
            topics = {f"t{each}" for each in range(1, number + 1)}
            async with Admin(bootstrap_servers=first.report.bootstrap) as here:
                assert set(await here.list_topics()) == topics
            assert "of node 100: the metadata log begins at offset " in caplog.text


async def test_a_broker_without_a_controller_waits_and_can_be_stopped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = Cluster(tmp_path)
    await made.controller.start()
    await made.controller.stop()
    broker = made.broker(1)
    ready = broker.begin()
    with caplog.at_level(logging.INFO):
        await until(lambda: "cannot connect" in caplog.text)
    assert not ready.done()
    await broker.stop()


async def test_a_broker_of_another_cluster_is_told_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(tmp_path, brokers=0) as made:
        foreign = made.broker(1, cluster_id="AAAAAAAAAAAAAAAAAAAAAQ")
        foreign.begin()
        await until(lambda: "refuses what this node asks" in caplog.text)
        await foreign.stop()


async def test_a_broker_has_its_own_configuration_changed_and_looks_at_its_pools(
    tmp_path: Path,
) -> None:
    """The controller, whose pools are its own business, stores what the broker lets through."""
    async with (
        cluster(tmp_path) as made,
        Admin(bootstrap_servers=made._nodes[0].report.bootstrap) as admin,
    ):
        own = [ConfigResource(ConfigResourceType.BROKER, each) for each in ("1", "2")]

        async def change(threads: str) -> list[str]:
            alter = [AlterConfig("num.io.threads", threads)]
            answers = await admin.incremental_alter_configs(dict.fromkeys(own, alter))
            return [str(each) for each in answers.errors().values()]

        assert await change("16") == []

        async def shows_change() -> bool:
            answers = [(await admin.describe_configs([each])).result(each) for each in own]
            return all(configs["num.io.threads"].value == "16" for configs in answers)

        await eventually(
            shows_change
        )  # each broker replays the change after the controller's answer
        refused = await change("33")
        assert len(refused) == 2
        assert all("not greater than double the current value 16" in each for each in refused)
