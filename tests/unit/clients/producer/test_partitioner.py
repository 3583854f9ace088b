"""Keys go where Java's default partitioner sends them; records without a key stick to one partition for a while."""

from __future__ import annotations

import contextlib
import importlib
from types import ModuleType

import pytest

from millstream.clients.cluster.core.cluster_metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.producer.core.default_partitioner import DefaultPartitioner, PartitionLoad
from millstream.clients.producer.core.partitioner import CustomPartitioner, RoundRobinPartitioner
from millstream.errors import InvalidPartitions, InvalidRecord
from millstream.net.client.core.addresses import Address

KNOWN_HASHES = [
    (b"", 0x106E08D9),
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]
"""Of Kafka's own UtilsTest (signed), and the hash of nothing."""


def twins() -> list[ModuleType]:
    modules = [importlib.import_module("millstream.clients.producer.core.murmur2")]
    with contextlib.suppress(ModuleNotFoundError):
        modules.append(importlib.import_module("millstream.clients.producer.core.murmur2_compiled"))
    return modules


@pytest.mark.parametrize("module", twins(), ids=lambda module: module.__name__.rpartition(".")[2])
class TestMurmur2:
    @pytest.mark.parametrize(("key", "expected"), KNOWN_HASHES)
    def test_hashes_are_those_of_java(self, module: ModuleType, key: bytes, expected: int) -> None:
        assert module.murmur2(key) == expected & 0xFFFFFFFF

    def test_a_column_of_keys_gets_the_partitions_of_its_keys(self, module: ModuleType) -> None:
        keys = [key for key, _ in KNOWN_HASHES]
        offsets = [0]
        for key in keys:
            offsets.append(offsets[-1] + len(key))
        out = memoryview(bytearray(4 * len(keys))).cast("i")
        view = memoryview(bytearray(4 * len(offsets))).cast("i")
        for index, offset in enumerate(offsets):
            view[index] = offset
        module.partitions_for_keys(view, memoryview(b"".join(keys)), 7, out)
        assert out.tolist() == [module.partition_for_key(key, 7) for key in keys]

    def test_offsets_outside_the_data_are_refused(self, module: ModuleType) -> None:
        offsets = memoryview(bytearray(8)).cast("i")
        offsets[1] = 99
        with pytest.raises(InvalidRecord):
            module.partitions_for_keys(
                offsets, memoryview(b"abc"), 3, memoryview(bytearray(4)).cast("i")
            )


class Dice:
    """Draws 0, 1, 2, … in turn."""

    def __init__(self) -> None:
        self.drawn = -1

    def random(self) -> float:
        return 0.5

    def randrange(self, stop: int) -> int:
        self.drawn += 1
        return self.drawn % stop

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


def topic(*leaders: int) -> TopicMetadata:
    return TopicMetadata(
        "t",
        partitions={
            index: PartitionMetadata(index, leader) for index, leader in enumerate(leaders)
        },
    )


def test_records_without_key_stay_for_a_batch_of_bytes_and_move_on() -> None:
    partitioner = DefaultPartitioner(Dice(), sticky_bytes=100)
    chosen = [partitioner.without_key(topic(1, 1, 1), 50) for _ in range(6)]
    assert chosen == [0, 0, 1, 1, 2, 2]


def test_partitions_without_leader_are_avoided_while_others_have_one() -> None:
    partitioner = DefaultPartitioner(Dice(), sticky_bytes=1)
    assert [partitioner.without_key(topic(-1, 4, -1, 4), 10) for _ in range(4)] == [1, 3, 1, 3]
    assert DefaultPartitioner(Dice(), sticky_bytes=1).without_key(topic(-1, -1), 10) == 0


def test_keys_choose_by_hash_unless_they_are_ignored() -> None:
    by_key = DefaultPartitioner(Dice(), sticky_bytes=1)
    assert by_key.partition(topic(1, 1, 1), b"foobar", None, 10) == 0
    assert by_key.partition(topic(*[1] * 10), b"foobar", None, 10) == 6
    ignoring = DefaultPartitioner(Dice(), sticky_bytes=1, ignore_keys=True)
    assert [ignoring.partition(topic(1, 1), b"foobar", None, 10) for _ in range(3)] == [0, 1, 0]


def test_a_keyed_record_stays_with_a_partition_that_has_no_leader() -> None:
    assert DefaultPartitioner(Dice(), 1).partition(topic(-1, 1, 1), b"foobar", None, 10) == 0


def test_partitions_with_much_waiting_are_chosen_less_often() -> None:
    """Queues of 3, 0 and 2 batches weigh 1, 4 and 2."""
    load = PartitionLoad(lambda _: {0: 3, 2: 2}, lambda: ())
    partitioner = DefaultPartitioner(Dice(), sticky_bytes=1, load=load)
    chosen = [partitioner.without_key(topic(1, 1, 1), 10) for _ in range(7)]
    assert chosen == [0, 1, 1, 1, 1, 2, 2]


def test_brokers_that_take_nothing_are_avoided_while_others_do() -> None:
    load = PartitionLoad(lambda _: {}, lambda: {1})
    partitioner = DefaultPartitioner(Dice(), sticky_bytes=1, load=load)
    assert {partitioner.without_key(topic(1, 2, 1, 2), 10) for _ in range(8)} == {1, 3}
    assert partitioner.without_key(topic(1, 1), 10) in {0, 1}


def cluster(*leaders: int) -> ClusterMetadata:
    return ClusterMetadata(nodes={1: BrokerNode(1, Address("h", 1))}, topics={"t": topic(*leaders)})


def test_round_robin_goes_through_the_partitions_that_have_a_leader() -> None:
    choose = RoundRobinPartitioner()
    snapshot = cluster(1, -1, 1)
    assert [choose("t", b"same", None, [0, 1, 2], snapshot) for _ in range(4)] == [0, 2, 0, 2]
    assert RoundRobinPartitioner()("t", None, None, [0, 1], cluster(-1, -1)) == 0


def test_a_partitioner_of_the_callers_is_asked_and_checked() -> None:
    snapshot = cluster(1, 1)
    asked = []

    def last(*question: object) -> int:
        asked.append(question)
        return 1 if len(asked) == 1 else 7

    partitioner = CustomPartitioner(last, lambda: snapshot)
    assert partitioner.partition(topic(1, 1), b"k", b"v", 10) == 1
    assert asked == [("t", b"k", b"v", [0, 1], snapshot)]
    with pytest.raises(InvalidPartitions, match="chose 7 for t, which has partitions 0 to 1"):
        partitioner.partition(topic(1, 1), b"k", b"v", 10)
