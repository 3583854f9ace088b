"""Drivers that die and partitions that come and go: each record is read once, in order, by the micro-batches of the commit log."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from millstream.errors import MillstreamError, ProducerFenced
from millstream.model import TopicPartition
from tests.support.opaque_world import PARTITIONS, Died, Driver, DriverGone, World

partitions = st.sampled_from(PARTITIONS)


class Drivers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.outlived: list[Driver] = []
        """Processes of drivers that died, and do not know it yet."""

    @contextlib.contextmanager
    def may_end(self) -> Iterator[None]:
        """A process that has outlived its driver may have taken the store away: then the query ends, and is started again."""
        try:
            yield
        except (Died, ProducerFenced):
            self.start()

    @rule(partition=partitions, records=st.integers(1, 5))
    def produce(self, partition: TopicPartition, records: int) -> None:
        self.world.ends[partition] += records

    @rule(partition=partitions)
    def come_or_go(self, partition: TopicPartition) -> None:
        self.world.available ^= {partition}

    @precondition(lambda self: not self.world.is_batch_open)
    @rule(records_max=st.integers(1, 4), dies=st.booleans())
    def plan(self, records_max: int, *, dies: bool) -> None:
        with self.may_end():
            self.world.plan(records_max, dies=dies)

    @precondition(lambda self: self.world.is_batch_open)
    @rule(dies=st.sampled_from(["before", "after", None]))
    def try_batch(self, dies: str | None) -> None:
        self.world.store.dies = dies
        with self.may_end():
            self.world.try_batch()
        self.world.store.dies = None

    @precondition(lambda self: self.world.is_batch_open)
    @rule(partition=partitions)
    def overtake(self, partition: TopicPartition) -> None:
        """The driver dies while its process writes, and the next one comes further before the write arrives."""
        write_arrives = self.world.driver

        def next_driver() -> None:
            self.start()
            self.world.available ^= {partition}
            self.run()

        self.world.store.meanwhile = next_driver
        with contextlib.suppress(ProducerFenced):
            self.world.ranges_by(write_arrives)
        self.world.store.meanwhile = None

    def run(self) -> None:
        with self.may_end():
            self.world.run()

    @precondition(lambda self: self.world.read is not None)
    @rule()
    def commit(self) -> None:
        self.world.commit()

    @precondition(lambda self: self.world.read is not None)
    @rule(partition=partitions)
    def fail_and_try_again(self, partition: TopicPartition) -> None:
        self.start()
        self.come_or_go(partition)
        self.run()

    @rule()
    def start(self) -> None:
        """Of what the driver before has begun only the logs and the store are left."""
        self.outlived.append(self.world.start())

    @precondition(lambda self: self.outlived and self.world.is_batch_open)
    @rule(partition=partitions)
    def outlive(self, partition: TopicPartition) -> None:
        """A process of before comes to look for partitions only now, and misses one. Its answer reaches nobody."""
        self.world.available ^= {partition}
        with contextlib.suppress(MillstreamError, DriverGone):
            self.world.ranges_by(self.outlived[-1])
        self.world.available ^= {partition}

    @invariant()
    def records_come_in_order_and_once(self) -> None:
        for partition in PARTITIONS:
            given = self.world.given_of(partition)
            assert given == list(range(len(given)))

    def teardown(self) -> None:
        """Once everything is there, nothing is missing."""
        self.world.store.dies = None
        self.world.available = set(PARTITIONS)
        self.start()
        while self.world.run(records_max=3):
            self.records_come_in_order_and_once()
        for partition in PARTITIONS:
            assert len(self.world.given_of(partition)) == self.world.ends[partition]


TestDrivers = Drivers.TestCase
TestDrivers.settings = settings(max_examples=300, stateful_step_count=30, deadline=None)
