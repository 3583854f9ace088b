from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
