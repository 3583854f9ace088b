"""The bytes that members of an application's classic group exchange, in the user data of subscriptions and assignments. Pure.

The format is Kafka Streams', version 11, so that Java instances are in one group with ours. A member tells the leader
of its process and the state that it has; the leader tells a member its tasks. Knows nothing of who shares out and how.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from struct import Struct, error
from typing import Final
from uuid import UUID

from millstream.errors import MalformedMessage
from millstream.model import TopicPartition
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.errors import TaskAssignmentError
from millstream.streams.host_info import HostInfo

VERSION: Final = 11
RUNNING: Final = -2
"""The offset sum of a task that the member runs (Task.LATEST_OFFSET)."""
UNKNOWN_OFFSETS: Final = -3
"""The offset sum of a task whose stores it has, and cannot tell how far (SubscriptionInfo.UNKNOWN_OFFSET_SUM)."""
NO_REBALANCE: Final = 2**63 - 1
_NO_NAME: Final = -1

_BYTE, _SHORT, _INT, _LONG = Struct(">b"), Struct(">h"), Struct(">i"), Struct(">q")
_UUID_BYTES: Final = 16


class AssignmentError(IntEnum):
    """The reason why an assignment has no tasks (Kafka Streams' AssignorError). The last one goes from members to the leader, too."""

    NONE = 0
    INCOMPLETE_SOURCE_TOPIC_METADATA = 1
    VERSION_PROBING = 2
    ASSIGNMENT_ERROR = 3
    SHUTDOWN_REQUESTED = 4


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """A member, as it tells the leader. `offset_sums`: by task, how many offsets of its changelogs the stores cover.

    `unique`: changes with each subscription, as the coordinator takes no notice of one that is equal to the last.
    """

    process_id: UUID
    offset_sums: Mapping[StreamsTaskId, int] = field(default_factory=dict)
    endpoint: str | None = None
    unique: int = 0
    error: int = AssignmentError.NONE
    client_tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def running(self) -> frozenset[StreamsTaskId]:
        """The tasks that the member runs."""
        return frozenset(task for task, offsets in self.offset_sums.items() if offsets == RUNNING)

    def encode(self) -> bytes:
        out = bytearray()
        _ints(out, VERSION, VERSION)
        out += self.process_id.bytes
        _bytes(out, (self.endpoint or "").encode())
        _ints(out, len(self.offset_sums))
        for task, offsets in sorted(self.offset_sums.items()):
            _ints(out, *task)
            out += _LONG.pack(offsets)
            out += _SHORT.pack(_NO_NAME)
        out += _BYTE.pack((self.unique + 128) % 256 - 128)
        _ints(out, self.error, len(self.client_tags))
        for key, value in sorted(self.client_tags.items()):
            _bytes(out, key.encode())
            _bytes(out, value.encode())
        return bytes(out)

    @classmethod
    def decode(cls, data: bytes) -> SubscriptionInfo:
        """Decodes what a member says. Raises TaskAssignmentError for another version, MalformedMessage for bytes that are none."""
        reading = _Reading(data, "SubscriptionInfo")
        reading.require_version("a member")
        process_id = UUID(bytes=reading.take(_UUID_BYTES))
        endpoint = reading.string()
        sums = {}
        for _ in range(reading.count()):
            task = StreamsTaskId(reading.int32(), reading.int32())
            sums[task] = reading.int64()
            if (length := reading.int16()) != _NO_NAME:
                reading.take(length)
        unique, failed = reading.int8(), reading.int32()
        tags = {}
        for _ in range(reading.count()):
            key = reading.string()
            tags[key] = reading.string()
        return cls(process_id, sums, endpoint or None, unique, failed, tags)


@dataclass(frozen=True, slots=True)
class AssignmentInfo:
    """The tasks of a member. `active` goes with the assigned partitions in order: as often a task as it reads partitions.

    `hosts` and `standby_hosts`: what each host of the group has. `next_rebalance_ms`: the wall-clock time at which the member has the
    group share out anew.
    """

    active: tuple[StreamsTaskId, ...] = ()
    standby: Mapping[StreamsTaskId, frozenset[TopicPartition]] = field(default_factory=dict)
    hosts: Mapping[HostInfo, frozenset[TopicPartition]] = field(default_factory=dict)
    standby_hosts: Mapping[HostInfo, frozenset[TopicPartition]] = field(default_factory=dict)
    error: int = AssignmentError.NONE
    next_rebalance_ms: int = NO_REBALANCE

    def encode(self) -> bytes:
        out = bytearray()
        _ints(out, VERSION, VERSION, len(self.active))
        for task in self.active:
            _task(out, task)
        _ints(out, len(self.standby))
        for task, partitions in sorted(self.standby.items()):
            _task(out, task)
            _ints(out, len(partitions))
            for topic, number in sorted(partitions):
                _text(out, topic)
                _ints(out, number)
        places = (self.hosts, self.standby_hosts)
        topics = {tp.topic for hosts in places for mine in hosts.values() for tp in mine}
        numbers = {topic: number for number, topic in enumerate(sorted(topics))}
        _ints(out, len(numbers))
        for topic, number in numbers.items():
            _ints(out, number)
            _text(out, topic)
        for hosts in places:
            _hosts(out, hosts, numbers)
        _ints(out, self.error)
        out += _LONG.pack(self.next_rebalance_ms)
        return bytes(out)

    @classmethod
    def decode(cls, data: bytes) -> AssignmentInfo:
        """Decodes what the leader says. Raises TaskAssignmentError for another version, MalformedMessage for bytes that are none."""
        reading = _Reading(data, "AssignmentInfo")
        reading.require_version("the leader")
        active = tuple(reading.task() for _ in range(reading.count()))
        standby = {}
        for _ in range(reading.count()):
            task = reading.task()
            standby[task] = frozenset(
                TopicPartition(reading.text(), reading.int32()) for _ in range(reading.count())
            )
        topics = {reading.int32(): reading.text() for _ in range(reading.count())}
        hosts, standby_hosts = reading.hosts(topics), reading.hosts(topics)
        return cls(active, standby, hosts, standby_hosts, reading.int32(), reading.int64())


class _Reading:
    """A position in bytes."""

    def __init__(self, data: bytes, message: str) -> None:
        self._data, self._message, self._at = data, message, 0

    def require_version(self, speaker: str) -> None:
        """Reads the version of the bytes, and the latest one that is known to those who agreed on it."""
        version = self.int32()
        if version != VERSION:
            raise TaskAssignmentError(
                f"{speaker} of the group speaks version {version} of Kafka Streams' assignment, and this member {VERSION}: "
                "run Kafka Streams 4, without upgrade.from, beside it"
            )
        self.int32()

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

    def task(self) -> StreamsTaskId:
        task = StreamsTaskId(self.int32(), self.int32())
        self.take(2 * self.int32())  # the name of a topology, which Kafka Streams no longer has
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


def _ints(out: bytearray, *numbers: int) -> None:
    for number in numbers:
        out += _INT.pack(number)


def _bytes(out: bytearray, data: bytes) -> None:
    _ints(out, len(data))
    out += data


def _text(out: bytearray, text: str) -> None:
    data = text.encode()
    out += _SHORT.pack(len(data))
    out += data


def _task(out: bytearray, task: StreamsTaskId) -> None:
    _ints(out, *task, 0)


def _hosts(
    out: bytearray,
    hosts: Mapping[HostInfo, Iterable[TopicPartition]],
    numbers: Mapping[str, int],
) -> None:
    _ints(out, len(hosts))
    for host, partitions in sorted(hosts.items()):
        listed = sorted(partitions)
        _text(out, host.host)
        _ints(out, host.port, len(listed))
        for topic, number in listed:
            _ints(out, numbers[topic], number)
