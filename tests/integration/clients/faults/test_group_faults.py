"""Groups under seeded faults, with both protocols: at each moment a partition has one owner, and nothing is left out.

A failure names its seed; `make faults SEEDS=17` repeats it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    NewTopic,
    Producer,
    RebalanceListener,
    TopicPartition,
)
from millstream.errors import CoordinatorNotAvailable, NotCoordinator
from millstream.protocol.api import ApiKey
from millstream.testing.faults.proxy import FaultProxy
from millstream.testing.history import History
from millstream.testing.history_check import illegal
from tests.integration.clients.faults.seeded import (
    IMPATIENT,
    SEEDS,
    WitnessedProducer,
    as_reads,
    rules_for,
)
from tests.patience import LONG_ENOUGH_S

NewName = Callable[[], str]
PARTITIONS = 4
RECORDS = 400
JOINING = [ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP]
"""Their answers may take as long as max_poll_interval_ms, so their loss is found as late as that."""
APIS = [
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.FIND_COORDINATOR,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
]
ERRORS = [NotCoordinator.code, CoordinatorNotAvailable.code]


class Ownership:
    """Who owns what, from what listeners were told. Two owners at a time are an error at once."""

    def __init__(self) -> None:
        self._owners: dict[TopicPartition, str] = {}
        self.moved: set[str] = set()
        """Members whose partitions changed since they last asked."""

    def taken(self, member: str, partitions: set[TopicPartition]) -> None:
        for partition in partitions:
            owner = self._owners.setdefault(partition, member)
            assert owner == member, f"{partition} is {owner}'s, and given to {member} too"
        self.moved.add(member)

    def given_up(self, member: str, partitions: set[TopicPartition]) -> None:
        for partition in partitions:
            assert self._owners.pop(partition, member) == member
        self.moved.add(member)


class Witness(RebalanceListener):
    def __init__(self, member: str, ownership: Ownership) -> None:
        self._member = member
        self._ownership = ownership

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        self._ownership.taken(self._member, partitions)

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        self._ownership.given_up(self._member, partitions)


class World:
    def __init__(self, bootstrap: str, topic: str, protocol: str) -> None:
        self.history = History()
        self.ownership = Ownership()
        self.seen: set[bytes] = set()
        self._settings = {
            "bootstrap_servers": bootstrap,
            "group_id": f"g-{topic}",
            "group_protocol": protocol,
            "auto_offset_reset": "earliest",
            "fetch_max_wait_ms": 50,
            **IMPATIENT,
        }
        if protocol == "classic":
            # Apache Kafka waits for a member whose connection was lost while it joined for all of the rebalance time.
            self._settings |= {
                "heartbeat_interval_ms": 100,
                "session_timeout_ms": 5_000,
                "max_poll_interval_ms": 6_000,
            }
        self._topic = topic
        self._names: Iterator[str] = (f"member-{number}" for number in range(100))

    async def member(self, polls: int | None = None) -> None:
        """Lives for so many polls, or until everything was seen."""
        name = next(self._names)
        async with Consumer(**self._settings) as consumer:
            consumer.subscribe([self._topic], listener=Witness(name, self.ownership))
            while len(self.seen) < RECORDS and polls != 0:
                records = await consumer.poll(max_records=20, timeout_ms=100)
                moved = name in self.ownership.moved
                self.ownership.moved.discard(name)
                self.history.poll(name, as_reads(records), moved=moved)
                self.seen.update(record.value or b"" for record in records)
                polls = None if polls is None else polls - 1
                await asyncio.sleep(0.005)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_group_under_faults_leaves_nothing_out_and_has_one_owner_a_partition(
    bootstrap: str, new_topic: NewName, protocol: str, seed: int
) -> None:
    topic = new_topic()
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, PARTITIONS)])).raise_errors()
    rules = rules_for(seed, JOINING, ERRORS, 0.2, silent=False) + rules_for(seed, APIS, ERRORS, 0.1)
    with FaultProxy(bootstrap, rules, seed=seed) as proxy:
        world = World(proxy.bootstrap_servers, topic, protocol)
        async with Producer(bootstrap_servers=bootstrap, batch_size=300) as producer:
            witness = WitnessedProducer(producer, world.history)
            for number in range(RECORDS):
                await witness.send(topic, b"%d" % number, number % PARTITIONS)
            assert await witness.settle() == 0
        async with asyncio.timeout(LONG_ENOUGH_S), asyncio.TaskGroup() as members:
            members.create_task(world.member())
            members.create_task(world.member(polls=6))
            members.create_task(world.member(polls=12))
    world.history.is_complete = True
    assert illegal(world.history) == []
    assert len(world.seen) == RECORDS
