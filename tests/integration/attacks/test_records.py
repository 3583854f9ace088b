"""A few kilobytes on the wire that are millions of records, or a hundred megabytes, or work that unpacks to nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import cramjam
import pyarrow as pa
import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.arrow import from_arrow
from millstream.records.builder import BatchOptions
from millstream.records.compression import Codec
from tests.oracle.broker.broken_batches import WHOLE, assemble
from tests.support.attacks import AttackedNode

MANY = 3_000_000
LARGE = str(1 << 30)
INVALID_TIMESTAMP, INVALID_RECORD, MESSAGE_TOO_LARGE = 32, 87, 10


@pytest.fixture
def node(tmp_path: Path) -> Iterator[AttackedNode]:
    with AttackedNode(tmp_path) as node:
        yield node


@cache
def many_records(codec: Codec, at_ms: int) -> bytes:
    """One batch of three million records without key and value, 30 MB unpacked."""
    table = pa.table({"value": pa.nulls(MANY, pa.binary())})
    (batch,) = from_arrow(
        table, BatchOptions(codec=codec), batch_bytes_max=1 << 30, default_timestamp_ms=at_ms
    )
    return bytes(batch)


@cache
def megabytes(count: int, codec: Codec) -> bytes:
    """One batch of one record for each megabyte."""
    table = pa.table({"value": pa.array([bytes(1 << 20)] * count, pa.binary())})
    (batch,) = from_arrow(
        table, BatchOptions(codec=codec), batch_bytes_max=1 << 30, default_timestamp_ms=now_ms()
    )
    return bytes(batch)


def now_ms() -> int:
    return int(time.time() * 1000)


def create(node: AttackedNode, name: str, partitions: int = 1, **configs: str) -> None:
    told = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    topic = CreatableTopic(name, partitions, 1, configs=told)
    with node.client() as client:
        answer = client.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest([topic], 30_000))
    assert answer.topics[0].error_code == 0, answer


def produce(node: AttackedNode, topic: str, *batches: bytes) -> list[PartitionProduceResponse]:
    """In one request, each to a partition of its own."""
    data = [
        PartitionProduceData(index, memoryview(bytearray(each)))
        for index, each in enumerate(batches)
    ]
    request = ProduceRequest(
        acks=1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=data)]
    )
    with node.client() as client:
        responses: list[PartitionProduceResponse] = (
            client.ask(ApiKey.PRODUCE, 9, request).responses[0].partition_responses
        )
    return responses


def test_millions_of_records_with_times_to_come(node: AttackedNode) -> None:
    create(node, "t", max_message_bytes=LARGE)
    batch = many_records(Codec.ZSTD, 2**42)
    with node.attack():
        (answer,) = produce(node, "t", batch)
    assert (answer.error_code, len(answer.record_errors)) == (INVALID_TIMESTAMP, 100)


def test_millions_of_records_without_keys_for_a_compacted_topic(node: AttackedNode) -> None:
    create(node, "t", cleanup_policy="compact", max_message_bytes=LARGE)
    with node.attack():
        (answer,) = produce(node, "t", many_records(Codec.ZSTD, 5))
    assert (answer.error_code, len(answer.record_errors)) == (INVALID_RECORD, 100)


@pytest.mark.parametrize("codec", [Codec.ZSTD, Codec.GZIP])
def test_millions_of_records_that_are_lawful(node: AttackedNode, codec: Codec) -> None:
    create(node, "t", max_message_bytes=LARGE)
    with node.attack():
        (answer,) = produce(node, "t", many_records(codec, now_ms() // 60_000 * 60_000))
    assert (answer.error_code, answer.base_offset) == (0, 0)


@pytest.mark.parametrize("codec", [Codec.ZSTD, Codec.GZIP])
def test_a_hundred_megabytes_unpacked(node: AttackedNode, codec: Codec) -> None:
    create(node, "t", 4)
    batch = megabytes(99, codec)
    with node.attack():
        answers = produce(node, "t", *[batch] * 4)
    assert [answer.error_code for answer in answers] == [0] * 4


def test_more_than_a_hundred_megabytes_unpacked(node: AttackedNode) -> None:
    create(node, "t")
    with node.attack():
        (answer,) = produce(node, "t", megabytes(101, Codec.ZSTD))
    assert answer.error_code == MESSAGE_TOO_LARGE


def test_megabytes_to_be_compressed_anew(node: AttackedNode) -> None:
    create(node, "t", compression_type="gzip")
    with node.attack():
        (answer,) = produce(node, "t", megabytes(50, Codec.ZSTD))
    assert answer.error_code == 0


def test_packed_bytes_that_unpack_to_nothing(node: AttackedNode) -> None:
    """A quarter of a second for each megabyte of empty gzip members."""
    create(node, "t", 8)
    member = bytes(cramjam.gzip.compress(b""))
    batch = assemble(WHOLE, member * (900_000 // len(member)), Codec.GZIP)
    with node.attack():
        answers = produce(node, "t", *[batch] * 8)
    assert {answer.error_code for answer in answers} == {INVALID_RECORD}


def test_very_many_partitions_that_do_not_exist(node: AttackedNode) -> None:
    create(node, "t")
    batch = assemble(WHOLE, bytes(40))
    with node.attack():
        answers = produce(node, "t", *[batch] * 5_000)
    assert (len(answers), answers[0].error_code) == (5_000, INVALID_RECORD)


def test_a_time_looked_for_among_millions_of_records(node: AttackedNode) -> None:
    create(node, "t", max_message_bytes=LARGE)
    at_ms = now_ms() // 60_000 * 60_000
    assert produce(node, "t", many_records(Codec.ZSTD, at_ms))[0].error_code == 0
    asked = ListOffsetsPartition(partition_index=0, timestamp=at_ms)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked])]
    )
    with node.attack(), node.client() as client:
        for _ in range(5):
            answer = client.ask(ApiKey.LIST_OFFSETS, 7, request).topics[0].partitions[0]
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, 0, at_ms)
