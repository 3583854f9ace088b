"""A partition of three replicas while fetches, answers, images and requests to the controller are late, lost and out of order.

Brokers have real partitions on real logs; the controller is a model of what Kafka's does with one partition. Whatever the order of
events, what is committed (acknowledged, or below the high watermark of who leads) is in the log of every member of the controller's
ISR, at its offset, for ever. Brokers are killed and come back with their files; no leader is elected uncleanly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

import pytest

from millstream.broker.storage.durability import AppendedRecords
from millstream.errors import IneligibleReplica, InvalidUpdateVersion, KafkaError, NotController
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.leader_epochs import EpochEnd
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import NO_LEADER, PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import BrokerId, LeaderEpoch
from millstream.protocol.generated.alter_partition import AlterPartitionResponsePartitionData
from millstream.records.batch import iterate_batches
from millstream.records.record import iterate_records
from millstream.replication import FetchPosition, FetchRead, Partition
from millstream.replication.fetch_position import FetchingReplica
from millstream.replication.followers import ReplicationRules
from millstream.replication.isr import Alteration
from millstream.runtime import Instant
from millstream.testing.sim_random import SimRandom
from tests.support.led_partition import LAG_MAX_MS, T0, TOPIC_ID, batch, registered
from tests.support.simulated_disk import SimFileSystem

IDS = tuple(BrokerId(each) for each in (1, 2, 3))
CONFIG = LogConfig(segment_ms=2**62, message_timestamp_after_max_ms=2**62)
Brokers = dict[BrokerId, BrokerRegistration]


@dataclass(eq=False)
class FetchRequest:
    """A fetch of a follower, and what its leader has answered it."""

    by: Broker
    life: int
    to: BrokerId
    position: FetchPosition
    replica: FetchingReplica
    answer: FetchRead | None = None
    data: bytes = b""


@dataclass(eq=False)
class Broker:
    broker_id: BrokerId
    disk: SimFileSystem = field(default_factory=SimFileSystem)
    life: int = 0
    is_up: bool = False
    seen: int = -1
    """The number of its newest image."""
    brokers: Brokers = field(default_factory=dict)
    epoch: int = 0
    asked: Alteration | None = None
    log: PartitionLog = field(init=False)
    partition: Partition = field(init=False)

    def start(self, now: Instant, epoch: int) -> None:
        self.life += 1
        self.is_up, self.seen, self.epoch, self.asked = True, -1, epoch, None
        environment = LogEnvironment(self.disk, SimRandom(0))
        self.log = PartitionLog.open(T0, "/d/t-0", environment, CONFIG, saved=SavedState(), now=now)
        self.partition = Partition(
            self.log,
            TOPIC_ID,
            self.broker_id,
            rules=ReplicationRules(lambda each: self.brokers.get(each), LAG_MAX_MS),
        )

    def values(self) -> list[bytes]:
        return values(self.log.read(0, 1 << 30, self.log.log_end_offset).records)


def values(records: object) -> list[bytes]:
    data = records if isinstance(records, bytes) else records.read()  # type: ignore[attr-defined] # a range of a file
    return [
        record.value or b""
        for header, view in iterate_batches(data, strict=True)
        for record in iterate_records(header, view)
    ]


class World:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.now = Instant(1_000_000, 0)
        self.brokers = {each: Broker(each) for each in IDS}
        self.written = 0
        self.committed: list[bytes] = []
        self.waiting: list[tuple[Broker, AppendedRecords, int]] = []
        """Records that are not acknowledged yet, and their number."""
        self.fetches: list[FetchRequest] = []
        self.requests: list[tuple[Broker, int, Alteration]] = []
        self.answers: list[tuple[Broker, int, Alteration, AlterPartitionResponsePartitionData]] = []
        self.next_epoch = 10
        self.registered: Brokers = {}
        self.state = PartitionImage(
            partition=0, replicas=IDS, isr=IDS, leader=IDS[0], leader_epoch=LeaderEpoch(0)
        )
        self.images: list[tuple[PartitionImage, Brokers]] = []

    def begin(self) -> None:
        for broker in self.brokers.values():
            self.come_back(broker)

    # --- the controller

    def publish(self, **changed: object) -> None:
        if changed:
            epoch = self.state.partition_epoch + 1
            self.state = replace(self.state, partition_epoch=epoch, **changed)  # type: ignore[arg-type] # fields
        self.images.append((self.state, dict(self.registered)))

    def come_back(self, broker: Broker) -> None:
        """It follows images from its registration on: what it led before that is over."""
        self.next_epoch += 1
        broker.start(self.now, self.next_epoch)
        self.registered[broker.broker_id] = registered(broker.broker_id, self.next_epoch)
        if self.state.leader == NO_LEADER and broker.broker_id in self.state.isr:
            self.publish(
                leader=broker.broker_id, leader_epoch=LeaderEpoch(self.state.leader_epoch + 1)
            )
        else:
            self.publish()
        self.see_image(broker, len(self.images) - 1)

    def fence(self, broker_id: BrokerId) -> None:
        """Out of the ISR, unless nobody else is in it."""
        self.registered[broker_id] = replace(self.registered[broker_id], fenced=True)
        isr = tuple(each for each in self.state.isr if each != broker_id) or self.state.isr
        leader = self.state.leader
        if leader == broker_id:
            leader = next((e for e in isr if not self.registered[e].fenced), NO_LEADER)
        if (isr, leader) == (self.state.isr, self.state.leader):
            self.publish()
        elif leader == self.state.leader:
            self.publish(isr=isr)
        else:
            epoch = LeaderEpoch(self.state.leader_epoch + 1)
            self.publish(isr=isr, leader=leader, leader_epoch=epoch)

    def alter(self, sender: Broker, asked: Alteration) -> AlterPartitionResponsePartitionData:
        state = self.state
        isr = tuple(each for each, _ in asked.isr)
        code = 0
        if asked.leader_epoch > state.leader_epoch or asked.partition_epoch > state.partition_epoch:
            code = NotController.code
        elif (
            asked.leader_epoch < state.leader_epoch
            or asked.partition_epoch < state.partition_epoch
            or sender.broker_id != state.leader
        ):
            code = InvalidUpdateVersion.code
        elif any(
            self.registered[each].fenced or epoch not in (-1, self.registered[each].broker_epoch)
            for each, epoch in asked.isr
        ):
            code = IneligibleReplica.code
        elif isr != state.isr:
            self.publish(isr=isr)
        return AlterPartitionResponsePartitionData(
            partition_index=0, error_code=code, leader_id=self.state.leader, leader_epoch=self.state.leader_epoch,
            isr=list(self.state.isr), partition_epoch=self.state.partition_epoch,
        )  # fmt: skip

    # --- what happens

    def up(self) -> Broker | None:
        broker = self.any()
        return broker if broker.is_up else None

    def any(self) -> Broker:
        return self.brokers[self.random.choice(IDS)]

    def kill(self) -> None:
        broker = self.up()
        if broker is not None:
            broker.is_up = False
            broker.log.abandon()

    def session_ends(self) -> None:
        """Of one that is gone, or that the controller only does not hear."""
        broker_id = self.any().broker_id
        if not self.registered[broker_id].fenced:
            self.fence(broker_id)

    def restart(self) -> None:
        broker = self.any()
        if not broker.is_up:
            if not self.registered[broker.broker_id].fenced:
                self.fence(broker.broker_id)
            self.come_back(broker)

    def unfence(self) -> None:
        broker = self.up()
        if broker is not None and self.registered[broker.broker_id].fenced:
            fenced = self.registered[broker.broker_id]
            self.registered[broker.broker_id] = replace(fenced, fenced=False)
            if self.state.leader == NO_LEADER and broker.broker_id in self.state.isr:
                epoch = LeaderEpoch(self.state.leader_epoch + 1)
                self.publish(leader=broker.broker_id, leader_epoch=epoch)
            else:
                self.publish()

    def image(self) -> None:
        broker = self.up()
        if broker is not None:
            self.see_image(broker, broker.seen + self.random.choice((1, 1, 1, 2, 3)))

    def see_image(self, broker: Broker, number: int) -> None:
        number = min(number, len(self.images) - 1)
        if number > broker.seen:
            broker.seen = number
            state, broker.brokers = self.images[number]
            broker.partition.apply(state, self.now)
            self.take_acknowledged()

    def time(self) -> None:
        milliseconds = self.random.choice((1, 500, LAG_MAX_MS // 2, LAG_MAX_MS + 1))
        self.now = Instant(self.now.wall_ms + milliseconds, self.now.monotonic_ms + milliseconds)

    def produce(self) -> None:
        leaders = [b for b in self.brokers.values() if b.is_up and b.partition.is_leader]
        if not leaders:
            return
        broker = self.random.choice(leaders)
        self.written += 1
        appended = broker.partition.append(batch(b"%d" % self.written), self.now)
        epoch = broker.partition.leader_epoch
        records = AppendedRecords(
            broker.partition, appended.last_offset + 1, epoch, False, must_replicate=True
        )
        self.waiting.append((broker, records, self.written))
        self.take_acknowledged()

    def fetch(self) -> None:
        broker = self.up()
        if broker is None or broker.partition.is_leader or broker.partition.leader == NO_LEADER:
            return
        end = broker.log.log_end_offset
        position = FetchPosition(
            end,
            150,
            current_leader_epoch=broker.partition.leader_epoch,
            last_fetched_epoch=broker.log.leader_epochs.latest_epoch,
            reads_to_end=True,
        )
        replica = FetchingReplica(broker.broker_id, broker.epoch, 0)
        self.fetches.append(
            FetchRequest(broker, broker.life, broker.partition.leader, position, replica)
        )

    def fetch_arrives(self) -> None:
        waiting = [each for each in self.fetches if each.answer is None]
        if waiting:
            self.read(self.random.choice(waiting))

    def read(self, fetch: FetchRequest) -> None:
        leader = self.brokers[fetch.to]
        if not leader.is_up:
            self.fetches.remove(fetch)
            return
        try:
            read = leader.partition.read_as_replica(fetch.position, fetch.replica, self.now)
        except KafkaError:
            self.fetches.remove(fetch)
            return
        records = read.records
        fetch.data = records if isinstance(records, bytes) else bytes(records.read())
        fetch.answer = read
        self.take_acknowledged()

    def fetch_is_answered(self) -> None:
        answered = [each for each in self.fetches if each.answer is not None]
        if answered:
            self.take(self.random.choice(answered))

    def fetch_at_once(self) -> None:
        count = len(self.fetches)
        self.fetch()
        if len(self.fetches) > count:
            fetch = self.fetches[-1]
            self.read(fetch)
            if fetch.answer is not None:
                self.take(fetch)

    def take(self, fetch: FetchRequest) -> None:
        self.fetches.remove(fetch)
        broker, read = fetch.by, fetch.answer
        assert read is not None
        if (
            not broker.is_up
            or broker.life != fetch.life
            or broker.partition.is_leader
            or broker.partition.leader_epoch != fetch.position.current_leader_epoch
            or broker.log.log_end_offset != fetch.position.offset
        ):
            return
        if read.diverging is not None:
            broker.log.truncate_to(self.divergence(broker.log, read.diverging), self.now)
        elif fetch.data:
            broker.log.append_as_follower(memoryview(bytearray(fetch.data)), self.now)
        known = min(read.high_watermark, broker.log.log_end_offset)
        broker.partition._high_watermark = known  # the follower's half has its own tests

    @staticmethod
    def divergence(log: PartitionLog, diverging: EpochEnd) -> int:
        own = log.leader_epochs.end_offset(diverging.epoch, log.log_end_offset)
        if own.epoch < 0:
            return 0
        return (
            min(own.end_offset, diverging.end_offset)
            if own.epoch == diverging.epoch
            else own.end_offset
        )

    def look(self) -> None:
        broker = self.up()
        if broker is None or broker.asked is not None:
            return
        wanted = broker.partition.wanted_alteration(self.now)
        self.take_acknowledged()
        if wanted is not None:
            broker.asked = wanted
            self.requests.append((broker, broker.life, wanted))

    def request_arrives(self) -> None:
        """It may arrive twice, if its answer was lost."""
        if not self.requests:
            return
        index = self.random.randrange(len(self.requests))
        is_again = self.random.random() < 0.2
        request = broker, life, asked = self.requests[index]
        if self.registered[broker.broker_id].fenced and broker.life == life:
            return  # it is asked again
        if broker.life != life or not is_again:
            del self.requests[index]
        if broker.life != life:
            return
        self.answers.append((*request, self.alter(broker, asked)))

    def answer_arrives(self) -> None:
        if not self.answers:
            return
        index = self.random.randrange(len(self.answers))
        broker, life, asked, answer = self.answers.pop(index)
        if broker.is_up and broker.life == life:
            broker.asked = None
            broker.partition.take_altered(asked, answer, self.now)
            self.take_acknowledged()

    # --- what must hold

    def take_acknowledged(self) -> None:
        """Adds what has been acknowledged, or can be read, to what is committed."""
        for broker in self.brokers.values():
            if broker.is_up and broker.partition.is_leader:
                have = broker.values()[: broker.partition.high_watermark]
                common = min(len(have), len(self.committed))
                assert have[:common] == self.committed[:common], (
                    "readers were shown something else before"
                )
                self.committed += have[common:]
        left = []
        for broker, records, number in self.waiting:
            if not broker.is_up or broker.partition is not records.partition:
                continue
            if records.is_safe:
                assert self.committed[records.end_offset - 1] == b"%d" % number
            elif records.partition.has_led_since(records.leader_epoch):
                left.append((broker, records, number))
        self.waiting = left

    def committed_is_in_every_in_sync_log(self) -> None:
        for broker_id in self.state.isr:
            broker = self.brokers[broker_id]
            if broker.is_up:
                assert broker.values()[: len(self.committed)] == self.committed

    def offsets_are_in_order(self) -> None:
        for broker in self.brokers.values():
            if broker.is_up:
                broker.partition.check_offsets()


ACTIONS: dict[Callable[[World], None], int] = {
    World.produce: 12,
    World.fetch_at_once: 40,
    World.fetch: 6,
    World.fetch_arrives: 6,
    World.fetch_is_answered: 6,
    World.image: 50,
    World.look: 12,
    World.request_arrives: 12,
    World.answer_arrives: 8,
    World.time: 2,
    World.kill: 2,
    World.restart: 6,
    World.session_ends: 2,
    World.unfence: 8,
}
"""How often each happens."""


def run(seed: int) -> World:
    world = World(Random(seed))
    world.begin()
    for _ in range(1_000):
        (action,) = world.random.choices(list(ACTIONS), list(ACTIONS.values()))
        action(world)
        world.committed_is_in_every_in_sync_log()
        world.offsets_are_in_order()
    return world


@pytest.mark.parametrize("seed", range(40))
def test_what_is_committed_is_never_lost(seed: int) -> None:
    run(seed)


def test_the_worlds_get_somewhere() -> None:
    worlds = [run(seed) for seed in range(1_000, 1_005)]
    assert min(len(world.committed) for world in worlds) > 0
    assert sum(world.state.leader_epoch for world in worlds) > 10
    assert (
        sum(
            len(after.isr) > len(before.isr)
            for w in worlds
            for before, after in pairwise(s for s, _ in w.images)
        )
        > 5
    )  # joined
