"""Frames: size, header and body, and what is not one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from millstream.errors import MalformedMessage, UnsupportedVersion
from millstream.protocol.api import ApiKey
from millstream.protocol.buffers import SPLICE_BYTES_MIN
from millstream.protocol.frames import (
    Piece,
    UnsupportedRequest,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from millstream.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from millstream.protocol.generated.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.protocol.generated.metadata import MetadataRequest

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=7, member_id="m")
HEARTBEAT_V4 = "000c 0004 0000002a 0001 63 00" + "02 67 00000007 02 6d 00 00"
HEARTBEAT_V0 = "000c 0000 0000002a 0001 63" + "0001 67 00000007 0001 6d"


def joined(pieces: list[Piece]) -> bytes:
    return b"".join(
        piece if isinstance(piece, bytearray | memoryview) else piece.read() for piece in pieces
    )


def framed(text: str) -> bytes:
    raw = bytes.fromhex(text)
    return len(raw).to_bytes(4, "big") + raw


@pytest.mark.parametrize(("version", "expected"), [(0, HEARTBEAT_V0), (4, HEARTBEAT_V4)])
def test_a_request_is_its_size_its_header_and_its_body(version: int, expected: str) -> None:
    assert joined(encode_request(ApiKey.HEARTBEAT, version, 42, "c", HEARTBEAT)) == framed(expected)


@pytest.mark.parametrize(("version", "raw"), [(0, HEARTBEAT_V0), (4, HEARTBEAT_V4)])
def test_a_request_is_read_back(version: int, raw: str) -> None:
    header, message = decode_request(memoryview(bytes.fromhex(raw)))
    assert (header.request_api_key, header.request_api_version) == (12, version)
    assert (header.correlation_id, header.client_id) == (42, "c")
    assert message == HEARTBEAT


def test_a_client_id_may_be_null() -> None:
    raw = joined(encode_request(ApiKey.HEARTBEAT, 0, 42, None, HEARTBEAT))
    assert raw[12:14] == b"\xff\xff"
    assert decode_request(memoryview(raw)[4:])[0].client_id is None


def test_a_response_has_the_correlation_id_and_the_body() -> None:
    raw = joined(
        encode_response(
            ApiKey.HEARTBEAT, 4, 42, HeartbeatResponse(throttle_time_ms=3, error_code=25)
        )
    )
    assert raw == framed("0000002a 00" + "00000003 0019 00")
    correlation_id, message = decode_response(ApiKey.HEARTBEAT, 4, memoryview(raw)[4:])
    assert correlation_id == 42
    assert message == HeartbeatResponse(throttle_time_ms=3, error_code=25)


def test_an_api_versions_response_has_no_tags_in_its_header() -> None:
    raw = joined(encode_response(ApiKey.API_VERSIONS, 3, 42, ApiVersionsResponse()))
    assert raw == framed("0000002a" + "0000 01 00000000 00")


def test_large_records_are_spliced_into_the_frame_and_small_ones_copied() -> None:
    large, small = bytes(SPLICE_BYTES_MIN), b"small"
    partitions = [
        PartitionData(partition_index=index, records=records)
        for index, records in enumerate((large, small))
    ]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])
    pieces = encode_response(ApiKey.FETCH, 12, 42, response)
    assert len(pieces) == 3
    assert isinstance(pieces[1], memoryview)
    assert pieces[1].obj is large
    raw = joined(pieces)
    assert int.from_bytes(raw[:4], "big") == len(raw) - 4
    assert decode_response(ApiKey.FETCH, 12, memoryview(raw)[4:]) == (42, response)


@dataclass(slots=True)
class FileRange:
    """Stands for records that lie in a file."""

    content: bytes

    def __len__(self) -> int:
        return len(self.content)

    def read(self) -> bytes:
        return self.content


def test_a_range_of_a_file_is_handed_on_as_it_is() -> None:
    records = FileRange(bytes(SPLICE_BYTES_MIN))
    partition = PartitionData(records=records)
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    assert encode_response(ApiKey.FETCH, 12, 42, response)[1] is records


def test_a_short_range_of_a_file_is_read_into_the_frame() -> None:
    partition = PartitionData(records=FileRange(b"records"))
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    pieces = encode_response(ApiKey.FETCH, 12, 42, response)
    assert len(pieces) == 1
    assert b"\x08records" in joined(pieces)


def test_records_of_a_frame_are_a_view_of_it() -> None:
    partition = PartitionData(records=b"records")
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    frame = bytearray(joined(encode_response(ApiKey.FETCH, 12, 42, response))[4:])
    _, read = decode_response(ApiKey.FETCH, 12, memoryview(frame))
    assert isinstance(read, FetchResponse)
    records = read.responses[0].partitions[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame


@pytest.mark.parametrize("length", range(len(bytes.fromhex(HEARTBEAT_V4))))
def test_a_request_that_ends_too_early_is_malformed(length: int) -> None:
    with pytest.raises(MalformedMessage):
        decode_request(memoryview(bytes.fromhex(HEARTBEAT_V4))[:length])


def test_bytes_behind_the_body_are_ignored() -> None:
    _, message = decode_request(memoryview(bytes.fromhex(HEARTBEAT_V4 + "ffff")))
    assert message == HEARTBEAT


def test_an_unknown_api_is_unsupported() -> None:
    with pytest.raises(UnsupportedVersion, match="no API has key 999"):
        decode_request(memoryview(bytes.fromhex("03e7 0000 0000002a ffff")))


@pytest.mark.parametrize("version", ["ffff", "000e", "7fff"])
def test_an_unknown_version_is_unsupported_and_its_header_known(version: str) -> None:
    with pytest.raises(UnsupportedRequest, match="of API 3") as raised:
        decode_request(memoryview(bytes.fromhex(f"0003 {version} 0000002a 0001 63 00")))
    assert raised.value.header.correlation_id == 42


def test_an_api_versions_request_of_the_future_can_be_answered() -> None:
    """KIP-511: the broker answers with version 0, so it must get the correlation id."""
    header, _ = decode_request_header(memoryview(bytes.fromhex("0012 0063 0000002a 0001 63 00")))
    assert (header.request_api_version, header.correlation_id) == (99, 42)


def test_an_unstable_version_is_not_served() -> None:
    with pytest.raises(UnsupportedRequest, match="no version 6 of API 22"):
        decode_request(memoryview(bytes.fromhex("0016 0006 0000002a 0001 63 00")))


def test_a_message_refuses_versions_it_does_not_have() -> None:
    with pytest.raises(UnsupportedVersion, match="MetadataRequest has versions 0 to 13, not 14"):
        MetadataRequest().encode(bytearray(), 14)
    with pytest.raises(UnsupportedVersion, match="ApiVersionsRequest has versions 0 to 4, not -1"):
        ApiVersionsRequest.decode(memoryview(b""), 0, -1)
