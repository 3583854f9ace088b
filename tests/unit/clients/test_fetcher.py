"""What the fetcher asks for, what it returns, and where it stands afterwards."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from millstream.clients.core.addresses import Address
from millstream.clients.core.cluster_metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.core.fetched_records import FetchedRecords
from millstream.clients.core.fetcher import Fetcher, FetchIntent, FetchPolicy
from millstream.clients.core.offset_reset import EARLIEST, parse_offset_reset
from millstream.clients.core.partition_state import PartitionState
from millstream.clients.core.subscription import SubscriptionState
from millstream.errors import (
    CorruptMessage,
    NetworkException,
    OffsetOutOfRange,
    TopicAuthorizationFailed,
)
from millstream.model import TopicPartition, Uuid
from millstream.protocol.generated.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.control import ControlType, build_end_transaction_marker
from millstream.records.record import Record

TOPIC_ID = Uuid(b"t" * 16)


def batch(
    base_offset: int, *values: bytes, codec: Codec = Codec.NONE, producer_id: int = -1
) -> bytes:
    options = BatchOptions(
        codec=codec,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        is_transactional=producer_id >= 0,
    )
    return bytes(build_batch([Record(0, 7, None, value) for value in values], options))


def marker(offset: int, producer_id: int, kind: ControlType = ControlType.ABORT) -> bytes:
    options = BatchOptions(
        base_offset=offset, producer_id=producer_id, producer_epoch=0, is_transactional=True
    )
    return bytes(build_end_transaction_marker(kind, 0, 7, options))


class World:
    """Topic `t`, partitions led as told, all assigned at offset 0."""

    def __init__(
        self,
        leaders: Sequence[int] = (1,),
        *,
        read_committed: bool = False,
        reset: str = "latest",
        partition_bytes: int = 1000,
    ) -> None:
        self.now_ms = 0
        self.subscription = SubscriptionState()
        self.subscription.assign(TopicPartition("t", p) for p in range(len(leaders)))
        for state in self.subscription.partitions.values():
            state.seek(0)
        self.fetcher = Fetcher(
            FetchPolicy(1, 500, 10_000, partition_bytes, read_committed, parse_offset_reset(reset)),
            self.subscription,
        )
        self.records = FetchedRecords(self.subscription, check_crcs=True)
        self.lead(*leaders)

    def lead(self, *leaders: int) -> None:
        partitions = {p: PartitionMetadata(p, n, 4) for p, n in enumerate(leaders)}
        self.cluster = ClusterMetadata(
            nodes={node: BrokerNode(node, Address("h", node)) for node in (1, 2)},
            topics={"t": TopicMetadata("t", TOPIC_ID, partitions=partitions)},
        )
        self.fetcher.handle_metadata()

    def state(self, partition: int = 0) -> PartitionState:
        return self.subscription.partitions[TopicPartition("t", partition)]

    def plan(self) -> list[FetchIntent]:
        return self.fetcher.plan(self.cluster, self.now_ms)

    def answer(
        self,
        intent: FetchIntent,
        *records: bytes,
        partition: int = 0,
        code: int = 0,
        aborted: list[tuple[int, int]] | None = None,
        session_id: int = 0,
    ) -> None:
        """About one partition; there is no news of the others that were asked for."""
        data = PartitionData(
            partition_index=partition,
            error_code=code,
            high_watermark=100,
            records=memoryview(b"".join(records)),
            aborted_transactions=[AbortedTransaction(p, first) for p, first in aborted or ()],
        )
        others = [
            PartitionData(partition_index=tp.partition)
            for tp in intent.generations
            if tp.partition != partition
        ]
        topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data, *others])
        response = FetchResponse(session_id=session_id, responses=[topic])
        self.fetcher.handle_response(intent, response, self.now_ms)
        self.fetcher.finish(intent)

    def lose(self, intent: FetchIntent) -> None:
        self.fetcher.handle_failure(intent, NetworkException())
        self.fetcher.finish(intent)

    def values(self, count: int = 100) -> list[bytes | None]:
        return [record.value for record in self.records.take(count)]


def asked(intent: FetchIntent) -> dict[int, int]:
    """Partition -> offset."""
    return {tp.partition: position.offset for tp, position in intent.plan.fetch.items()}


def test_each_leader_is_asked_for_its_partitions_once_at_a_time() -> None:
    world = World(leaders=(1, 2, 1))
    assert {i.node_id: asked(i) for i in world.plan()} == {1: {0: 0, 2: 0}, 2: {1: 0}}
    assert world.plan() == []


def test_the_leader_epoch_we_believe_in_is_sent_along() -> None:
    world = World()
    (intent,) = world.plan()
    (topic,) = world.fetcher.request(intent).topics
    assert (topic.topic_id, topic.partitions[0].current_leader_epoch) == (TOPIC_ID, 4)


def test_records_come_in_order_and_the_next_fetch_starts_behind_the_last_batch() -> None:
    world = World()
    (intent,) = world.plan()
    world.answer(intent, batch(0, b"a", b"b"), batch(2, b"c"))
    assert asked(world.plan()[0]) == {0: 3}
    assert world.state().position == 0
    assert world.values(count=2) == [b"a", b"b"]
    assert world.state().position == 2
    assert world.values() == [b"c"]
    assert world.state().position == 3


def test_a_fetch_inside_a_batch_returns_from_its_offset_on() -> None:
    world = World()
    world.state().seek(1)
    (intent,) = world.plan()
    world.answer(intent, batch(0, b"a", b"b", b"c", codec=Codec.LZ4))
    assert world.values() == [b"b", b"c"]


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_is_read(codec: Codec) -> None:
    world = World()
    world.answer(world.plan()[0], batch(0, *(b"%d" % n for n in range(50)), codec=codec))
    assert world.values() == [b"%d" % n for n in range(50)]


def test_a_batch_that_is_not_whole_is_fetched_again() -> None:
    world = World()
    (intent,) = world.plan()
    world.answer(intent, batch(0, b"a"), batch(1, b"b")[:-3])
    assert world.values() == [b"a"]
    assert asked(world.plan()[0]) == {0: 1}


def test_control_batches_are_passed_over_and_the_position_stands_behind_them() -> None:
    world = World()
    (intent,) = world.plan()
    world.answer(intent, batch(0, b"a", producer_id=9), marker(1, 9, ControlType.COMMIT))
    assert world.values() == [b"a"]
    assert world.values() == []
    assert world.state().position == 2


def test_aborted_transactions_are_hidden_at_read_committed_only() -> None:
    chunks = (
        batch(0, b"aborted", producer_id=9),
        batch(1, b"kept", producer_id=8),
        marker(2, 9),
        batch(3, b"later", producer_id=9),
    )
    hiding, showing = World(read_committed=True), World()
    hiding.answer(hiding.plan()[0], *chunks, aborted=[(9, 0)])
    showing.answer(showing.plan()[0], *chunks, aborted=[(9, 0)])
    assert hiding.values() == [b"kept", b"later"]
    assert showing.values() == [b"aborted", b"kept", b"later"]


def test_an_answer_to_a_fetch_from_before_a_seek_is_dropped() -> None:
    world = World()
    (intent,) = world.plan()
    world.state().seek(50)
    world.answer(intent, batch(0, b"old"))
    assert world.values() == []
    assert asked(world.plan()[0]) == {0: 50}


def test_what_is_paused_is_neither_fetched_nor_returned() -> None:
    world = World(leaders=(1, 1))
    (intent,) = world.plan()
    world.answer(intent, batch(0, b"a"))
    world.state(0).paused = True
    assert world.values() == []
    assert asked(world.plan()[0]) == {1: 0}
    world.state(0).paused = False
    assert world.values() == [b"a"]


def test_a_full_buffer_stops_the_fetches_of_its_partition_only() -> None:
    world = World(leaders=(1, 1), partition_bytes=100)
    world.answer(world.plan()[0], batch(0, b"x" * 200))
    (intent,) = world.plan()
    assert set(intent.generations) == {TopicPartition("t", 1)}


def test_partitions_take_turns() -> None:
    world = World(leaders=(1, 1))
    (intent,) = world.plan()
    world.answer(intent, batch(0, b"a0", b"a1"), partition=0)
    world.answer(intent, batch(0, b"b0", b"b1"), partition=1)
    assert world.values(count=3) == [b"a0", b"a1", b"b0"]
    (intent,) = world.plan()
    world.answer(intent, batch(2, b"a2"), partition=0)
    assert world.values() == [b"b1", b"a2"]


def test_an_offset_out_of_range_is_reset_by_policy_or_raised_once() -> None:
    world = World(reset="earliest")
    world.answer(world.plan()[0], code=1)
    assert (world.state().position, world.state().reset) == (None, EARLIEST)
    strict = World(reset="none")
    strict.answer(strict.plan()[0], code=1)
    with pytest.raises(OffsetOutOfRange, match="t-0: offset 0 is not in the log"):
        strict.records.raise_error()
    strict.records.raise_error()


def test_a_moved_leader_asks_for_metadata_and_keeps_the_position() -> None:
    world = World()
    world.answer(world.plan()[0], code=6)
    assert world.fetcher.metadata_wanted
    assert world.plan() == []
    world.lead(2)
    (intent,) = world.plan()
    assert (intent.node_id, asked(intent)) == (2, {0: 0})


def test_other_errors_are_raised_by_poll() -> None:
    world = World()
    world.answer(world.plan()[0], code=29)
    with pytest.raises(TopicAuthorizationFailed, match="t-0"):
        world.records.raise_error()


def test_a_broken_batch_is_raised_after_what_stands_before_it_and_can_be_passed_over() -> None:
    world = World()
    broken = bytearray(batch(1, b"broken"))
    broken[-2] ^= 0xFF
    world.answer(world.plan()[0], batch(0, b"good"), bytes(broken), batch(2, b"next"))
    assert world.values() == [b"good"]
    for _ in range(2):  # it is not passed over silently
        with pytest.raises(CorruptMessage, match=r"batch at offset 1 is broken.*seek to 2"):
            world.values()
    world.state().seek(2)
    (intent,) = world.plan()
    world.answer(intent, batch(2, b"next"))
    assert world.values() == [b"next"]


def test_sessions_name_changes_only_and_start_over_when_the_broker_forgets_them() -> None:
    """KIP-227."""
    world = World(leaders=(1, 1))
    (first,) = world.plan()
    assert (first.plan.session_id, first.plan.session_epoch, asked(first)) == (0, 0, {0: 0, 1: 0})
    world.answer(first, batch(0, b"a"), session_id=33)
    (second,) = world.plan()
    assert (second.plan.session_id, second.plan.session_epoch, asked(second)) == (33, 1, {0: 1})
    world.fetcher.handle_response(second, FetchResponse(error_code=70), 0)
    world.fetcher.finish(second)
    (third,) = world.plan()
    assert (third.plan.session_id, third.plan.session_epoch, asked(third)) == (0, 0, {1: 0, 0: 1})
    world.lose(third)
    assert world.plan()[0].plan.session_epoch == 0


def test_a_lost_session_answer_closes_the_old_session() -> None:
    world = World()
    world.answer(world.plan()[0], session_id=33)
    (intent,) = world.plan()
    world.lose(intent)
    (again,) = world.plan()
    assert (again.plan.session_id, again.plan.session_epoch, asked(again)) == (33, 0, {0: 0})


def test_a_batch_that_lies_about_its_length_is_no_crash() -> None:
    world = World()
    liar = bytearray(batch(0, b"a"))
    struct.pack_into(">i", liar, 8, 2**31 - 1)
    world.answer(world.plan()[0], bytes(liar))
    assert world.values() == []
