"""Transactions over a network that loses, repeats and delays: all of a committed one is read once, nothing of another.

Both flows: partitions join by themselves and epochs are bumped (transaction.version 2), or are added and epochs stay.
What the edge does with a call, `clients.transactions`, is played by `Simulation` in a few lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
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
from millstream.clients.producer.transaction.core.transaction import (
    ProducerTransactionState,
    Transaction,
)
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

PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))
CLUSTER = ClusterMetadata(
    nodes={n: BrokerNode(n, Address("h", n)) for n in (0, 1)},
    topics={"t": TopicMetadata("t", partitions={n: PartitionMetadata(n, n) for n in (0, 1)})},
)
COMMIT, ABORT = "commit", "abort"


class Steady:
    def random(self) -> float:
        return 0.5

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


@dataclass
class ModelLog:
    """A partition: batches by epoch, and markers between them."""

    entries: list[bytes | str] = field(default_factory=list)
    epoch: int = -1
    next_sequence: int = 0
    remembered: list[tuple[int, int]] = field(default_factory=list)

    def append(self, encoded: bytes) -> int:
        """The error code."""
        header = read_header(encoded)
        if header.producer_epoch < self.epoch:
            return 47
        if header.producer_epoch > self.epoch:
            self.remembered.clear()
            self.next_sequence = 0
        if (header.base_sequence, header.record_count) in self.remembered:
            return 0
        if header.base_sequence != self.next_sequence:
            return 45
        self.epoch = header.producer_epoch
        self.entries += [record.value or b"" for record in iterate_records(header, encoded)]
        self.next_sequence = header.base_sequence + header.record_count
        self.remembered = [*self.remembered[-4:], (header.base_sequence, header.record_count)]
        return 0

    def mark(self, marker: str, epoch: int) -> None:
        self.entries.append(marker)
        if epoch > self.epoch:
            self.epoch, self.next_sequence = epoch, 0
            self.remembered.clear()

    def committed(self) -> list[bytes]:
        visible: list[bytes] = []
        pending: list[bytes] = []
        for entry in self.entries:
            if isinstance(entry, bytes):
                pending.append(entry)
            else:
                visible += pending if entry == COMMIT else []
                pending = []
        return visible


@dataclass
class ModelCluster:
    """One transactional id's coordinator and the partitions."""

    is_implicit: bool
    epoch: int = 0
    last_end: str = ""
    members: set[int] = field(default_factory=set)
    logs: tuple[ModelLog, ModelLog] = field(default_factory=lambda: (ModelLog(), ModelLog()))

    def produce(self, partition: int, encoded: bytes) -> int:
        """As a leader that asks the coordinator first (KIP-890)."""
        if read_header(encoded).producer_epoch != self.epoch:
            return 47
        if partition not in self.members:
            if not self.is_implicit:
                return 48
            self.members.add(partition)
        return self.logs[partition].append(encoded)

    def add(self, epoch: int, partitions: frozenset[TopicPartition]) -> bool:
        if epoch == self.epoch:
            self.members |= {tp.partition for tp in partitions}
        return epoch == self.epoch

    def end(self, epoch: int, outcome: str) -> int | None:
        """The epoch for what comes next; None for a refusal."""
        if not self.members:
            is_repeated = epoch == self.epoch - self.is_implicit and outcome == self.last_end
            starts_empty = self.is_implicit and outcome == ABORT and epoch == self.epoch
            if starts_empty:
                self.epoch += 1
                self.last_end = ABORT
            return self.epoch if is_repeated or starts_empty else None
        if epoch != self.epoch:
            return None
        self.epoch += self.is_implicit
        for partition in self.members:
            self.logs[partition].mark(outcome, self.epoch)
        self.members = set()
        self.last_end = outcome
        return self.epoch

    def renew(self, epoch: int) -> bool:
        """InitProducerId with an identity: whatever is open is aborted under an epoch of its own."""
        if epoch != self.epoch:
            return False
        self.epoch += 1
        for partition in self.members:
            self.logs[partition].mark(ABORT, self.epoch)
        self.members = set()
        self.last_end = ABORT
        return True


class Simulation:
    def __init__(self, *, is_implicit: bool) -> None:
        self.now_ms = 0
        self.is_implicit = is_implicit
        self.cluster = ModelCluster(is_implicit)
        self.accumulator = RecordAccumulator(AccumulatorLimits(150, 10**9, 10**9))
        self.transaction = Transaction("id")
        policy = SenderPolicy(-1, True, Codec.NONE, 5, 10_000, 3_000, 5, 10**6, Backoff(10, 50))
        self.sender = ProducePlanner(policy, self.accumulator, Steady(), self.transaction)
        self.transaction.restart()
        self.transaction.complete_initialization((1, 0))
        self.in_flight: list[PlannedProduce] = []
        self.late: list[Callable[[], object]] = []
        """Requests that were taken for lost and still travel."""
        self.count = 0
        self.open: list[list[bytes]] = [[], []]
        self.expected: list[list[bytes]] = [[], []]
        self.outcomes: list[tuple[ProducerBatch, int]] = []

    def begin(self) -> None:
        if self.transaction.state is not ProducerTransactionState.READY:
            return
        if self.transaction.renewal_wanted:
            _, epoch = self.transaction.identity
            assert self.cluster.renew(epoch), "nobody else has this transactional id"
            self.transaction.complete_initialization((1, self.cluster.epoch))
        self.open = [[], []]
        self.transaction.begin(is_implicit=self.is_implicit)

    def send(self) -> None:
        if self.transaction.state is not ProducerTransactionState.OPEN:
            return
        self.count += 1
        value, target = b"%d" % self.count, self.count % 2
        queue = self.accumulator.queue("t", target)
        record = (0, None, value, None, None, 60)
        index = self.accumulator.append(queue, *record)
        if index < 0:
            self.accumulator.start_batch(queue, self.now_ms)
            index = self.accumulator.append(queue, *record)
        assert queue.tail is not None
        self.outcomes.append((queue.tail, index))
        self.open[target].append(value)

    def work(self) -> None:
        """A transaction with records that are written."""
        self.begin()
        self.send()
        self.send()
        if self.transaction.state is ProducerTransactionState.OPEN:
            self.settle()

    def drain(self) -> None:
        self.now_ms += 20
        self.sender.expire(self.now_ms)
        self.in_flight += self.sender.drain(CLUSTER, self.now_ms)

    def add(self, fault: str) -> None:
        wanted = frozenset(self.transaction.wanted)
        _, epoch = self.transaction.identity
        if not wanted:
            return
        self.transaction.start()
        if self.reach(lambda: self.cluster.add(epoch, wanted), fault):
            self.transaction.add_partitions(wanted)

    def arrive(self, fault: str) -> None:
        """The oldest Produce request reaches its broker, or does not; its answer comes back, or does not."""
        if not self.in_flight:
            return
        planned = self.in_flight.pop(0)
        ((target, batch),) = planned.batches.items()
        encoded = bytes(batch.encoded or b"")
        if fault == "refused":
            self.answer(planned, 29)
        elif fault in ("lost", "late"):
            if fault == "late":
                self.late.append(lambda: self.cluster.produce(target.partition, encoded))
            self.sender.handle_failure(planned, NetworkException("lost"), self.now_ms)
        else:
            code = self.cluster.produce(target.partition, encoded)
            if fault == "answer lost":
                self.sender.handle_failure(planned, NetworkException("lost"), self.now_ms)
            else:
                self.answer(planned, code)

    def answer(self, planned: PlannedProduce, code: int) -> None:
        ((target, _),) = planned.batches.items()
        partition = PartitionProduceResponse(index=target.partition, error_code=code, base_offset=0)
        topic = TopicProduceResponse(name="t", partition_responses=[partition])
        self.sender.handle_response(planned, ProduceResponse(responses=[topic]), self.now_ms)

    def end(self, outcome: str, fault: str) -> None:
        """A call of commit or abort. It first waits for all batches, without further faults."""
        state = self.transaction.state
        may_commit = state in (ProducerTransactionState.OPEN, ProducerTransactionState.COMMITTING)
        if outcome == COMMIT and may_commit:
            self.transaction.begin_commit()
        elif outcome == ABORT and self.transaction.may_abort:
            self.transaction.begin_abort()
        else:
            return
        self.settle()
        if self.transaction.state is ProducerTransactionState.FAILED:
            return
        _, epoch = self.transaction.identity
        if self.transaction.end_needed:
            self.transaction.note_end_sent()
            answer = self.reach(lambda: self.cluster.end(epoch, outcome), fault)
            if answer is None:
                return
            self.transaction.complete((1, answer) if self.is_implicit else None)
        else:
            self.transaction.complete()
        if outcome == COMMIT:
            for expected, values in zip(self.expected, self.open, strict=True):
                expected += values

    def reach(self, request: Callable[[], int | None], fault: str) -> int | None:
        """What is answered, if anything is."""
        self.transaction.unanswered += 1
        if fault == "late":
            self.late.append(request)
        if fault in ("lost", "late"):
            return None
        answer = request()
        if fault == "answer lost":
            return None
        assert answer is not None, "the coordinator refuses what a lone producer asks"
        self.transaction.unanswered -= 1
        return answer

    def settle(self) -> None:
        for _ in range(20 * (self.count + 10)):
            if not self.accumulator.unsettled_count:
                return
            self.now_ms += 100
            self.drain()
            self.add("none")
            self.arrive("none")
        raise AssertionError("the sender does not come to an end")


FAULTS = st.sampled_from(["none", "none", "none", "lost", "answer lost", "late"])
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["begin", "begin", "send", "send", "work", "drain", "drain"])),
        st.tuples(st.just("arrive"), st.one_of(FAULTS, st.just("refused"))),
        st.tuples(st.just("add"), FAULTS),
        st.tuples(st.sampled_from([COMMIT, COMMIT, ABORT]), FAULTS),
        st.tuples(st.just("late arrives")),
    ),
    max_size=80,
)


@pytest.mark.parametrize("is_implicit", [True, False], ids=["implicit", "explicit"])
@settings(max_examples=250, deadline=None)
@given(script=steps)
@example(
    script=[
        ("work",), (COMMIT, "late"), (COMMIT, "none"), ("work",), ("late arrives",), (ABORT, "none"),
    ]
)  # fmt: skip  # the end of one transaction reaches the next
@example(
    script=[("send",), ("drain",), ("add", "none"), ("drain",), ("arrive", "refused"), (ABORT, "none")]
)  # fmt: skip  # sequence numbers that nobody will use
def test_committed_transactions_are_read_whole_and_once_and_others_not_at_all(
    script: list[tuple[str, ...]], is_implicit: bool
) -> None:
    world = Simulation(is_implicit=is_implicit)
    world.begin()
    for step, *faults in script:
        if step in (COMMIT, ABORT):
            world.end(step, *faults)
        elif step == "late arrives":
            if world.late:
                world.late.pop(0)()
        else:
            getattr(world, step.replace(" ", "_"))(*faults)
    while world.transaction.state is not ProducerTransactionState.READY:
        world.end(COMMIT, "none")
        world.end(ABORT, "none")
    for request in world.late:
        request()
    world.work()
    world.end(COMMIT, "none")
    last = {b"%d" % world.count, b"%d" % (world.count - 1)}
    assert last <= {*world.expected[0], *world.expected[1]}, "without faults a commit succeeds"

    for log, expected in zip(world.cluster.logs, world.expected, strict=True):
        assert log.committed() == expected
    for batch, index in world.outcomes:
        assert batch.holder_of(index)[0].outcome is not None, "every record has its outcome"
    assert world.accumulator.memory_used == 0
