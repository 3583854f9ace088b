"""Reads and writes the pieces of which Kafka Streams' user data is made, version by version. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct, error
from typing import Final

from millstream.errors import MalformedMessage
from millstream.model import TopicPartition
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.host_info import HostInfo

NAMED_TOPOLOGY_VERSION: Final = 10
"""From this one on the id of a task has the name of a topology, which Kafka Streams never came to use."""
_BYTE, _SHORT, _INT, _LONG = Struct(">b"), Struct(">h"), Struct(">i"), Struct(">q")


class Reading:
    """A position in bytes."""

    def __init__(self, data: bytes, message: str) -> None:
        self._data, self._message, self._at = data, message, 0

    def int8(self) -> int:
        return self._number(_BYTE)

    def int16(self) -> int:
        return self._number(_SHORT)

    def int32(self) -> int:
        return self._number(_INT)

    def int64(self) -> int:
        return self._number(_LONG)

    def count(self) -> int:
        """Returns a number of things that follow, each of a byte at least."""
        count = self.int32()
        if not 0 <= count <= len(self._data) - self._at:
            raise self._malformed(f"{count} elements")
        return count

    def string(self) -> str:
        """Returns a text with a length of four bytes."""
        return self._decoded(self.take(self.int32()))

    def text(self) -> str:
        """Returns a text with a length of two bytes, as Java's writeUTF has it."""
        return self._decoded(self.take(self.int16()))

    def task(self, version: int) -> StreamsTaskId:
        """Returns the id of a task in an assignment."""
        task = StreamsTaskId(self.int32(), self.int32())
        if version >= NAMED_TOPOLOGY_VERSION:
            self.take(2 * self.int32())
        return task

    def hosts(self, topics: Mapping[int, str]) -> dict[HostInfo, frozenset[TopicPartition]]:
        found = {}
        for _ in range(self.count()):
            host = HostInfo(self.text(), self.int32())
            found[host] = frozenset(
                TopicPartition(self._named(topics), self.int32()) for _ in range(self.count())
            )
        return found

    def take(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise self._malformed(f"{length} bytes")
        taken, self._at = self._data[self._at : end], end
        return taken

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as broken:
            raise self._malformed("no text") from broken

    def _named(self, topics: Mapping[int, str]) -> str:
        number = self.int32()
        if number not in topics:
            raise self._malformed(f"topic {number}")
        return topics[number]

    def _number(self, form: Struct) -> int:
        try:
            number: int = form.unpack_from(self._data, self._at)[0]
        except error as short:
            raise self._malformed("no more bytes") from short
        self._at += form.size
        return number

    def _malformed(self, reason: str) -> MalformedMessage:
        return MalformedMessage(reason, message=self._message, offset=self._at)


def put_int8(out: bytearray, number: int) -> None:
    out += _BYTE.pack((number + 128) % 256 - 128)


def put_int16(out: bytearray, number: int) -> None:
    out += _SHORT.pack(number)


def put_int32(out: bytearray, *numbers: int) -> None:
    for number in numbers:
        out += _INT.pack(number)


def put_int64(out: bytearray, number: int) -> None:
    out += _LONG.pack(number)


def put_string(out: bytearray, text: str) -> None:
    """Writes a text with a length of four bytes."""
    data = text.encode()
    put_int32(out, len(data))
    out += data


def put_text(out: bytearray, text: str) -> None:
    """Writes a text with a length of two bytes."""
    data = text.encode()
    put_int16(out, len(data))
    out += data


def put_task(out: bytearray, task: StreamsTaskId, version: int) -> None:
    """Writes the id of a task in an assignment."""
    put_int32(out, *task)
    if version >= NAMED_TOPOLOGY_VERSION:
        put_int32(out, 0)


def put_hosts(
    out: bytearray,
    hosts: Mapping[HostInfo, Iterable[TopicPartition]],
    numbers: Mapping[str, int],
) -> None:
    put_int32(out, len(hosts))
    for host, partitions in sorted(hosts.items()):
        listed = sorted(partitions)
        put_text(out, host.host)
        put_int32(out, host.port, len(listed))
        for topic, number in listed:
            put_int32(out, numbers[topic], number)
