"""Errors name message, version, field and offset."""

from __future__ import annotations

import tracemalloc

import pytest

from millstream.errors import EncodeError, MalformedMessage
from millstream.model import Uuid
from millstream.protocol.api import Message
from millstream.protocol.generated.fetch import FetchRequest, FetchTopic, ReplicaState
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from millstream.protocol.generated.produce import ProduceRequest
from millstream.protocol.generated.share_fetch import (
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from millstream.protocol.tagged_fields import TaggedField


@pytest.mark.parametrize(
    ("kind", "version", "raw", "where", "reason"),
    [
        (HeartbeatRequest, 3, "ffff", ("group_id", 0), "null is not allowed"),
        (HeartbeatRequest, 3, "0001 61 0000", ("generation_id", 3), "4 bytes are needed, 2 remain"),
        (HeartbeatRequest, 4, "02 61 00000001 02 61 00", ("tagged fields", 9), "the bytes end"),
        (
            HeartbeatRequest,
            4,
            "02 61 00000001 02 61 00 01 05 05 aa",
            ("tagged fields", 12),
            "tag 5 claims 5 bytes",
        ),
        (MetadataRequest, 8, "7fffffff 000000", ("topics", 4), "2147483647 elements do not fit"),
        (
            MetadataRequest,
            1,
            "00000002 0001 61 0005",
            ("topics[1].name", 9),
            "5 bytes are needed, 0 remain",
        ),
        (MetadataRequest, 0, "ffffffff", ("topics", 0), "null is not allowed"),
        (
            ProduceRequest,
            3,
            "ffff 0001 00000001 00000001 0001 61 00000001 00000000 00000005 61",
            ("topic_data[0].partition_data[0].records", 27),
            "5 bytes are needed, 1 remain",
        ),
        (
            FetchRequest,
            12,
            "ffffffff 00000000 00000000 00000000 00 00000000 ffffffff 01 01 01 01 01 00",
            ("tagged fields", 31),
            "tag 1 is not valid in version 12",
        ),
    ],
)
def test_malformed_bytes_name_the_field_and_the_offset(
    kind: type[Message], version: int, raw: str, where: tuple[str, int], reason: str
) -> None:
    with pytest.raises(MalformedMessage, match=reason) as raised:
        kind.decode(memoryview(bytes.fromhex(raw)), 0, version)
    assert (raised.value.message, raised.value.version) == (kind.__name__, version)
    assert (raised.value.field, raised.value.offset) == where


def test_offsets_count_from_the_start_of_the_view() -> None:
    with pytest.raises(MalformedMessage) as raised:
        HeartbeatRequest.decode(memoryview(bytes.fromhex("aaaaaaaa ffff")), 4, 3)
    assert raised.value.offset == 4


def test_a_count_that_cannot_be_true_allocates_nothing() -> None:
    raw = memoryview(bytes.fromhex("7fffffff") + bytes(1000))
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage):
            MetadataRequest.decode(raw, 0, 8)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_the_search_for_the_field_ends_in_a_hostile_message() -> None:
    """A hundred thousand sound topics before the broken one: naming it is not worth the time."""
    count = 100_000
    raw = count.to_bytes(4, "big") + bytes(2 * count - 2) + b"\xff\xff"
    with pytest.raises(MalformedMessage, match="what follows is not") as raised:
        MetadataRequest.decode(memoryview(raw), 0, 0)
    assert raised.value.field == "topics[50000].name.(or behind it)"


def encode(message: Message, version: int) -> bytes:
    out = bytearray()
    message.encode(out, version)
    return bytes(out)


@pytest.mark.parametrize(
    ("message", "version", "reason"),
    [
        (MetadataRequest(topics=None), 0, "field topics: null is not allowed in version 0"),
        (
            MetadataRequest(topics=[MetadataRequestTopic(name=None)]),
            9,
            r"field topics\[0\].name: null is not allowed in version 9",
        ),
        (
            HeartbeatRequest(group_id="g" * 32768),
            4,
            "field group_id: a string of 32768 bytes is longer",
        ),
        (
            HeartbeatRequest(group_id="g" * 32768),
            3,
            "field group_id: a string of 32768 bytes is longer",
        ),
        (
            HeartbeatRequest(group_id="\ud800"),
            4,
            "field group_id: character 0 cannot be written as UTF-8",
        ),
        (HeartbeatRequest(generation_id=1 << 31), 4, "field generation_id: 2147483648 is no int32"),
        (
            HeartbeatRequest(group_instance_id="i"),
            2,
            "field group_instance_id: version 2 does not have it",
        ),
        (FetchRequest(replica_id=3), 15, "field replica_id: version 15 does not have it"),
        (
            FetchRequest(replica_state=ReplicaState(3)),
            14,
            "field replica_state: version 14 does not have it",
        ),
        (
            HeartbeatRequest(unknown_tagged_fields=(TaggedField(0, b""),)),
            3,
            "field unknown_tagged_fields: version 3 is not flexible",
        ),
        (
            FetchRequest(cluster_id="c", unknown_tagged_fields=(TaggedField(0, b""),)),
            12,
            "field unknown_tagged_fields: a tag occurs twice",
        ),
        (
            FetchRequest(topics=[FetchTopic(topic_id=Uuid(b"short"))]),
            13,
            "a uuid has 16 bytes, not 5",
        ),
        (
            ShareFetchResponse(
                responses=[ShareFetchableTopicResponse(partitions=[PartitionData()])]
            ),
            1,
            r"field responses\[0\].partitions\[0\].records: null is not allowed",
        ),
    ],
)
def test_a_value_that_the_version_cannot_carry_is_refused(
    message: Message, version: int, reason: str
) -> None:
    with pytest.raises(EncodeError, match=f"^{type(message).__name__} v{version}, .*{reason}"):
        encode(message, version)


def test_an_ignorable_value_is_dropped() -> None:
    assert encode(FetchRequest(rack_id="r"), 10) == encode(FetchRequest(), 10)
    assert encode(FetchRequest(cluster_id="c"), 11) == encode(FetchRequest(), 11)


def test_a_default_may_be_written_down_where_the_field_does_not_exist() -> None:
    assert encode(FetchRequest(replica_state=ReplicaState(-1, -1)), 14) == encode(
        FetchRequest(), 14
    )
    assert encode(FindCoordinatorRequest(coordinator_keys=[]), 0) == encode(
        FindCoordinatorRequest(), 0
    )


def test_unknown_tags_are_written_between_the_known_ones() -> None:
    request = FetchRequest(
        cluster_id="c",
        replica_state=ReplicaState(1, 2),
        unknown_tagged_fields=(TaggedField(7, b"seven"),),
    )
    raw = encode(request, 15)
    assert raw.endswith(
        bytes.fromhex("03 00 02 02 63 01 0d 00000001 0000000000000002 00 07 05 736576656e")
    )
    assert FetchRequest.decode(memoryview(raw), 0, 15) == (request, len(raw))
