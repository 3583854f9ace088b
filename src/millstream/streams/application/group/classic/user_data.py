"""The bytes that members of an application's classic group exchange, in the user data of subscriptions and assignments.

Pure.

The format is Kafka Streams', so that Java instances are in one group with ours. A member tells the leader of its
process and the state that it has; the leader tells a member its tasks. Each speaks the version that the group has
agreed on (KIP-268), the latest one first. Knows nothing of who shares out and how.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby
from typing import Final
from uuid import UUID

from millstream.model import TopicPartition
from millstream.streams.application.group.classic.user_data_bytes import (
    NAMED_TOPOLOGY_VERSION,
    Reading,
    put_hosts,
    put_int8,
    put_int16,
    put_int32,
    put_int64,
    put_string,
    put_task,
    put_text,
)
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.errors import TaskAssignmentError
from millstream.streams.host_info import HostInfo

VERSION_MAX: Final = 11
"""Kafka Streams 3.2 and later."""
VERSION_MIN: Final = 7
"""Kafka Streams 2.6, the first that tells how far stores are."""
_UNIQUE_VERSION, _ERROR_VERSION, _TAGS_VERSION = 8, 9, 11
RUNNING: Final = -2
"""The offset sum of a task that the member runs (Task.LATEST_OFFSET)."""
UNKNOWN_OFFSETS: Final = -3
"""The offset sum of a task whose stores it has, and cannot tell how far (SubscriptionInfo.UNKNOWN_OFFSET_SUM)."""
NO_REBALANCE: Final = 2**63 - 1
_NO_NAME: Final = -1
_UUID_BYTES: Final = 16
_NO_PROCESS: Final = UUID(int=0)


class AssignmentError(IntEnum):
    """The reason why an assignment has no tasks (Kafka Streams' AssignorError).

    The last one goes from members to the leader, too.
    """

    NONE = 0
    INCOMPLETE_SOURCE_TOPIC_METADATA = 1
    VERSION_PROBING = 2
    ASSIGNMENT_ERROR = 3
    SHUTDOWN_REQUESTED = 4


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """A member, as it tells the leader. `offset_sums`: by task, how many offsets of its changelogs the stores cover.

    `unique`: changes with each subscription, as the coordinator takes no notice of one that is equal to the last.
    `version` is that of the bytes, `version_max` the latest one that the member knows.
    """

    process_id: UUID
    offset_sums: Mapping[StreamsTaskId, int] = field(default_factory=dict)
    endpoint: str | None = None
    unique: int = 0
    error: int = AssignmentError.NONE
    client_tags: Mapping[str, str] = field(default_factory=dict)
    version: int = VERSION_MAX
    version_max: int = VERSION_MAX

    @property
    def running(self) -> frozenset[StreamsTaskId]:
        """The tasks that the member runs."""
        return frozenset(task for task, offsets in self.offset_sums.items() if offsets == RUNNING)

    @property
    def is_readable(self) -> bool:
        """Whether more is known of the member than its versions: its first subscription may
        be of a later Kafka Streams.
        """
        return self.version <= VERSION_MAX

    def encode(self) -> bytes:
        out, version = bytearray(), self.version
        put_int32(out, version, self.version_max)
        out += self.process_id.bytes
        put_string(out, self.endpoint or "")
        self._put_offset_sums(out)
        if version >= _UNIQUE_VERSION:
            put_int8(out, self.unique)
        if version >= _ERROR_VERSION:
            put_int32(out, self.error)
        if version >= _TAGS_VERSION:
            put_int32(out, len(self.client_tags))
            for key, value in sorted(self.client_tags.items()):
                put_string(out, key)
                put_string(out, value)
        return bytes(out)

    def _put_offset_sums(self, out: bytearray) -> None:
        listed = sorted(self.offset_sums.items())
        if self.version >= NAMED_TOPOLOGY_VERSION:
            put_int32(out, len(listed))
            for task, offsets in listed:
                put_int32(out, *task)
                put_int64(out, offsets)
                put_int16(out, _NO_NAME)
            return
        parts = [(number, list(part)) for number, part in groupby(listed, lambda each: each[0][0])]
        put_int32(out, len(parts))
        for number, part in parts:
            put_int32(out, number, len(part))
            for task, offsets in part:
                put_int32(out, task.partition)
                put_int64(out, offsets)

    @classmethod
    def decode(cls, data: bytes) -> SubscriptionInfo:
        """Decodes what a member says; of a version that is not known yet, the versions alone.

        Raises TaskAssignmentError for a version that is too old, MalformedMessage for bytes that are none.
        """
        reading = Reading(data, "SubscriptionInfo")
        version = reading.int32()
        _require_known(version, "a member")
        version_max = reading.int32()
        if version > VERSION_MAX:
            return cls(_NO_PROCESS, version=version, version_max=version_max)
        process_id = UUID(bytes=reading.take(_UUID_BYTES))
        endpoint = reading.string()
        sums = dict(_offset_sums(reading, version))
        unique = reading.int8() if version >= _UNIQUE_VERSION else 0
        failed = reading.int32() if version >= _ERROR_VERSION else AssignmentError.NONE
        tags = {}
        for _ in range(reading.count() if version >= _TAGS_VERSION else 0):
            key = reading.string()
            tags[key] = reading.string()
        return cls(process_id, sums, endpoint or None, unique, failed, tags, version, version_max)


@dataclass(frozen=True, slots=True)
class AssignmentInfo:
    """The tasks of a member.

    `active` goes with the assigned partitions in order: as often a task as it reads partitions.

    `hosts` and `standby_hosts`: what each host of the group has. `next_rebalance_ms`: the wall-clock time at
    which the member has the group share out anew. `version` is that of the bytes, `common_version` the latest
    one that all members know.
    """

    active: tuple[StreamsTaskId, ...] = ()
    standby: Mapping[StreamsTaskId, frozenset[TopicPartition]] = field(default_factory=dict)
    hosts: Mapping[HostInfo, frozenset[TopicPartition]] = field(default_factory=dict)
    standby_hosts: Mapping[HostInfo, frozenset[TopicPartition]] = field(default_factory=dict)
    error: int = AssignmentError.NONE
    next_rebalance_ms: int = NO_REBALANCE
    version: int = VERSION_MAX
    common_version: int = VERSION_MAX

    def encode(self) -> bytes:
        out = bytearray()
        put_int32(out, self.version, self.common_version, len(self.active))
        for task in self.active:
            put_task(out, task, self.version)
        put_int32(out, len(self.standby))
        for task, partitions in sorted(self.standby.items()):
            put_task(out, task, self.version)
            put_int32(out, len(partitions))
            for topic, number in sorted(partitions):
                put_text(out, topic)
                put_int32(out, number)
        places = (self.hosts, self.standby_hosts)
        topics = {tp.topic for hosts in places for mine in hosts.values() for tp in mine}
        numbers = {topic: number for number, topic in enumerate(sorted(topics))}
        put_int32(out, len(numbers))
        for topic, number in numbers.items():
            put_int32(out, number)
            put_text(out, topic)
        for hosts in places:
            put_hosts(out, hosts, numbers)
        put_int32(out, self.error)
        put_int64(out, self.next_rebalance_ms)
        return bytes(out)

    @classmethod
    def decode(cls, data: bytes) -> AssignmentInfo:
        """Decodes what the leader says.

        Raises TaskAssignmentError for a version that is not known, MalformedMessage for bytes that are none.
        """
        reading = Reading(data, "AssignmentInfo")
        version = reading.int32()
        _require_known(version, "the leader")
        if version > VERSION_MAX:
            raise TaskAssignmentError(
                f"the leader of the group speaks version {version} of Kafka Streams' assignment to a member that knows {VERSION_MAX}"
            )
        common_version = reading.int32()
        active = tuple(reading.task(version) for _ in range(reading.count()))
        standby = {}
        for _ in range(reading.count()):
            task = reading.task(version)
            standby[task] = frozenset(
                TopicPartition(reading.text(), reading.int32()) for _ in range(reading.count())
            )
        topics = {reading.int32(): reading.text() for _ in range(reading.count())}
        hosts, standby_hosts = reading.hosts(topics), reading.hosts(topics)
        failed, next_rebalance_ms = reading.int32(), reading.int64()
        return cls(
            active,
            standby,
            hosts,
            standby_hosts,
            failed,
            next_rebalance_ms,
            version,
            common_version,
        )


def _require_known(version: int, speaker: str) -> None:
    if version < VERSION_MIN:
        raise TaskAssignmentError(
            f"{speaker} of the group speaks version {version} of Kafka Streams' assignment, and this member {VERSION_MIN} to "
            f"{VERSION_MAX}: run Kafka Streams 2.6 or later, without upgrade.from, beside it"
        )


def _offset_sums(reading: Reading, version: int) -> Iterator[tuple[StreamsTaskId, int]]:
    for _ in range(reading.count()):
        sub_topology = reading.int32()
        if version < NAMED_TOPOLOGY_VERSION:
            for _ in range(reading.count()):
                yield StreamsTaskId(sub_topology, reading.int32()), reading.int64()
            continue
        yield StreamsTaskId(sub_topology, reading.int32()), reading.int64()
        if (length := reading.int16()) != _NO_NAME:
            reading.take(length)
