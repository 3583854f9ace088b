"""What the sender sends when, and what it makes of every kind of answer."""

from __future__ import annotations

import pytest

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
from millstream.clients.producer.transaction.core.errors import TransactionAborted
from millstream.clients.producer.transaction.core.transaction import Transaction
from millstream.errors import (
    KafkaError,
    MessageTooLarge,
    MillstreamError,
    NetworkException,
    RequestTimedOut,
    TopicAuthorizationFailed,
)
from millstream.model import Uuid
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.outages import Backoff
from millstream.net.client.tasks import ClientClosed
from millstream.protocol.generated.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from millstream.records.batch import read_header
from millstream.records.builder import build_batch
from millstream.records.compression import Codec
from millstream.records.record import Record, iterate_records

TOPIC_ID = Uuid(b"t" * 16)


class Steady:
    """No jitter: the middle of every spread."""

    def random(self) -> float:
        return 0.5

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


class World:
    """One topic `t` whose partition p is led by node `leaders[p]`, and a sender with a clock moved by hand.

    `known`: the broker has taken batches of this producer before.
    """

    def __init__(
        self,
        leaders: tuple[int, ...] = (1,),
        *,
        idempotent: bool = True,
        retries: int = 1000,
        known: bool = True,
        identified: bool = True,
        acks: int = -1,
        in_flight_max: int = 5,
        availability_timeout_ms: int = 0,
        transaction: Transaction | None = None,
    ) -> None:
        self.transaction = transaction
        self.now_ms = 0
        self.accumulator = RecordAccumulator(
            AccumulatorLimits(batch_bytes=200, memory_bytes=10_000, delivery_timeout_ms=10_000)
        )
        self.sender = ProducePlanner(
            SenderPolicy(
                acks=acks,
                idempotent=idempotent,
                codec=Codec.NONE,
                linger_ms=5,
                request_bytes_max=1_000,
                request_timeout_ms=3_000,
                in_flight_max=in_flight_max,
                retries=retries,
                backoff=Backoff(100, 1_000),
                availability_timeout_ms=availability_timeout_ms,
            ),
            self.accumulator,
            Steady(),
            transaction,
        )
        if idempotent and identified and transaction is None:
            self.sender.set_producer_id(77, 0)
            for partition in range(len(leaders)):
                queue = self.accumulator.queue("t", partition)
                queue.adopt(77, 0)
                queue.acknowledged = known
        self.lead(*leaders)

    def lead(self, *leaders: int) -> None:
        self.cluster = ClusterMetadata(
            nodes={node: BrokerNode(node, Address("h", node)) for node in (1, 2)},
            topics={
                "t": TopicMetadata(
                    "t",
                    TOPIC_ID,
                    partitions={p: PartitionMetadata(p, n) for p, n in enumerate(leaders)},
                )
            },
        )

    def add(self, *values: bytes, partition: int = 0) -> list[ProducerBatch]:
        queue = self.accumulator.queue("t", partition)
        batches = []
        for value in values:
            record = (5, None, value, None, None, 21 + len(value))
            if self.accumulator.append(queue, *record) < 0:
                self.accumulator.start_batch(queue, self.now_ms)
                assert self.accumulator.append(queue, *record) == 0
            assert queue.tail is not None
            batches.append(queue.tail)
        return batches

    def big(self, count: int) -> list[ProducerBatch]:
        """`count` batches of one record each."""
        return self.add(*(bytes([65 + index]) * 190 for index in range(count)))

    def drain(self, *, after_ms: int = 0, hurry: bool = False) -> list[PlannedProduce]:
        self.now_ms += after_ms
        return self.sender.drain(self.cluster, self.now_ms, hurry=hurry)

    def answer(
        self, planned: PlannedProduce, code: int = 0, offset: int = 0
    ) -> list[ProducerBatch]:
        partitions = [
            PartitionProduceResponse(index=tp.partition, error_code=code, base_offset=offset)
            for tp in planned.batches
        ]
        response = ProduceResponse(
            responses=[TopicProduceResponse(topic_id=TOPIC_ID, partition_responses=partitions)]
        )
        return self.sender.handle_response(planned, response, self.now_ms)

    def lose(self, planned: PlannedProduce) -> list[ProducerBatch]:
        return self.sender.handle_failure(planned, NetworkException("gone"), self.now_ms)


def batch_of(planned: PlannedProduce) -> ProducerBatch:
    (batch,) = planned.batches.values()
    return batch


def numbers(planned: PlannedProduce) -> tuple[int, int, int]:
    """Producer id, epoch and base sequence as they stand in the bytes that are sent."""
    encoded = batch_of(planned).encoded
    assert encoded is not None
    header = read_header(encoded)
    return header.producer_id, header.producer_epoch, header.base_sequence


def values(planned: PlannedProduce) -> list[bytes | None]:
    encoded = batch_of(planned).encoded
    assert encoded is not None
    return [record.value for record in iterate_records(read_header(encoded), encoded)]


def headers(planned: PlannedProduce) -> list[list[tuple[str, bytes | None]]]:
    encoded = batch_of(planned).encoded
    assert encoded is not None
    return [list(record.headers) for record in iterate_records(read_header(encoded), encoded)]


def error_of(batch: ProducerBatch) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        batch.metadata_of(0)
    return caught.value


def test_a_batch_lingers_for_company_and_then_goes() -> None:
    world = World()
    world.add(b"a")
    assert world.drain() == []
    assert world.sender.next_wake_ms(world.now_ms) == 5
    world.add(b"b")
    (planned,) = world.drain(after_ms=5)
    assert values(planned) == [b"a", b"b"]


def test_a_full_batch_and_a_flush_do_not_linger() -> None:
    world = World()
    world.big(1)
    assert len(world.drain()) == 1
    world.add(b"small")
    assert len(world.drain(hurry=True)) == 1


def test_an_acknowledged_record_knows_its_offset() -> None:
    world = World()
    first, second = world.add(b"a", b"b")
    (planned,) = world.drain(after_ms=5)
    assert world.answer(planned, offset=40) == [first]
    assert second.metadata_of(1) == ("t", 0, 41, 5)
    assert world.accumulator.memory_used == 0


def test_what_does_not_fit_into_one_request_goes_in_the_next() -> None:
    """Six batches of about 260 bytes each; a request has 1,000."""
    world = World(leaders=(1,) * 6)
    for partition in range(6):
        world.add(b"x" * 190, partition=partition)
    first, second = world.drain(after_ms=5), world.drain()
    sizes = [[len(planned.batches) for planned in round_] for round_ in (first, second)]
    assert sizes == [[3], [3]]


def test_partitions_of_one_leader_share_a_request_within_its_size() -> None:
    world = World(leaders=(1, 2, 1))
    for partition in range(3):
        world.add(b"x", partition=partition)
    requests = {i.node_id: {tp.partition for tp in i.batches} for i in world.drain(after_ms=5)}
    assert requests == {1: {0, 2}, 2: {1}}


def test_at_most_five_requests_are_in_flight_and_sequences_follow_each_other() -> None:
    world = World()
    world.big(7)
    requests = [planned for _ in range(7) for planned in world.drain()]
    assert [numbers(planned) for planned in requests] == [(77, 0, n) for n in range(5)]
    world.answer(requests[0])
    assert [numbers(planned) for planned in world.drain()] == [(77, 0, 5)]


def test_a_new_leader_takes_no_more_batches_than_it_remembers_while_the_former_keeps_one() -> None:
    """It would refuse the one that comes again as out of order, though it has it: five others came since."""
    world = World(leaders=(1,))
    world.big(7)
    (kept,) = world.drain()
    world.lead(2)
    for _ in range(4):
        (planned,) = world.drain()
        assert planned.node_id == 2
        world.answer(planned)
    assert world.drain() == []
    world.lose(kept)
    (again,) = world.drain(after_ms=100)
    assert (again.node_id, numbers(again)) == (2, (77, 0, 0))
    world.answer(again)
    assert [numbers(planned) for planned in world.drain()] == [(77, 0, 5)]


def test_a_lost_answer_is_retried_with_the_same_numbers_after_a_backoff() -> None:
    world = World()
    world.big(1)
    (planned,) = world.drain()
    assert world.lose(planned) == []
    assert world.sender.metadata_wanted
    assert world.drain(after_ms=99) == []
    (again,) = world.drain(after_ms=1)
    assert numbers(again) == (77, 0, 0)
    assert len(world.answer(again)) == 1


def test_a_failed_batch_goes_before_later_ones_and_alone() -> None:
    """The broker would refuse what comes behind a hole; order is kept by not sending it."""
    world = World()
    world.big(3)
    first, second = world.drain()[0], world.drain()[0]
    world.lose(first)
    assert world.drain(after_ms=100) == []  # the second is still out
    world.answer(second, code=45)
    world.now_ms += 100
    sequences = []
    for _ in range(2):
        (planned,) = world.drain()
        assert world.drain() == []
        sequences.append(numbers(planned)[2])
        world.answer(planned)
    assert [*sequences, numbers(world.drain()[0])[2]] == [0, 1, 2]


def test_until_a_broker_has_taken_one_batch_only_one_is_in_flight() -> None:
    """A broker that does not know the producer takes any sequence: the second batch must not overtake the first."""
    world = World(known=False)
    world.big(3)
    (planned,) = world.drain()
    assert world.drain() == []
    world.answer(planned)
    assert len(world.drain()) == len(world.drain()) == 1


def test_duplicates_count_as_written() -> None:
    world = World()
    (batch,) = world.big(1)
    (planned,) = world.drain()
    assert world.answer(planned, code=46, offset=-1) == [batch]
    assert batch.metadata_of(0).offset == -1


def test_a_batch_refused_for_good_fails_and_the_partition_starts_over_under_a_new_epoch() -> None:
    world = World()
    batches = world.big(3)
    first, second = world.drain()[0], world.drain()[0]
    assert world.answer(first, code=29) == [batches[0]]
    assert isinstance(error_of(batches[0]), TopicAuthorizationFailed)
    assert world.answer(second, code=45) == []
    world.now_ms += 100
    (second,) = world.drain()
    assert (numbers(second), values(second)[0]) == ((77, 1, 0), b"B" * 190)
    world.answer(second)
    (third,) = world.drain()
    assert (numbers(third), values(third)[0]) == ((77, 1, 1), b"C" * 190)


def test_numbers_are_not_reset_while_the_fate_of_a_batch_is_unknown() -> None:
    """A batch that may be in the log under its old numbers must not get new ones: that would write it twice."""
    world = World()
    world.big(2)
    first, second = world.drain()[0], world.drain()[0]
    world.answer(first, code=29)
    world.lose(second)
    (again,) = world.drain(after_ms=100)
    assert numbers(again) == (77, 0, 1)
    world.answer(again, code=45)  # now it is known not to be there
    (fresh,) = world.drain(after_ms=200)
    assert numbers(fresh) == (77, 1, 0)


def test_a_forgotten_producer_gets_a_new_id() -> None:
    world = World()
    world.big(1)
    (planned,) = world.drain()
    world.answer(planned, code=59)
    assert world.sender.producer_id_wanted
    world.sender.set_producer_id(78, 0)
    (again,) = world.drain(after_ms=100)
    assert numbers(again) == (78, 0, 0)


def test_a_batch_that_is_too_large_is_cut_in_two_and_deliveries_follow() -> None:
    world = World()
    (batch, *_) = world.add(b"a", b"b", b"c")
    (planned,) = world.drain(after_ms=5)
    world.answer(planned, code=10)
    assert batch.outcome is None
    assert batch.halves is not None
    (first,) = world.drain()
    assert (numbers(first), values(first)) == ((77, 0, 0), [b"a"])
    world.answer(first, offset=10)
    (second,) = world.drain()
    assert (numbers(second), values(second)) == ((77, 0, 1), [b"b", b"c"])
    world.answer(second, offset=11)
    assert [batch.metadata_of(index).offset for index in range(3)] == [10, 11, 12]
    assert world.accumulator.memory_used == 0


def test_each_half_of_a_batch_begins_with_the_headers_of_batches() -> None:
    world = World()
    of_batches, own = ("a", b"1"), ("b", b"2")
    encoded = build_batch(
        [Record(value=b"x", headers=[of_batches]), Record(value=b"y", headers=[own])]
    )
    queue = world.accumulator.queue("t", 0)
    batch = world.accumulator.append_encoded(queue, encoded, 2, world.now_ms)
    batch.batch_headers = (of_batches,)
    (planned,) = world.drain()
    world.answer(planned, code=10)
    (first,) = world.drain()
    assert headers(first) == [[of_batches]]
    world.answer(first, offset=10)
    (second,) = world.drain()
    assert headers(second) == [[of_batches, own]]


def test_one_record_that_is_too_large_fails() -> None:
    world = World()
    (batch,) = world.big(1)
    (planned,) = world.drain()
    assert world.answer(planned, code=10) == [batch]
    assert isinstance(error_of(batch), MessageTooLarge)


def test_delivery_ends_at_its_deadline_and_says_what_is_known() -> None:
    world = World(leaders=(-1,))
    (batch,) = world.add(b"a")
    assert world.drain(after_ms=5) == []
    assert world.sender.metadata_wanted
    world.now_ms = 10_000
    assert world.sender.expire(world.now_ms) == [batch]
    error = error_of(batch)
    assert isinstance(error, RequestTimedOut)
    assert (
        "1 record for t-0 was not written within delivery_timeout_ms (10000 ms), 0 attempts"
        in str(error)
    )


def test_a_request_never_waits_longer_than_its_oldest_record_may() -> None:
    world = World()
    world.big(1)
    (planned,) = world.drain(after_ms=9_000)
    assert planned.timeout_ms == 1_000


def test_after_the_last_retry_the_error_itself_is_the_outcome() -> None:
    world = World(idempotent=False, retries=1)
    (batch,) = world.big(1)
    world.lose(world.drain()[0])
    assert world.lose(world.drain(after_ms=100)[0]) == [batch]
    assert isinstance(error_of(batch), NetworkException)


def test_a_leader_change_sends_the_batch_to_the_new_leader() -> None:
    world = World(leaders=(1,))
    world.big(1)
    world.answer(world.drain()[0], code=6)
    world.lead(2)
    (again,) = world.drain(after_ms=100)
    assert (again.node_id, numbers(again)) == (2, (77, 0, 0))


def test_nothing_goes_out_before_the_producer_id_is_known() -> None:
    world = World(identified=False)
    world.big(1)
    assert world.drain() == []
    assert world.sender.producer_id_wanted
    world.sender.set_producer_id(77, 0)
    assert len(world.drain()) == 1


def test_topics_without_an_id_keep_the_request_below_version_13() -> None:
    world = World()
    world.big(1)
    (planned,) = world.drain()
    assert planned.version_max > 13
    assert PlannedProduce(1, {}, {"t": Uuid(bytes(16))}, -1, 1).version_max == 12


@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_acks_are_asked_for_as_they_are_set(acks: int) -> None:
    world = World(idempotent=acks == -1, acks=acks)
    (batch,) = world.add(b"a")
    (planned,) = world.drain(after_ms=5)
    assert planned.request().acks == acks
    if acks == 0:
        assert world.sender.handle_response(planned, None, world.now_ms) == [batch]
        assert batch.metadata_of(0).offset == -1


def test_too_few_replicas_are_waited_for_and_named_in_the_end() -> None:
    world = World()
    (batch,) = world.add(b"a")
    while batch.outcome is None:
        for planned in world.drain(after_ms=1_000):
            world.answer(planned, code=19)
        world.sender.expire(world.now_ms)
    assert "min.insync.replicas" in str(error_of(batch))
    assert world.now_ms >= 10_000


def test_without_a_leader_metadata_is_wanted_and_with_one_the_batch_goes() -> None:
    world = World(leaders=(-1,))
    world.add(b"a")
    assert world.drain(after_ms=5) == []
    assert world.sender.metadata_wanted
    world.lead(2)
    assert [planned.node_id for planned in world.drain()] == [2]


def test_a_broker_without_a_connection_is_skipped_and_others_are_served() -> None:
    world = World(leaders=(1, 2))
    for partition in range(2):
        world.add(b"x", partition=partition)
    world.now_ms += 5
    ready = world.sender.drain(world.cluster, world.now_ms, is_ready=lambda node: node == 2)
    assert [planned.node_id for planned in ready] == [2]
    assert [planned.node_id for planned in world.drain()] == [1]


def test_a_broker_that_takes_nothing_for_too_long_is_avoided_until_it_does() -> None:
    world = World(availability_timeout_ms=500)
    world.add(b"x")
    world.now_ms += 5
    assert world.sender.drain(world.cluster, world.now_ms, is_ready=lambda _: False) == []
    assert world.sender.avoided_nodes(world.now_ms + 499) == set()
    assert world.sender.avoided_nodes(world.now_ms + 500) == {1}
    assert len(world.drain()) == 1
    assert world.sender.avoided_nodes(world.now_ms + 10_000) == set()


def test_with_one_request_in_flight_nothing_overtakes_a_batch() -> None:
    world = World(idempotent=False, in_flight_max=1)
    world.big(2)
    (first,) = world.drain()
    assert world.drain() == []
    world.lose(first)
    (again,) = world.drain(after_ms=100)
    assert values(again) == values(first)


def transactional() -> World:
    """In a transaction, in the flow where partitions join by themselves."""
    transaction = Transaction("id")
    transaction.restart()
    transaction.complete_initialization((77, 3))
    transaction.begin(is_implicit=True)
    return World(transaction=transaction)


def test_batches_of_a_transaction_carry_its_identity_and_its_name() -> None:
    world = transactional()
    world.add(b"a")
    (planned,) = world.drain(after_ms=5)
    assert numbers(planned) == (77, 3, 0)
    encoded = batch_of(planned).encoded
    assert encoded is not None
    assert read_header(encoded).is_transactional
    assert planned.request().transactional_id == "id"
    assert planned.version_max > 12


def test_a_failed_transaction_fails_what_waits_and_tries_nothing_again() -> None:
    world = transactional()
    world.big(1)
    (sent,) = world.drain()
    world.add(b"waiting")
    transaction = world.transaction
    assert transaction is not None
    transaction.fail(TopicAuthorizationFailed("no"), is_fatal=False)
    assert [type(error_of_any(b)) for b in world.sender.expire(world.now_ms)] == [
        TransactionAborted
    ]
    (lost,) = world.lose(sent)
    assert isinstance(error_of_any(lost), TransactionAborted)
    assert world.accumulator.memory_used == 0


def test_the_next_transaction_numbers_its_batches_from_zero_under_its_own_epoch() -> None:
    world = transactional()
    transaction = world.transaction
    assert transaction is not None
    world.add(b"a", b"b")
    (planned,) = world.drain(after_ms=5)
    world.answer(planned)
    transaction.begin_commit()
    transaction.complete((77, 4))
    transaction.begin(is_implicit=True)
    world.add(b"c")
    (planned,) = world.drain(after_ms=5)
    assert numbers(planned) == (77, 4, 0)


def error_of_any(batch: ProducerBatch) -> MillstreamError:
    assert batch.outcome is not None
    assert batch.outcome.error is not None
    return batch.outcome.error


def test_a_batch_that_may_be_in_the_log_is_not_cut_in_two() -> None:
    """The broker knows it by its sequences as a whole: it would take the halves for new."""
    world = World()
    batch, _ = world.add(b"a", b"b")
    (first,) = world.drain(after_ms=5)
    world.lose(first)
    (again,) = world.drain(after_ms=100)
    assert world.answer(again, code=10) == [batch]
    assert isinstance(error_of(batch), MessageTooLarge)
    assert batch.halves is None


@pytest.mark.parametrize("is_answered", [True, False])
def test_what_is_told_of_batches_that_were_given_up_meanwhile_changes_nothing(
    is_answered: bool,
) -> None:
    world = World()
    world.big(2)
    first, second = world.drain()[0], world.drain()[0]
    world.sender.abandon(ClientClosed("closed"))
    assert (world.answer if is_answered else world.lose)(first) == []
    assert world.answer(second) == []
    assert (world.accumulator.memory_used, world.accumulator.is_busy) == (0, False)
    with pytest.raises(ClientClosed):
        batch_of(first).metadata_of(0)
    world.add(b"next")
    assert values(world.drain(hurry=True)[0]) == [b"next"]
