from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import MalformedMessage
from millstream.net.frame_receiver import RECEIVE_BUFFER_BYTES, FrameReceiver

LIMIT = 10_000_000


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def receiver(limit: int = LIMIT, shared_bytes: int = 256) -> FrameReceiver:
    return FrameReceiver(memoryview(bytearray(shared_bytes)), limit)


def feed(into: FrameReceiver, data: bytes, read_bytes: int = 1 << 30) -> list[bytes]:
    """Delivers `data` in reads of at most `read_bytes`, as a socket would."""
    frames = []
    while data:
        target = into.target()
        count = min(len(data), len(target), read_bytes)
        target[:count] = data[:count]
        del target
        into.note_received(count)
        frames += cut(into)
        data = data[count:]
    return frames


def cut(into: FrameReceiver) -> list[bytes]:
    frames = []
    while (frame := into.next_frame()) is not None:
        frames.append(bytes(frame))
    return frames


def test_several_short_frames_of_one_read_are_cut_apart() -> None:
    assert feed(receiver(), framed(b"one", b"", b"three")) == [b"one", b"", b"three"]


@given(
    bodies=st.lists(st.binary(max_size=700), max_size=8),
    read_bytes=st.integers(1, 400),
    shared_bytes=st.integers(4, 300),
)
def test_frames_do_not_depend_on_how_the_stream_is_cut(
    bodies: list[bytes], read_bytes: int, shared_bytes: int
) -> None:
    assert feed(receiver(shared_bytes=shared_bytes), framed(*bodies), read_bytes) == bodies


def test_a_long_frame_is_received_where_it_stays() -> None:
    body = bytes(range(256)) * 1000
    into = receiver()
    first = framed(body)[:100]
    into.target()[:100] = first
    into.note_received(100)
    assert cut(into) == []
    rest = into.target()
    assert len(rest) == RECEIVE_BUFFER_BYTES  # trust grows with what has arrived
    del rest
    assert feed(into, framed(body)[100:]) == [body]


def test_frames_are_writable_and_do_not_share_memory_with_later_reads() -> None:
    into = receiver()
    into.target()[:7] = framed(b"abc")
    into.note_received(7)
    first = into.next_frame()
    assert first is not None
    first[0] = ord("x")
    feed(into, framed(b"zzz"))
    assert bytes(first) == b"xbc"


def test_a_claimed_size_alone_allocates_little() -> None:
    into = receiver(limit=100 * 1024 * 1024)
    into.target()[:5] = struct.pack(">i", 100 * 1024 * 1024) + b"a"
    into.note_received(5)
    assert cut(into) == []
    assert len(into.target()) == RECEIVE_BUFFER_BYTES
    assert into.held_bytes == RECEIVE_BUFFER_BYTES + 1


def test_a_very_long_frame_grows_by_pieces() -> None:
    into = receiver(limit=100 * 1024 * 1024)
    feed(into, struct.pack(">i", 100 * 1024 * 1024) + bytes(50 * 1024 * 1024))
    assert into.held_bytes <= 58 * 1024 * 1024
    assert [len(frame) for frame in feed(into, bytes(50 * 1024 * 1024))] == [100 * 1024 * 1024]


def test_frames_are_cut_when_they_are_asked_for() -> None:
    into = receiver()
    data = framed(b"one", b"two") + b"\x00"
    into.target()[: len(data)] = data
    into.note_received(len(data))
    assert not into.needs_bytes
    assert bytes(into.next_frame() or b"") == b"one"
    assert not into.needs_bytes
    assert cut(into) == [b"two"]
    assert into.needs_bytes
    assert not into.between_frames


def test_what_was_not_cut_survives_the_reads_of_others() -> None:
    shared = memoryview(bytearray(256))
    into, other = FrameReceiver(shared, LIMIT), FrameReceiver(shared, LIMIT)
    data = framed(b"one", b"two", b"three")
    into.target()[: len(data)] = data
    into.note_received(len(data))
    assert bytes(into.next_frame() or b"") == b"one"
    into.keep_rest()
    assert into.held_bytes == len(framed(b"two", b"three"))
    assert feed(other, framed(b"x" * 250)) == [b"x" * 250]
    assert cut(into) == [b"two", b"three"]
    assert into.held_bytes == 0


def test_it_is_between_frames_only_when_nothing_is_half_received() -> None:
    into = receiver()
    assert into.between_frames
    feed(into, b"\x00")
    assert not into.between_frames
    feed(into, b"\x00\x00\x02a")
    assert not into.between_frames
    feed(into, b"b")
    assert into.between_frames


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_an_impossible_size_is_refused_before_anything_is_allocated(size: int) -> None:
    with pytest.raises(MalformedMessage, match=f"frame of {size} bytes, allowed are 0 to 100"):
        feed(receiver(limit=100), struct.pack(">i", size) + b"rest")


def test_frames_before_an_impossible_size_are_still_delivered() -> None:
    into = receiver(limit=100)
    data = framed(b"good") + struct.pack(">i", -5)
    into.target()[: len(data)] = data
    into.note_received(len(data))
    assert bytes(into.next_frame() or b"") == b"good"
    with pytest.raises(MalformedMessage):
        into.next_frame()


@pytest.mark.parametrize(
    ("first_bytes", "hint"),
    [(b"GET / HTTP/1.1", "look like HTTP"), (b"\x16\x03\x01\x02\x00", "TLS hello")],
)
def test_well_known_strangers_are_named(first_bytes: bytes, hint: str) -> None:
    with pytest.raises(MalformedMessage, match=hint):
        feed(receiver(), first_bytes)


def test_the_frame_of_a_peer_whose_sizes_are_believed_is_never_copied() -> None:
    body = bytes(range(256)) * 20_000
    into = FrameReceiver(memoryview(bytearray(256)), LIMIT, believes_sizes=True)
    into.target()[:5] = framed(body)[:5]
    into.note_received(5)
    assert cut(into) == []
    rest = into.target()
    assert len(rest) == len(body) - 1
    del rest
    assert feed(into, framed(body)[5:]) == [body]
