"""Replicas that move between the data directories of their brokers, while whatever can happen happens to them.

Every node has three directories; the first one has its metadata log, too. What is on one disk stays apart from what is on another: a
directory fails, or is full, alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest import mock

from millstream.broker.storage import replica_moves
from millstream.clients import Consumer, NewTopic, Producer, TopicPartition
from millstream.clients.admin import TopicPartitionReplica
from millstream.errors import KafkaError, MillstreamError
from millstream.metadata.image import TopicImage
from millstream.model import uuid_text
from tests.sim.cluster.clients import COPIES, EVENTS, PARTITIONS, Workload, all_end
from tests.sim.cluster.faults import (
    FAULTS_OF_ONE_MACHINE,
    FAULTS_OF_REPLICAS,
    Fault,
    Faults,
    isolate,
    stand_still,
)
from tests.sim.cluster.node import SimNode
from tests.sim.cluster.replica_scenarios import (
    a_while,
    all_but,
    at_work,
    close,
    leader_of_events,
    open_again,
    until_led_by_another,
)
from tests.sim.cluster.world import REPLICATED, REPLICATED_APART, ClusterWorld, Layout

DIRECTORIES: Final = ("/data", "/second", "/third")
TABLE: Final = "table"
MADE_ANEW: Final = "made-anew"
FAULTS_S: Final = 25
_LAST_STEP_BYTES: Final = 200
"""Of a few records: what is copied before the last step, and how, is seen with as few."""
_SETTLED_WITHIN_S: Final = 120
_FAILURES_TOLD_S: Final = 8
"""So long a controller may know nothing of a directory that has failed: it counts what is in it as in sync."""
_KEYS: Final = 5
_CHANGES_MAX: Final = 12
"""A move makes a directory and some files, renames one directory and then another."""
THREE_DIRECTORIES: Final = replace(
    REPLICATED,
    name="three combined nodes, three replicas, three directories each",
    more_settings=(
        ("log.dirs", ",".join(DIRECTORIES)),
        ("log.flush.offset.checkpoint.interval.ms", "2000"),
        ("log.cleaner.backoff.ms", "500"),
        ("replica.alter.log.dirs.io.max.bytes.per.second", "4000"),
    ),
)
_SLOW_MOVES: Final = replace(
    REPLICATED_APART,
    name="three controllers, three brokers, two directories each, slow moves",
    more_settings=(
        ("log.dirs", ",".join(DIRECTORIES[:2])),
        ("replica.alter.log.dirs.io.max.bytes.per.second", "500"),
    ),
)
"""Slower than what is written: a move lasts until that ends."""


@dataclass
class Movers(Workload):
    """As all clients, and those of two more topics: a compacted one, and one that is deleted and made anew all the time."""

    latest: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By key of the table: the last number that was acknowledged, and the last that was sent."""

    async def begin(self) -> None:
        await super().begin()
        compacted: dict[str, str | None] = {
            "cleanup.policy": "compact", "segment.ms": "3000", "min.cleanable.dirty.ratio": "0.01",
        }  # fmt: skip
        async with self.admin() as admin:
            made = await admin.create_topics(
                [NewTopic(TABLE, 1, 3, compacted), NewTopic(MADE_ANEW, 1, 3)]
            )
            made.raise_errors()

    def settings(self, name: str) -> dict[str, Any]:
        """Who sends without idempotence does not send again: in storms its records would stand there twice."""
        return super().settings(name) | ({"retries": 0} if name == "impatient" else {})

    async def move_directories(self) -> None:
        """Moves replicas to other directories, back before they are there, and to a third one meanwhile."""
        brokers = [each.id for each in self.world.brokers]
        parts = [TopicPartition(topic, n) for topic in (EVENTS, COPIES) for n in range(PARTITIONS)]
        parts += [TopicPartition(TABLE, 0), TopicPartition(MADE_ANEW, 0)]
        parts += [TopicPartition("__consumer_offsets", n) for n in range(3)]
        while not self.is_over:
            await asyncio.sleep(self.chance.uniform(0, 1.5))
            broker = self.chance.choice(brokers)
            chosen = self.chance.sample(parts, 4)
            moves = {
                TopicPartitionReplica(each.topic, each.partition, broker): self.chance.choice(DIRECTORIES)
                for each in chosen
            }  # fmt: skip
            with contextlib.suppress(KafkaError, MillstreamError):
                async with self.admin() as admin:
                    moved = await admin.alter_replica_log_dirs(moves, timeout_ms=5_000)
                    moved.raise_errors()
                    self.world.observer.count("replicas asked to move")

    async def make_anew(self) -> None:
        """Deletes a topic and makes it anew."""
        while not self.is_over:
            await asyncio.sleep(self.chance.uniform(1, 6))
            with contextlib.suppress(KafkaError, MillstreamError):
                async with self.admin() as admin:
                    await admin.delete_topics([MADE_ANEW], timeout_ms=5_000)
                    await asyncio.sleep(self.chance.uniform(0, 1))
                    made = await admin.create_topics([NewTopic(MADE_ANEW, 1, 3)], timeout_ms=5_000)
                    made.raise_errors()

    async def write_to_what_is_made_anew(self) -> None:
        while not self.is_over:
            with contextlib.suppress(KafkaError, MillstreamError):
                async with Producer(delivery_timeout_ms=6_000, **self.settings("anew")) as producer:
                    while not self.is_over:
                        await producer.send(MADE_ANEW, b"a record", partition=0)
                        await asyncio.sleep(0.3)

    async def keep_table(self) -> None:
        """Writes ever higher numbers to a few keys."""
        number = 0
        async with Producer(delivery_timeout_ms=600_000, **self.settings("keeper")) as producer:
            while not self.is_over:
                number += 1
                key = number % _KEYS
                self.latest[key] = self.latest.get(key, (0, 0))[0], number
                delivery = await producer.send(TABLE, b"%d" % number, key=b"%d" % key, partition=0)
                await delivery
                self.latest[key] = number, number
                await asyncio.sleep(0.15)

    async def check(self) -> None:
        await super().check()
        await self._check_table()
        with contextlib.suppress(AssertionError):
            await self.world.until(lambda: not self._wrong_places(), _SETTLED_WITHIN_S, "places")
        assert not (wrong := self._wrong_places()), f"replicas are in wrong places: {wrong[:4]}"

    async def _check_table(self) -> None:
        """Whatever is compacted, the last value of each key is there."""
        found: dict[int, int] = {}
        table = TopicPartition(TABLE, 0)
        async with Consumer(
            auto_offset_reset="earliest", **self.settings("reader of the table")
        ) as consumer:
            consumer.assign([table])
            end = (await consumer.end_offsets([table]))[table]
            while await consumer.position(table) < end:
                for each in await consumer.poll(timeout_ms=500):
                    found[int(each.key or b"")] = int(each.value or b"")
        for key, (acknowledged, sent) in self.latest.items():
            assert acknowledged <= found.get(key, -1) <= sent, (
                f"the table has {found.get(key)} for {key}: {acknowledged} was acknowledged last, and {sent} sent"
            )

    def _wrong_places(self) -> list[str]:
        image = self.world.image
        assert image is not None, "a cluster has metadata"
        return [
            wrong
            for node in self.world.brokers
            for topic in image.topics
            for number in range(len(topic.partitions))
            for wrong in _wrong_place(node, topic, number)
        ]


def _wrong_place(node: SimNode, topic: TopicImage, number: int) -> list[str]:
    """Says in what the directories of a node differ from the metadata, for one partition."""
    partition = topic.partitions[number]
    name, names = f"{topic.name}-{number}", set(node.disk.directories())
    there = [each for each in DIRECTORIES if f"{each}/{name}" in names]
    moving = [each for each in names if each.endswith("-future") and f"/{name}." in each]
    wanted = [
        each
        for node_id, each in zip(partition.replicas, partition.directories, strict=True)
        if node_id == node.id
    ]
    has = [_directory_id(node, each) for each in there]
    if moving or has != [uuid_text(each) for each in wanted]:
        return [f"{name} on node {node.id}: in {there}, moving to {moving}, {has} where the metadata have {wanted}"]  # fmt: skip
    return []


def _directory_id(node: SimNode, path: str) -> str:
    lines = node.disk.read(f"{path}/meta.properties").decode().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("directory.id="))


# what happens to them


async def killed_in_a_move(faults: Faults) -> None:
    """The process is killed at some write of a move, or at one that comes soon after."""
    node = faults.some_node()
    if node is not None:
        await _ended_in_a_move(faults, node, node.kill)


async def power_lost_in_a_move(faults: Faults) -> None:
    """As before, and what that machine's disk does not have is gone."""
    node, world = faults.some_node(), faults.world
    if node is None or not world.is_well or faults.without_power:
        return
    faults.without_power.append(node)
    try:
        undone = faults.chance.randint(0, 3)
        await _ended_in_a_move(faults, node, lambda: node.lose_power(faults.torn, undone))
        while not (node.is_ready and world.is_well):  # noqa: ASYNC110 - other loops act
            await asyncio.sleep(0.1)
    finally:
        faults.without_power.remove(node)


async def _ended_in_a_move(faults: Faults, node: SimNode, end: Callable[[], None]) -> None:
    disk, life, chance = node.disk, node.life, faults.chance
    is_last_step = chance.random() < 0.6
    left = [chance.randint(0, _CHANGES_MAX)]
    begun = False

    def before(change: str, path: str) -> None:
        nonlocal begun
        begun = begun or (path.endswith("-future") if is_last_step else "-future" in path)
        if is_last_step and change == "make_directory":
            begun = False
        if begun and node.life is life and node.is_up:
            left[0] -= 1
            if left[0] < 0:
                faults.world.observer.count("ended in a move")
                end()

    disk.before_change = before
    try:
        for _ in range(80):
            await asyncio.sleep(0.1)
            if node.life is not life or not node.is_up:
                break
    finally:
        disk.before_change = lambda _change, _path: None
    await faults.a_while(5)
    if not node.is_up:
        node.start()


async def full_directory(faults: Faults) -> None:
    """No byte more fits into one of the directories, for a while. That of the metadata log is another disk."""
    await _refused(faults, errno.ENOSPC, ("append", "open", "reserve", "write_atomically"))


async def broken_directory(faults: Faults) -> None:
    """The disk of one directory is gone: the broker serves those in the others, until it is started again with one that is well."""
    node = await _refused(faults, errno.EIO, ())
    if node is not None and not faults.without_power:
        node.kill()
        await faults.a_while(3)
        if not node.is_up:
            node.start()


async def _refused(faults: Faults, code: int, changes: tuple[str, ...]) -> SimNode | None:
    node = faults.some_node(lambda node: node.is_ready)
    if node is None or faults.without_power:
        return None
    disk, bad = node.disk, faults.chance.choice(DIRECTORIES[1:])

    def before(change: str, path: str) -> None:
        if path.startswith(f"{bad}/") and (not changes or change in changes):
            raise OSError(code, os.strerror(code), path)

    disk.before_change = before
    try:
        await faults.a_while(8)
    finally:
        disk.before_change = lambda _change, _path: None
    return node


FAULTS_OF_MOVES: Final[tuple[Fault, ...]] = (
    killed_in_a_move, killed_in_a_move, killed_in_a_move, killed_in_a_move, full_directory, broken_directory, isolate, stand_still,
    *FAULTS_OF_REPLICAS,
)  # fmt: skip
FAULTS_OF_MOVES_AND_POWER: Final[tuple[Fault, ...]] = (
    power_lost_in_a_move, power_lost_in_a_move, power_lost_in_a_move, full_directory, broken_directory, *FAULTS_OF_ONE_MACHINE,
)  # fmt: skip
"""Without kills: who was killed counts as one that may have lost something, so the last who has all may be who loses it (KIP-966)."""


async def moves_between_directories(world: ClusterWorld) -> None:
    """All of it at the same time: moves, kills, reassignments, deletions, compaction, transactions."""
    await _moves_and(FAULTS_OF_MOVES, world)


async def moves_on_failing_machines(world: ClusterWorld) -> None:
    """As before, and one machine after the other loses its power, or one of its directories."""
    await _moves_and(FAULTS_OF_MOVES_AND_POWER, world)


async def _moves_and(faults: Sequence[Fault], world: ClusterWorld) -> None:
    with mock.patch.object(replica_moves, "_LAST_STEP_BYTES", _LAST_STEP_BYTES):
        await world.start()
        world.observer.replicas.compacted.add(TABLE)
        work = Movers(world, loses_power=False)
        await work.begin()
        loop = asyncio.get_running_loop()
        clients = [
            loop.create_task(each)
            for each in (
                work.produce(),
                work.produce_without_patience(),
                work.copy(),
                work.consume(),
                work.watch_offsets(),
                work.watch_ends(),
                work.keep_table(),
                work.move_replicas(),
                work.move_directories(),
                work.make_anew(),
                work.write_to_what_is_made_anew(),
            )
        ]
        try:
            happening = Faults(world)
            await happening.happen(faults, FAULTS_S, 4)
            await happening.end()
            await world.heal()
            await asyncio.sleep(_FAILURES_TOLD_S)
            await world.heal()
            work.is_over = True
            await all_end(clients)
            await work.check()
        finally:
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)


async def a_cut_in_a_move(world: ClusterWorld) -> None:
    """A leader moves to another directory what nobody has but itself; then another one leads, and has that cut."""
    with mock.patch.object(replica_moves, "_LAST_STEP_BYTES", _LAST_STEP_BYTES):
        async with at_work(world, "produce_without_patience", "produce") as work:
            leader = leader_of_events(world)
            close(world, leader, *all_but(world, leader))
            moves = {
                TopicPartitionReplica(EVENTS, number, leader.id): directory
                for number in range(PARTITIONS)
                for directory in DIRECTORIES[:2]
                if not leader.disk.exists(f"{directory}/{EVENTS}-{number}")
            }
            async with work.admin() as admin:
                (await admin.alter_replica_log_dirs(moves)).raise_errors()
            await until_led_by_another(world, leader.id)
            await a_while(world, 2)
            open_again(world, leader, *all_but(world, leader))
            await a_while(world, 12, 6)


LAYOUTS_OF: Final[Mapping[Callable[..., object], tuple[Layout, ...]]] = {
    moves_between_directories: (THREE_DIRECTORIES,),
    moves_on_failing_machines: (THREE_DIRECTORIES,),
    a_cut_in_a_move: (_SLOW_MOVES,),
}
MOVE_SCENARIOS: Final = tuple(LAYOUTS_OF)
