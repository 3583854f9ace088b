"""Cutting a stream into frames."""

from __future__ import annotations

import tracemalloc

import pytest

from millstream.errors import MalformedMessage
from millstream.protocol.connection import FrameReader

STREAM = bytes.fromhex("00000003 616263 00000000 00000002 6465")


def frames(reader: FrameReader, *chunks: bytes) -> list[bytes]:
    return [bytes(frame) for chunk in chunks for frame in reader.receive_data(chunk)]


def test_several_frames_may_arrive_at_once() -> None:
    assert frames(FrameReader(100), STREAM) == [b"abc", b"", b"de"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_frames_may_arrive_in_pieces(size: int) -> None:
    chunks = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    assert frames(FrameReader(100), *chunks) == [b"abc", b"", b"de"]


def test_a_frame_is_writable_and_outlives_the_data_it_came_in() -> None:
    data = bytearray(STREAM)
    (frame, *_) = FrameReader(100).receive_data(data)
    data[4:7] = b"xyz"
    frame[0:1] = b"A"
    assert bytes(frame) == b"Abc"


def test_a_stream_may_end_only_between_frames() -> None:
    reader = FrameReader(100)
    assert reader.is_between_frames
    reader.receive_data(STREAM[:2])
    assert not reader.is_between_frames
    reader.receive_data(STREAM[2:7])
    assert reader.is_between_frames


@pytest.mark.parametrize("size", ["ffffffff", "80000000"])
def test_a_negative_size_is_malformed(size: str) -> None:
    with pytest.raises(MalformedMessage, match="is not between 0 and 100"):
        FrameReader(100).receive_data(bytes.fromhex(size))


def test_a_frame_over_the_limit_is_malformed_before_its_body_arrives() -> None:
    reader = FrameReader(100)
    assert reader.receive_data((100).to_bytes(4, "big") + bytes(100))[0].nbytes == 100
    with pytest.raises(MalformedMessage, match="a frame of 101 bytes is not between 0 and 100"):
        reader.receive_data((101).to_bytes(4, "big"))


def test_an_announced_size_allocates_nothing() -> None:
    reader = FrameReader(0x7FFFFFFF)
    tracemalloc.start()
    try:
        reader.receive_data(bytes.fromhex("7fffffff 00"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000
