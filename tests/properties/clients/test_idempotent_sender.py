"""An idempotent sender against a broker that loses, delays and refuses: nothing lost, nothing twice, all in order."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import example, given, settings
from hypothesis import strategies as st

from millstream.clients.cluster.core.cluster_metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.producer.core.accumulator import AccumulatorLimits, RecordAccumulator
from millstream.clients.producer.core.produce_planner import ProducePlanner
from millstream.clients.producer.core.produce_request import PlannedProduce
from millstream.clients.producer.core.producer_batch import ProducerBatch
from millstream.clients.producer.core.sender_policy import SenderPolicy
from millstream.errors import NetworkException
from millstream.model import TopicPartition
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.outages import Backoff
from millstream.protocol.generated.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from millstream.records.batch import read_header
from millstream.records.compression import Codec
from millstream.records.record import iterate_records

PARTITION = TopicPartition("t", 0)
CLUSTER = ClusterMetadata(
    nodes={1: BrokerNode(1, Address("h", 1))},
    topics={"t": TopicMetadata("t", partitions={0: PartitionMetadata(0, 1)})},
)
FAULTS = [
    "none",
    "none",
    "none",
    "request lost",
    "request late",
    "answer lost",
    "not leader",
    "refused",
    "too large",
    "replicas",
]
"""What befalls a request. One that is lost takes those behind it on its connection with it."""


class Steady:
    def random(self) -> float:
        return 0.5

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


@dataclass
class ModelBroker:
    """One partition's log, and Kafka's rule for producers: five batches remembered, the next sequence or nothing."""

    log: list[bytes] = field(default_factory=list)
    epoch: int = -1
    next_sequence: int = 0
    remembered: list[tuple[int, int, int]] = field(default_factory=list)

    def append(self, encoded: bytearray, *, split_above: int | None) -> tuple[int, int]:
        """(error code, base offset)."""
        header = read_header(encoded)
        if split_above is not None and header.record_count > split_above:
            return 10, -1
        if header.producer_epoch < self.epoch:
            return 47, -1
        for sequence, count, offset in self.remembered:
            known = (sequence, count) == (header.base_sequence, header.record_count)
            if header.producer_epoch == self.epoch and known:
                return 0, offset
        expected = self.next_sequence if header.producer_epoch == self.epoch else 0
        if (
            self.epoch >= 0 and header.base_sequence != expected
        ):  # whoever is unknown may start anywhere
            return 45, -1
        if header.producer_epoch > self.epoch:
            self.remembered.clear()
        self.epoch = header.producer_epoch
        offset = len(self.log)
        self.log += [record.value or b"" for record in iterate_records(header, encoded)]
        self.next_sequence = header.base_sequence + header.record_count
        self.remembered = [
            *self.remembered[-4:], (header.base_sequence, header.record_count, offset)
        ]  # fmt: skip
        return 0, offset


class Simulation:
    def __init__(self) -> None:
        self.now_ms = 0
        self.broker = ModelBroker()
        self.accumulator = RecordAccumulator(AccumulatorLimits(150, 10**9, 1_500))
        policy = SenderPolicy(-1, True, Codec.NONE, 5, 10_000, 3_000, 5, 10**6, Backoff(10, 50))
        self.sender = ProducePlanner(policy, self.accumulator, Steady())
        self.sender.set_producer_id(1, 0)
        self.in_flight: list[PlannedProduce] = []
        self.late: list[bytes] = []
        """Batches that were taken for lost and still travel."""
        self.sent: list[tuple[ProducerBatch, int, bytes]] = []

    def send(self) -> None:
        value = str(len(self.sent)).encode()
        queue = self.accumulator.queue(*PARTITION)
        record = (0, None, value, None, None, 30)
        index = self.accumulator.append(queue, *record)
        if index < 0:
            self.accumulator.start_batch(queue, self.now_ms)
            index = self.accumulator.append(queue, *record)
        assert queue.tail is not None
        self.sent.append((queue.tail, index, value))

    def drain(self) -> None:
        self.now_ms += 20
        self.sender.expire(self.now_ms)
        self.in_flight += self.sender.drain(CLUSTER, self.now_ms)

    def arrive(self, fault: str) -> None:
        """The oldest request reaches the broker, or does not; its answer reaches the sender, or does not."""
        if not self.in_flight:
            return
        planned = self.in_flight.pop(0)
        if fault in ("request lost", "request late"):
            if fault == "request late":
                self.late += [bytes(batch.encoded or b"") for batch in planned.batches.values()]
            for lost in (planned, *self.in_flight):
                self.sender.handle_failure(lost, NetworkException("lost"), self.now_ms)
            self.in_flight.clear()
            return
        (batch,) = planned.batches.values()
        assert batch.encoded is not None
        if fault in ("not leader", "refused"):
            code, offset = (6 if fault == "not leader" else 29), -1
        else:
            limit = 1 if fault == "too large" else None
            code, offset = self.broker.append(batch.encoded, split_above=limit)
            if fault == "replicas" and code == 0:
                code = 20
        if fault == "answer lost":
            self.sender.handle_failure(planned, NetworkException("lost"), self.now_ms)
            return
        partition = PartitionProduceResponse(index=0, error_code=code, base_offset=offset)
        topic = TopicProduceResponse(name="t", partition_responses=[partition])
        self.sender.handle_response(planned, ProduceResponse(responses=[topic]), self.now_ms)

    def late_arrives(self) -> None:
        if self.late:
            self.broker.append(bytearray(self.late.pop(0)), split_above=None)

    def settle(self) -> None:
        """No more faults: everything must come to an end."""
        for _ in range(20 * (len(self.sent) + 10)):
            if not self.accumulator.unsettled_count:
                return
            self.now_ms += 100
            self.drain()
            self.arrive("none")
        raise AssertionError("the sender does not come to an end")


steps = st.lists(
    st.one_of(
        st.just("send"),
        st.just("send"),
        st.just("drain"),
        st.sampled_from(["late", "wait"]),
        st.sampled_from(FAULTS),
    ),
    max_size=80,
)


@settings(max_examples=300, deadline=None)
@given(steps)
@example(["send", "send", "drain", "answer lost", "drain", "too large"])
def test_acknowledged_records_are_in_the_log_once_and_in_order(script: list[str]) -> None:
    world = Simulation()
    for step in script:
        if step == "send":
            world.send()
        elif step == "drain":
            world.drain()
        elif step == "late":
            world.late_arrives()
        elif step == "wait":
            world.now_ms += 1_000  # records live for 1,500 ms
        else:
            world.arrive(step)
    world.settle()

    log = world.broker.log
    assert len(set(log)) == len(log), f"written twice: {log}"
    assert [int(value) for value in log] == sorted(int(value) for value in log), f"reordered: {log}"
    for batch, index, value in world.sent:
        holder, position = batch.holder_of(index)
        assert holder.outcome is not None
        if holder.outcome.error is None:
            offset = holder.outcome.base_offset
            assert offset < 0 or log[offset + position] == value
            assert value in log
        elif not holder.maybe_appended:
            assert value not in log, "an error said that this was not written"
    assert world.accumulator.memory_used == 0
