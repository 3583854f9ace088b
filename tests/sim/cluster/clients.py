"""Clients of a simulated cluster, which write down what they were told: producers, transactions that copy, members of a group, an administrator.

Each goes on until it is told to stop, whatever fails; what a client may be told while nodes come and go is no fault.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Final

from millstream.clients import (
    Admin,
    Consumer,
    ConsumerRecord,
    Delivery,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    TopicPartition,
)
from millstream.errors import KafkaError, MillstreamError
from millstream.protocol.enums import ElectionType
from millstream.testing.history import History, Outcome, Read, Send, Transaction
from millstream.testing.history_check import Guarantees, illegal
from tests.sim.cluster.world import ClusterWorld

EVENTS: Final = "events"
COPIES: Final = "copies"
PARTITIONS: Final = 3
GROUP: Final = "readers"
COPIER: Final = "copier"
LAST_READER: Final = "the last reader"
_PATIENT: Final[dict[str, Any]] = {"request_timeout_ms": 5_000}
_ENDS_WITHIN_S: Final = 120
_EQUAL_WITHIN_S: Final = 60
"""A fetch that was swallowed is given up after 30 s (replica.socket.timeout.ms)."""


def as_reads(records: Iterable[ConsumerRecord]) -> list[Read]:
    return [Read(TopicPartition(r.topic, r.partition), r.offset, r.value or b"") for r in records]


class ChangedItsMind(MillstreamError):
    """A copier aborts, on purpose, and begins anew where it has committed last."""


@dataclass
class Workload:
    """All clients of one story, and what they saw."""

    world: ClusterWorld
    loses_power: bool = True
    """Whether machines lose what they have not synced."""
    history: History = field(default_factory=History)
    copied: History = field(default_factory=History)
    """Of the topic of copies, as those see it who read what is committed."""
    created: set[str] = field(default_factory=set)
    """Topics whose creation was acknowledged."""
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    """The highest offsets of the group that anybody was told."""
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    """The highest ends of partitions that anybody was told."""
    assignment: Sequence[int] | None = None
    """The replicas of every partition, the preferred leader first; None where the controller chooses."""
    configs: dict[str, str | None] = field(default_factory=dict)
    """Of both topics."""
    aborted: float = 0.2
    """Of all transactions: a marker that is lost shows where the next one has another outcome."""
    acknowledged: list[tuple[float, Send]] = field(default_factory=list)
    """When producers that wait for each acknowledgement had it."""
    longest_wait_s: float = 0
    """For one acknowledgement."""
    poll_records: int | None = None
    """So few a poll, and slowly, that members of the group always have something to read and to commit."""
    is_quiet: bool = False
    """Whether producers wait."""
    is_over: bool = False

    def __post_init__(self) -> None:
        self.chance = Random(self.world.seed)
        self._topics = count(1)
        self.replicas = 3 if self.world.layout.is_replicated else 1
        if self.loses_power:
            # What is read with one replica need not be on its disk yet.
            self.world.observer.replicas.forgives = lambda partition: len(partition.replicas) == 1

    async def begin(self) -> None:
        async with self.admin() as admin:
            topics = [self._new_topic(name) for name in (EVENTS, COPIES)]
            (await admin.create_topics(topics)).raise_errors()

    def _new_topic(self, name: str) -> NewTopic:
        if self.assignment is not None:
            assigned = [self.assignment] * PARTITIONS
            return NewTopic(name, configs=dict(self.configs), assignments=assigned)
        return NewTopic(name, PARTITIONS, self.replicas, dict(self.configs))

    def admin(self) -> Admin:
        return Admin(
            bootstrap_servers=self.world.bootstrap,
            client_id="admin",
            environment=self.world.environment(),
        )

    def settings(self, name: str) -> dict[str, Any]:
        return {
            "bootstrap_servers": self.world.bootstrap,
            "client_id": name,
            "environment": self.world.environment(),
            **_PATIENT,
        }

    # Producers

    async def produce(self, name: str = "producer") -> None:
        """Sends different values to every partition, in its own time."""
        sent: list[tuple[Send, Delivery]] = []
        async with Producer(
            linger_ms=5, delivery_timeout_ms=600_000, **self.settings(name)
        ) as producer:
            number = 0
            while not self.is_over:
                if self.is_quiet:
                    await asyncio.sleep(0.1)
                    continue
                number += 1
                partition, value = number % PARTITIONS, b"%s-%d" % (name.encode(), number)
                noted = self.history.send(name, TopicPartition(EVENTS, partition), value)
                with contextlib.suppress(KafkaError):
                    sent.append((noted, await producer.send(EVENTS, value, partition=partition)))
                await asyncio.sleep(self.chance.uniform(0, 1))
            for noted, delivery in sent:
                with contextlib.suppress(KafkaError):
                    noted.acknowledge((await delivery).offset)

    async def produce_without_patience(self) -> None:
        """Sends with acks=1: what is acknowledged may go, what anybody has read may not."""
        settings = self.settings("impatient") | {"acks": 1, "enable_idempotence": False}
        number = 0
        with contextlib.suppress(KafkaError, MillstreamError):  # told at the end: some were lost
            async with Producer(linger_ms=0, delivery_timeout_ms=6_000, **settings) as producer:
                while not self.is_over:
                    if self.is_quiet:
                        await asyncio.sleep(0.1)
                        continue
                    number += 1
                    value = b"fast-%d" % number
                    with contextlib.suppress(KafkaError):
                        await producer.send(EVENTS, value, partition=number % PARTITIONS)
                    await asyncio.sleep(self.chance.uniform(0, 0.2))

    async def produce_one_by_one(self) -> None:
        """Waits for each acknowledgement, and notes the longest time that one took."""
        loop = asyncio.get_running_loop()
        async with Producer(delivery_timeout_ms=600_000, **self.settings("patient")) as producer:
            number = 0
            while not self.is_over:
                number += 1
                began_s = loop.time()
                value = b"patient-%d" % number
                noted = self.history.send("patient", TopicPartition(EVENTS, 0), value)
                delivery = await producer.send(EVENTS, value, partition=0)
                noted.acknowledge((await delivery).offset)
                self.acknowledged.append((loop.time(), noted))
                self.longest_wait_s = max(self.longest_wait_s, loop.time() - began_s)
                await asyncio.sleep(0.2)

    # A transactional copy of all events

    async def copy(self) -> None:
        """One life of a copier after the other."""
        life = 0
        while not self.is_over:
            life += 1
            with contextlib.suppress(KafkaError, MillstreamError):
                await self._copy_for_a_while(life)
            await asyncio.sleep(self.chance.uniform(0, 1))

    async def _copy_for_a_while(self, life: int) -> None:
        async with (
            Producer(
                transactional_id=COPIER, delivery_timeout_ms=60_000, **self.settings(COPIER)
            ) as producer,
            Consumer(
                group_id=COPIER,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                isolation_level="read_committed",
                **self.settings(f"source of {COPIER}"),
            ) as consumer,
        ):
            await producer.init_transactions()
            consumer.assign([(EVENTS, number) for number in range(PARTITIONS)])
            number = 0
            while not self.is_over:
                records = await consumer.poll(max_records=20, timeout_ms=500)
                if records:
                    number += 1
                    transaction = self.copied.begin(COPIER, f"{life}.{number}")
                    await self._copy(producer, consumer, records, transaction)

    async def _copy(
        self,
        producer: Producer,
        consumer: Consumer,
        records: list[ConsumerRecord],
        transaction: Transaction,
    ) -> None:
        await producer.begin_transaction()
        deliveries: list[tuple[Send, Delivery]] = []
        for record in records:
            source = b"%s@%d" % (record.value or b"", record.offset)
            value, partition = b"%s#%s" % (source, transaction.name.encode()), record.partition
            noted = self.copied.send(COPIER, TopicPartition(COPIES, partition), value, transaction)
            deliveries.append((noted, await producer.send(COPIES, value, partition=partition)))
        positions = {
            TopicPartition(record.topic, record.partition): OffsetAndMetadata(
                record.offset + 1, leader_epoch=record.leader_epoch
            )
            for record in records
        }
        if self.chance.random() < self.aborted:
            for _, delivery in deliveries:
                await delivery
            await producer.abort_transaction()
            transaction.abort()
            raise ChangedItsMind
        await producer.send_offsets_to_transaction(positions, consumer.group_metadata())
        await producer.commit_transaction()
        transaction.commit()
        for noted, delivery in deliveries:
            noted.acknowledge((await delivery).offset)

    # A group

    async def consume(self, name: str = "consumer", protocol: str = "classic") -> None:
        """A member of the group, which commits what it was given."""
        while not self.is_over:
            with contextlib.suppress(KafkaError, MillstreamError):
                await self._consume_for_a_while(name, protocol)
            await asyncio.sleep(0.1)

    async def _consume_for_a_while(self, name: str, protocol: str) -> None:
        async with Consumer(
            group_id=GROUP,
            group_protocol=protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **self.settings(name),
        ) as consumer:
            consumer.subscribe([EVENTS])
            while not self.is_over:
                records = await consumer.poll(max_records=self.poll_records, timeout_ms=500)
                if records:
                    self.history.poll(name, as_reads(records), moved=True)
                    await consumer.commit(timeout_ms=5_000)
                if self.poll_records is not None:
                    await asyncio.sleep(0.15)

    async def watch_offsets(self) -> None:
        """What the group has committed never goes back."""
        chosen = [TopicPartition(EVENTS, number) for number in range(PARTITIONS)]
        while not self.is_over:
            with contextlib.suppress(KafkaError, MillstreamError):
                async with Consumer(group_id=GROUP, **self.settings("watcher")) as consumer:
                    while not self.is_over:
                        self._note_offsets(await consumer.committed(chosen, timeout_ms=5_000))
                        await asyncio.sleep(0.3)
            await asyncio.sleep(0.1)

    def _note_offsets(self, found: dict[TopicPartition, OffsetAndMetadata | None]) -> None:
        for partition, committed in found.items():
            offset = -1 if committed is None else committed.offset
            before = self.committed.get(partition, -1)
            self.world.observer.require(
                offset >= before,
                f"the offset of {GROUP} in {partition} was {before}, and is {offset}",
            )
            self.committed[partition] = offset

    async def watch_ends(self) -> None:
        """Where a partition ends for its readers never goes back, whoever leads it."""
        chosen = [TopicPartition(EVENTS, number) for number in range(PARTITIONS)]
        async with Consumer(**self.settings("watcher of ends")) as consumer:
            while not self.is_over:
                with contextlib.suppress(KafkaError, MillstreamError):
                    for partition, end in (await consumer.end_offsets(chosen)).items():
                        before = self.ends.get(partition, 0)
                        self.world.observer.require(
                            end >= before, f"the end of {partition} was {before}, and is {end}"
                        )
                        self.ends[partition] = end
                await asyncio.sleep(0.2)

    # An administrator

    async def move_replicas(self) -> None:
        """Reassigns partitions, cancels that, and has preferred leaders elected, at random."""
        brokers = [each.id for each in self.world.brokers]
        while not self.is_over:
            await asyncio.sleep(self.chance.uniform(1, 6))
            partition = TopicPartition(
                self.chance.choice([EVENTS, COPIES]), self.chance.randrange(PARTITIONS)
            )
            what = self.chance.choice(["move", "move", "cancel", "elect"])
            with contextlib.suppress(KafkaError, MillstreamError):
                async with self.admin() as admin:
                    if what == "elect":
                        await admin.elect_leaders(
                            ElectionType.PREFERRED, [partition], timeout_ms=10_000
                        )
                        continue
                    chosen = self.chance.sample(brokers, self.chance.choice([2, 3, 3]))
                    wanted = {partition: None if what == "cancel" else chosen}
                    moved = await admin.alter_partition_reassignments(wanted, timeout_ms=10_000)
                    moved.raise_errors()
                    self.world.observer.paths[f"reassignment: {what}"] += 1

    async def administer(self) -> None:
        """Creates topics; what was acknowledged is there in the end."""
        while not self.is_over:
            await asyncio.sleep(self.chance.uniform(1, 6))
            with contextlib.suppress(KafkaError, MillstreamError):
                async with self.admin() as admin:
                    name = f"topic-{next(self._topics)}"
                    replicas = self.chance.choice([1, self.replicas])
                    made = await admin.create_topics(
                        [NewTopic(name, 2, replicas)], timeout_ms=10_000
                    )
                    made.raise_errors()
                    self.created.add(name)

    # The end

    async def check(self) -> None:
        """After the faults: all that was acknowledged is there, once and in order; every partition takes records."""
        await self._serves()
        await self.check_replicas()
        await self.read_all(self.history, EVENTS, "read_uncommitted")
        await self.read_all(self.copied, COPIES, "read_committed")
        if self.loses_power:
            self._forget_what_was_taken_back()
        for history in (self.history, self.copied):
            wrong = illegal(history, self._guarantees(history))
            assert not wrong, f"{len(wrong)} anomalies: {wrong[:3]}"
        self._check_copies()
        self.check_created()

    def may_lose(self, from_s: float, to_s: float) -> None:
        """What was acknowledged in this time need not be there in the end."""
        for acknowledged_s, noted in self.acknowledged:
            if from_s <= acknowledged_s <= to_s:
                noted.outcome, noted.offset = Outcome.UNKNOWN, None

    def check_created(self) -> None:
        image = self.world.image
        assert image is not None, "a cluster has metadata"
        missing = sorted(name for name in self.created if name not in image.topics)
        assert not missing, f"{missing} were created, and are gone"

    def _check_copies(self) -> None:
        """Whatever was read is copied once, however often it was tried. (Whoever reads what a broker loses with its power is sent back to the beginning.)"""
        copies = Counter(
            read.value.partition(b"#")[0]
            for poll in self.copied.polls
            if poll.consumer == LAST_READER
            for read in poll.reads
        )
        twice = [source for source, number in copies.items() if number > 1]
        assert not twice or self.loses_power, f"copied twice: {twice[:5]}"

    def _guarantees(self, history: History) -> Guarantees:
        """As for copies: those of a loss of power come in another order."""
        return Guarantees(idempotent=history is self.history or not self.loses_power)

    def _forget_what_was_taken_back(self) -> None:
        """With one replica, consumers read what is not on the disk yet, as on Kafka. A loss of power takes that back, and no acknowledgement."""
        in_the_end = {
            (read.partition, read.offset): read.value
            for poll in self.history.polls
            if poll.consumer == LAST_READER
            for read in poll.reads
        }
        for poll in self.history.polls:
            poll.reads = tuple(
                read
                for read in poll.reads
                if in_the_end.get((read.partition, read.offset)) == read.value
            )

    async def check_replicas(self) -> None:
        """Nobody writes any more: what a leader has wakes its followers at once."""
        nodes, replicas = self.world.nodes, self.world.observer.replicas
        for _ in range(_EQUAL_WITHIN_S):
            different = replicas.differences(lambda node: nodes[node].life)
            if not different:
                return
            await asyncio.sleep(1)
        raise AssertionError(f"replicas differ that are in sync: {different[:3]}")

    async def _serves(self) -> None:
        async with asyncio.timeout(_ENDS_WITHIN_S), Producer(**self.settings("last")) as producer:
            for partition in range(PARTITIONS):
                noted = self.history.send("last", TopicPartition(EVENTS, partition), b"the last")
                delivery = await producer.send(EVENTS, b"the last", partition=partition)
                noted.acknowledge((await delivery).offset)

    async def read_all(self, history: History, topic: str, isolation_level: str) -> None:
        chosen = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        async with (
            asyncio.timeout(_ENDS_WITHIN_S),
            Consumer(
                auto_offset_reset="earliest",
                isolation_level=isolation_level,
                **self.settings(LAST_READER),
            ) as consumer,
        ):
            consumer.assign(chosen)
            ends = await consumer.end_offsets(chosen)
            while any([await consumer.position(each) < end for each, end in ends.items()]):
                history.poll(LAST_READER, as_reads(await consumer.poll(timeout_ms=500)))
        history.is_complete = True


async def all_end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Waits for clients that were told to stop. Raises what one of them failed with."""
    async with asyncio.timeout(_ENDS_WITHIN_S):
        await asyncio.gather(*tasks)
