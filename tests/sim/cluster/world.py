"""A simulated cluster: several whole nodes, a network between them, and clients in a loop of their own. One seed, one story.

    with ClusterWorld(seed, COMBINED) as world:
        world.run(story(world))

Knows which settings nodes have and when the cluster is well again; what happens to it is told by stories.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeVar
from unittest import mock

from millstream.broker.config.kraft_settings import kraft_settings
from millstream.broker.config.standing_alone import SETTINGS_ALONE
from millstream.broker.storage.data_directory import random_uuid
from millstream.broker.storage.disk_pool import DiskPool
from millstream.cli.storage.formatting import FormatOptions, Formatter, new_cluster
from millstream.metadata.image import RECOVERED, MetadataImage, PartitionImage
from millstream.model import BrokerId, uuid_text
from millstream.net.network import Environment
from millstream.testing.sim_random import SimRandom
from tests.sim.cluster.node import SimNode
from tests.sim.cluster.observer import Observer, observed
from tests.sim.cluster.schedule import LoopClock, Schedule, ScheduledLoop
from tests.sim.network import SimNetwork

Result = TypeVar("Result")
CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
STARTS_WITHIN_S: Final = 30
SETTLES_WITHIN_S: Final = 90
"""After all faults: a connection that swallows what is sent is given up after its request's 30 s, a session ends after 9 s."""
_SMALL: Final = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "metadata.log.max.record.bytes.between.snapshots": "2500",
    "metadata.max.retention.bytes": "6000",
}
"""Internal topics of fifty partitions would take most of the time; snapshots come so often that whoever was away needs one."""
_OF_THREE: Final = {
    **{key: "3" for key in SETTINGS_ALONE if key.endswith("replication.factor")},
    **{key: "2" for key in SETTINGS_ALONE if key.endswith("min.isr")},
    "min.insync.replicas": "2",
    "replica.lag.time.max.ms": "6000",
    "leader.imbalance.check.interval.seconds": "15",
}
"""Followers leave, and leaders are balanced, within the time that faults last."""


@dataclass(frozen=True)
class Layout:
    """Who is what in the cluster."""

    name: str
    controllers: int
    brokers: int
    """Apart from controllers; none where each node is both."""
    is_dynamic: bool = False
    is_replicated: bool = False
    """Whether topics of coordinators, and those that clients write, have three replicas, of which two must have a write."""

    more_settings: tuple[tuple[str, str], ...] = ()
    """Of every node."""
    spare_controllers: int = 0
    """Of all controllers of a dynamic quorum, the last ones, which do not vote before an administrator adds them."""

    @property
    def ids(self) -> range:
        return range(1, self.controllers + self.brokers + 1)

    def roles(self, node_id: int) -> str:
        if not self.brokers:
            return "broker,controller"
        return "controller" if node_id <= self.controllers else "broker"


COMBINED: Final = Layout("three combined nodes", 3, 0)
COMBINED_DYNAMIC: Final = Layout("three combined nodes, dynamic quorum", 3, 0, is_dynamic=True)
APART: Final = Layout("three controllers and two brokers", 3, 2)
APART_DYNAMIC: Final = Layout("three controllers, two brokers, dynamic quorum", 3, 2, is_dynamic=True)  # fmt: skip
LAYOUTS: Final = (COMBINED, COMBINED_DYNAMIC, APART, APART_DYNAMIC)
REPLICATED: Final = replace(
    COMBINED, name="three combined nodes, three replicas", is_replicated=True
)
REPLICATED_APART: Final = Layout("three controllers, three brokers, three replicas", 3, 3, is_replicated=True)  # fmt: skip
REPLICATED_OF_FOUR: Final = Layout("one controller, four brokers, three replicas", 1, 4, is_replicated=True)  # fmt: skip
SECOND_DIRECTORY: Final = "/second"
TWO_DIRECTORIES: Final = replace(
    REPLICATED,
    name="three combined nodes, three replicas, two directories each",
    more_settings=(
        ("log.dirs", f"/data,{SECOND_DIRECTORY}"),
        ("log.flush.offset.checkpoint.interval.ms", "2000"),
    ),
)
REPLICATED_LAYOUTS: Final = (REPLICATED, REPLICATED_OF_FOUR, REPLICATED, REPLICATED_APART)


class ClusterWorld:
    def __init__(self, seed: int, layout: Layout = COMBINED) -> None:
        self.seed = seed
        self.layout = layout
        self.schedule = Schedule(seed)
        self.loop = self.schedule.new_loop("network and clients")
        self.clock = LoopClock(self.loop)
        self.network = SimNetwork(seed, loop=self.loop)
        self.chance = self.network.chance
        self.observer = Observer()
        self.nodes = {node_id: self._new_node(node_id) for node_id in layout.ids}
        self._clients = 0
        self._log = _Log(self.schedule)
        self._while_open = ExitStack()
        if layout.is_dynamic:
            self._format()

    def __enter__(self) -> Self:
        self._while_open.enter_context(observed(self.observer))
        self._while_open.enter_context(mock.patch.object(DiskPool, "close", _close_pool))
        self._while_open.enter_context(self._log)
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.close()
        self.loop.die()
        self.schedule.bury()
        self._while_open.close()

    def run(self, story: Coroutine[Any, Any, Result]) -> Result:
        """Runs the story to its end. Raises what it raises, and AssertionError for every rule that was broken meanwhile."""
        self.schedule.after_round.append(self._check)
        return self.schedule.run(story, self.loop)

    @property
    def log(self) -> list[str]:
        """What nodes and clients have said, in order."""
        return self._log.lines

    # Nodes

    @property
    def controllers(self) -> list[SimNode]:
        return [each for each in self.nodes.values() if "controller" in self.layout.roles(each.id)]

    @property
    def brokers(self) -> list[SimNode]:
        return [each for each in self.nodes.values() if "broker" in self.layout.roles(each.id)]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{each.host}:9092" for each in self.brokers)

    async def start(self) -> None:
        for node in self.nodes.values():
            node.start()
        await self.until(lambda: self.is_well, STARTS_WITHIN_S, "the cluster starts")

    @property
    def image(self) -> MetadataImage | None:
        """The newest that any node has."""
        images = self.observer.images
        return images[max(images)] if images else None

    @property
    def is_well(self) -> bool:
        """Whether all nodes are ready, none is to end, and the newest metadata say that every broker and partition is at work."""
        image = self.image
        return (
            image is not None
            and all(node.is_ready and not node.is_paused for node in self.nodes.values())
            and not any(node.is_to_end for node in self.nodes.values())
            and len(image.brokers) == len(self.brokers)
            and not any(each.fenced for each in image.brokers.values())
            and all(is_in_order(part) for topic in image.topics for part in topic.partitions)
        )

    async def until(self, holds: Callable[[], bool], within_s: float, what: str) -> None:
        try:
            async with asyncio.timeout(within_s):
                while not holds():  # noqa: ASYNC110 - other loops act
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{what}: not within {within_s} s") from None

    async def heal(self) -> None:
        """Ends all faults and waits until the cluster is well, for as long as it may take."""
        self.network.open_all_links()
        self.network.weather = type(self.network.weather)()
        for node in self.nodes.values():
            node.calm()
            node.go_at(1)
            node.resume()
        await self.until(self._is_healed, SETTLES_WITHIN_S, "after the faults all are at work")

    def _is_healed(self) -> bool:
        """Starts whoever has ended, perhaps only now, since it was told to stop before.

        Whoever lacks a data directory does without it until it is started again: as an administrator would do it, once
        all the others are in sync.
        """
        for node in self.nodes.values():
            if not node.is_up:
                node.start()
            elif self._lacks_directory(node) and self._waits_for_nobody_but(node):
                node.kill()
        return self.is_well

    def _lacks_directory(self, node: SimNode) -> bool:
        registered = self.image.brokers.get(BrokerId(node.id)) if self.image is not None else None
        paths = dict(self.layout.more_settings).get("log.dirs", "/data").split(",")
        return (
            node.is_ready
            and registered is not None
            and not registered.fenced
            and len(registered.log_directories) < len(paths)
        )

    def _waits_for_nobody_but(self, node: SimNode) -> bool:
        image = self.image
        return (
            image is not None
            and all(each.is_ready for each in self.nodes.values())
            and not any(each.fenced for each in image.brokers.values())
            and all(
                not part.has_leader or {*part.replicas} - {*part.isr} <= {node.id}
                for topic in image.topics
                for part in topic.partitions
            )
        )

    def replace_disk(self, node: SimNode) -> None:
        """A controller of a dynamic quorum gets an empty disk, formatted as that of one that joins (`--no-initial-controllers`)."""
        node.wipe()
        self.observer.forget(node.id)
        options = FormatOptions(cluster_id=CLUSTER_ID, no_initial_controllers=True)
        self._format_one(node, options, SimRandom(self.seed + node.lives))

    # Clients

    def environment(self) -> Environment:
        """A host of its own for each client. It has an address for a name: envelopes tell the controller the client's."""
        self._clients += 1
        chance = SimRandom(self.seed * 1_000 + self._clients)
        return Environment(self.clock, chance, self.network.host(f"10.0.0.{self._clients}"))

    # Inside

    def _check(self, stepped: ScheduledLoop) -> None:
        """After each round of any loop."""
        self.observer.replicas.check()
        if self.observer.broken:
            raise AssertionError(self.observer.broken[0])
        if stepped.errors:
            raise AssertionError(stepped.errors[0])
        for node in self.nodes.values():
            if node.failures:
                raise AssertionError(node.failures[0])

    def _new_node(self, node_id: int) -> SimNode:
        layout, replicas = self.layout, self.observer.replicas
        roles, host = layout.roles(node_id), f"node-{node_id}"
        listeners = []
        if "broker" in roles:
            listeners.append(f"PLAINTEXT://{host}:9092")
        if "controller" in roles:
            listeners.append(f"CONTROLLER://{host}:9093")
        settings = {
            "process.roles": roles,
            "node.id": str(node_id),
            "listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "log.dirs": "/data",
            **SETTINGS_ALONE,
            **_SMALL,
            **(_OF_THREE if layout.is_replicated else {}),
            **self._quorum(),
            **dict(layout.more_settings),
        }
        if layout.is_dynamic and "controller" in roles and not layout.spare_controllers:
            settings["controller.quorum.auto.join.enable"] = "true"
        cluster_id = None if layout.is_dynamic else CLUSTER_ID
        node = SimNode(node_id, settings, cluster_id, self.schedule, self.network, self.seed)
        node.on_kill, node.on_power_lost = replicas.killed, replicas.forget_written
        return node

    def _quorum(self) -> dict[str, str]:
        ids = range(1, self.layout.controllers + 1)
        if self.layout.is_dynamic:
            servers = ",".join(f"node-{node_id}:9093" for node_id in ids)
            return {"controller.quorum.bootstrap.servers": servers}
        return {"controller.quorum.voters": ",".join(f"{each}@node-{each}:9093" for each in ids)}

    def _format(self) -> None:
        """As `millstream storage format --initial-controllers` does it on every node."""
        random = SimRandom(self.seed)
        voters = ",".join(
            f"{each.id}@{each.host}:9093:{uuid_text(random_uuid(random))}"
            for each in self.controllers[: self.layout.controllers - self.layout.spare_controllers]
        )
        options = FormatOptions(cluster_id=CLUSTER_ID, initial_controllers=voters)
        none = FormatOptions(cluster_id=CLUSTER_ID, no_initial_controllers=True)
        for node in self.nodes.values():
            is_spare = f"@{node.host}:" not in voters and node in self.controllers
            self._format_one(node, none if is_spare else options, random)

    def _format_one(self, node: SimNode, options: FormatOptions, random: SimRandom) -> None:
        settings = kraft_settings(node.settings)
        cluster = new_cluster(options, settings, random)
        formatter = Formatter(settings, node.disk, self.clock, random)
        for _ in formatter.format(options, cluster):
            pass


def _close_pool(pool: DiskPool) -> None:
    """The threads of the process that ends, whose loop this is."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ScheduledLoop), "a node ends in its own loop"
    loop.end_threads()
    _TRUE_CLOSE(pool)


_TRUE_CLOSE: Final = DiskPool.close


def is_in_order(partition: PartitionImage) -> bool:
    """Whether a partition has a leader that has recovered, all replicas in sync, and none on its way."""
    return (
        partition.has_leader
        and len(partition.isr) == len(partition.replicas)
        and partition.leader_recovery_state == RECOVERED
        and not partition.adding_replicas
        and not partition.removing_replicas
    )


class _Log(logging.Handler):
    """What nodes and clients say, with the virtual time and who said it."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []
        self._schedule = schedule

    def emit(self, record: logging.LogRecord) -> None:
        loop = asyncio._get_running_loop()
        who = loop.name if isinstance(loop, ScheduledLoop) else "nobody"
        if isinstance(loop, ScheduledLoop) and loop.is_dead:
            return
        text = self.format(record)
        self.lines.append(f"{self._schedule.now_s:9.3f} {who}: {record.levelname} {text}")

    def __enter__(self) -> Self:
        logger = logging.getLogger("millstream")
        self._level = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("millstream")
        logger.removeHandler(self)
        logger.setLevel(self._level)


def seeds(text: str) -> Sequence[int]:
    """Reads `FIRST-LAST`, or one seed."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)
