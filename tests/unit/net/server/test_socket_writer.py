from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from millstream.net.server.socket_writer import SocketWriter


@dataclass
class FakeSocket:
    """Takes at most `room` bytes, then would block."""

    room: int
    sent: bytearray = field(default_factory=bytearray)
    calls: int = 0

    def send(self, data: bytes) -> int:
        return self.sendmsg([data])

    def sendmsg(
        self, buffers: Sequence[bytes], ancillary: Sequence[object] = (), flags: int = 0
    ) -> int:
        self.calls += 1
        if self.room == 0:
            raise BlockingIOError
        data = b"".join(buffers)[: self.room]
        self.sent += data
        self.room -= len(data)
        return len(data)


class FileWithoutDescriptor:
    def fileno(self) -> int:
        raise OSError("a simulated disk")


@dataclass
class Stretch:
    data: bytes
    file: FileWithoutDescriptor = field(default_factory=FileWithoutDescriptor)
    position: int = 0

    def __len__(self) -> int:
        return len(self.data)

    def read(self) -> bytes:
        return self.data


def writer(fake: FakeSocket) -> SocketWriter:
    return SocketWriter(fake)  # type: ignore[arg-type]  # a fake has only what is used


def test_many_small_parts_leave_in_one_call() -> None:
    fake = FakeSocket(room=1000)
    into = writer(fake)
    into.write([b"ab", bytearray(b"cd")])
    into.write([memoryview(b"ef")])
    assert into.flush()
    assert (bytes(fake.sent), fake.calls) == (b"abcdef", 1)
    assert into.unsent_bytes == 0


def test_what_the_socket_does_not_take_is_kept_in_order() -> None:
    fake = FakeSocket(room=3)
    into = writer(fake)
    into.write([b"ab", b"cd", b"ef"])
    assert not into.flush()
    assert into.unsent_bytes == 3
    into.write([b"gh"])
    fake.room = 2
    assert not into.flush()
    fake.room = 100
    assert into.flush()
    assert bytes(fake.sent) == b"abcdefgh"


def test_a_full_socket_is_not_an_error() -> None:
    into = writer(FakeSocket(room=0))
    into.write([b"ab"])
    assert not into.flush()
    assert into.unsent_bytes == 2


def test_empty_parts_are_not_sent() -> None:
    fake = FakeSocket(room=10)
    into = writer(fake)
    into.write([b"", memoryview(b"")])
    assert into.flush()
    assert fake.calls == 0


def test_a_file_without_descriptor_is_read_instead() -> None:
    fake = FakeSocket(room=1 << 20)
    into = writer(fake)
    data = bytes(100_000)
    into.write([b"head", Stretch(data)])
    assert into.flush()
    assert bytes(fake.sent) == b"head" + data


def test_more_buffers_than_one_call_takes_are_all_sent() -> None:
    fake = FakeSocket(room=1 << 20)
    into = writer(fake)
    into.write([b"x"] * 2000)
    assert into.flush()
    assert len(fake.sent) == 2000


class FileThatIsCut:
    """Has a descriptor until it is cut."""

    is_cut = False

    def fileno(self) -> int:
        if self.is_cut:
            raise OSError("the file is closed")
        return 1_000_000


def test_a_file_that_is_cut_while_it_waits_to_be_sent_ends_the_connection() -> None:
    """Other records may stand there by then: nothing of them is sent."""
    file = FileThatIsCut()
    fake = FakeSocket(room=1000)
    into = writer(fake)
    into.write([b"head", Stretch(bytes(1 << 20), file)])  # type: ignore[arg-type]  # a file that changes
    file.is_cut = True
    with pytest.raises(OSError, match="closed"):
        into.flush()
    assert bytes(fake.sent) == b"head"


@dataclass
class SealingSocket:
    """Takes whole pieces, and each only at its second offer. It must be the same bytes then."""

    sent: list[bytes] = field(default_factory=list)
    offered: bytes | None = None
    takes_at_once: bool = False

    def send(self, piece: bytes | bytearray | memoryview) -> int:
        data = bytes(piece)
        if not self.takes_at_once and self.offered is None:
            self.offered = data
            raise BlockingIOError
        assert self.offered in {None, data}, "TLS has sealed other bytes already"
        self.offered = None
        self.sent.append(data)
        return len(data)


@dataclass
class FileInMemory:
    data: bytes
    reads: list[int] = field(default_factory=list)

    def fileno(self) -> int:
        raise AssertionError("sendfile would write past TLS")

    def read_at(self, position: int, length: int) -> bytes:
        self.reads.append(length)
        return self.data[position : position + length]


def flushed(into: SocketWriter) -> None:
    while not into.flush():
        pass


def test_with_tls_everything_leaves_in_pieces_that_are_offered_again_unchanged() -> None:
    tls = SealingSocket()
    into = SocketWriter(None, tls)
    file = FileInMemory(bytes(range(256)) * 1000)
    parts = [b"head", memoryview(b"x" * 150_000), b"a", b"b", Stretch(file.data, file), b"tail"]
    into.write(parts)  # type: ignore[arg-type]  # a file in memory
    whole = 4 + 150_000 + 2 + 256_000 + 4
    assert into.unsent_bytes == whole
    assert into.buffered_bytes == whole - 256_000, "the file is not in memory"
    assert not into.flush()
    assert into.unsent_bytes == whole, "nothing was taken yet"
    flushed(into)
    assert b"".join(tls.sent) == b"head" + b"x" * 150_000 + b"ab" + file.data + b"tail"
    assert max(map(len, tls.sent)) == 64 * 1024
    assert max(file.reads) == 64 * 1024, "a long stretch is never read whole"
    assert (into.unsent_bytes, into.buffered_bytes) == (0, 0)


def test_with_tls_small_parts_share_a_record() -> None:
    tls = SealingSocket(takes_at_once=True)
    into = SocketWriter(None, tls)
    into.write([b"a"] * 100)
    assert into.flush()
    assert tls.sent == [b"a" * 100]


def test_with_tls_a_flush_is_bounded() -> None:
    """A client on the same machine takes pieces as fast as they are sealed: others have their turn in between."""
    tls = SealingSocket(takes_at_once=True)
    into = SocketWriter(None, tls)
    into.write([bytes(5 << 20)])
    assert not into.flush()
    assert sum(map(len, tls.sent)) == 1 << 20
    flushed(into)
    assert sum(map(len, tls.sent)) == 5 << 20


def test_with_tls_a_file_that_became_shorter_ends_the_connection() -> None:
    into = SocketWriter(None, SealingSocket(takes_at_once=True))
    file = FileInMemory(bytes(10))
    into.write([Stretch(bytes(100_000), file)])  # type: ignore[arg-type]  # a file in memory
    with pytest.raises(OSError, match="shorter"):
        into.flush()
