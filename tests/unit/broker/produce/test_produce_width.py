"""Which Produces name many partitions is found in the frame, whatever its version."""

from __future__ import annotations

import pytest

from millstream.broker.produce.request_width import has_many_partitions
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_request_header
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.protocol.tagged_fields import TaggedField
from tests.support.clients.raw_client import request_frame

VERSIONS = [3, 8, 9, 12, 13]


def is_many(version: int, *topics: TopicProduceData, transactional_id: str | None = None) -> bool:
    asked = ProduceRequest(transactional_id=transactional_id, topic_data=list(topics))
    frame = memoryview(request_frame(ApiKey.PRODUCE, version, asked))[4:]
    _, at = decode_request_header(frame)
    return has_many_partitions(frame, at, version)


def topic(partitions: int, records: bytes = b"", version: int = 13) -> TopicProduceData:
    data = [PartitionProduceData(number, memoryview(records)) for number in range(partitions)]
    if version >= 13:
        return TopicProduceData(topic_id=b"t" * 16, partition_data=data)
    return TopicProduceData(name="t", partition_data=data)


@pytest.mark.parametrize("version", VERSIONS)
def test_two_hundred_are_few_and_one_more_are_many(version: int) -> None:
    assert not is_many(version, topic(200, version=version))
    assert is_many(version, topic(201, version=version))
    assert not is_many(version, *[topic(1, b"r" * 300, version)] * 200, transactional_id="t")
    assert is_many(version, *[topic(1, b"r" * 300, version)] * 201, transactional_id="t")
    assert is_many(version, topic(150, version=version), topic(51, version=version))
    assert not is_many(version)


def test_who_sends_tagged_fields_is_read_in_a_thread() -> None:
    strange = topic(1)
    strange.partition_data[0].unknown_tagged_fields = (TaggedField(77, b"x"),)
    assert is_many(13, strange)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_frame_that_is_cut_off_is_left_to_its_decoder(version: int) -> None:
    asked = ProduceRequest(topic_data=[topic(3, b"records", version)])
    frame = memoryview(request_frame(ApiKey.PRODUCE, version, asked))[4:]
    _, at = decode_request_header(frame)
    assert not any(has_many_partitions(frame[:end], at, version) for end in range(at, len(frame)))
