"""Checks of the arguments that callers pass to a client, before anything changes.

Raises TypeError and ValueError saying what to pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from numbers import Real
from typing import Final, TypeVar

from millstream.clients.core.values import OffsetAndMetadata
from millstream.model import TopicPartition
from millstream.protocol.writing import refusal_of_text

AnyPartition = TopicPartition | tuple[str, int]
_Item = TypeVar("_Item")
_Partition = TypeVar("_Partition", TopicPartition, tuple[str, int])
AnyOffset = int | OffsetAndMetadata

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_INT32_MAX: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1
"""The protocol cannot carry more: a request that tried would fail in the background, far from who asked for it."""


def topic_names(topics: Iterable[str]) -> list[str]:
    """Returns the names as a list. One name may stand without a list."""
    names = [topics] if isinstance(topics, str) else _several("topics", topics)
    for name in names:
        _check_topic(name)
    return names


def topic_partitions(partitions: Iterable[AnyPartition]) -> list[TopicPartition]:
    """Returns the partitions without repetitions, in the order given."""
    if isinstance(partitions, TopicPartition):
        raise TypeError(f"give a list of partitions, not {partitions!r} alone")
    several = _several("partitions", partitions)
    checked = [topic_partition(partition) for partition in several]
    return list(dict.fromkeys(checked))


def topic_partition(partition: AnyPartition) -> TopicPartition:
    try:
        topic, number = partition
    except (TypeError, ValueError):
        raise TypeError(
            f"a partition is TopicPartition(topic, number), got {partition!r}"
        ) from None
    _check_topic(topic)
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"a partition's number must be an integer, got {number!r}")
    if number < 0:
        raise ValueError(f"a partition's number must not be negative, got {number}")
    if number > _INT32_MAX:
        raise ValueError(f"a partition's number must be at most {_INT32_MAX}, got {number}")
    return TopicPartition(topic, number)


def position(offset: AnyOffset) -> OffsetAndMetadata:
    found = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
    if isinstance(found.offset, bool) or not isinstance(found.offset, int):
        raise TypeError(f"an offset must be an integer, got {found.offset!r}")
    if found.offset < 0:
        raise ValueError(f"an offset must not be negative, got {found.offset}")
    if found.offset > _INT64_MAX:
        raise ValueError(f"an offset must be at most {_INT64_MAX}, got {found.offset}")
    if not isinstance(found.metadata, str):
        raise TypeError(f"the metadata of an offset must be a string, got {found.metadata!r}")
    sendable("the metadata of an offset", found.metadata)
    epoch: object = found.leader_epoch
    if isinstance(epoch, bool) or not isinstance(epoch, int) or not -1 <= epoch <= _INT32_MAX:
        raise ValueError(f"a leader epoch must be between -1 and {_INT32_MAX}, got {epoch!r}")
    return found


def positions(offsets: Mapping[_Partition, AnyOffset]) -> dict[TopicPartition, OffsetAndMetadata]:
    by_partition = _by_partition("offsets", offsets)
    return {topic_partition(tp): position(offset) for tp, offset in by_partition.items()}


def search_times(times: Mapping[_Partition, int | datetime]) -> dict[TopicPartition, int]:
    """Returns milliseconds since 1970.

    A part of one counts as a whole one: a record that is not earlier has a later millisecond.
    """
    by_partition = _by_partition("times", times)
    timestamps_ms = {tp: _milliseconds(tp, time) for tp, time in by_partition.items()}
    for partition, timestamp_ms in timestamps_ms.items():
        if timestamp_ms < 0:
            raise ValueError(
                f"the time to search in {partition} must not be negative, got {timestamp_ms};"
                " for start and end see beginning_offsets() and end_offsets()"
            )
        if timestamp_ms > _INT64_MAX:
            raise ValueError(
                f"the time to search in {partition} must be at most {_INT64_MAX}, got {timestamp_ms}"
            )
    return {topic_partition(tp): timestamp_ms for tp, timestamp_ms in timestamps_ms.items()}


def _milliseconds(partition: AnyPartition, time: int | datetime) -> int:
    if not isinstance(time, datetime):
        if not _is_number(time):
            raise TypeError(
                f"the time to search in {partition} is in milliseconds or a datetime, got {time!r}"
            )
        return time
    if time.tzinfo is None:
        raise ValueError(
            f"the time to search in {partition} needs a zone: datetime(..., tzinfo=UTC), not {time!r}"
        )
    return -((_EPOCH - time) // _MILLISECOND)


def timeout(timeout_ms: int) -> int:
    """Returns the time limit. A part of a millisecond does no harm, and NumPy's numbers are no int."""
    if not _is_number(timeout_ms):
        raise TypeError(f"timeout_ms must be a number of milliseconds, got {timeout_ms!r}")
    if timeout_ms < 0:
        raise ValueError(f"timeout_ms must not be negative, got {timeout_ms}")
    return timeout_ms


def record_count(max_records: int) -> int:
    if not _is_number(max_records):
        raise TypeError(f"max_records must be a number, got {max_records!r}")
    if max_records < 1:
        raise ValueError(f"max_records must be at least 1, got {max_records}")
    return max_records


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _several(name: str, values: Iterable[_Item]) -> list[_Item]:
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} takes several, in a list, got {values!r}")
    return list(values)


def _by_partition(name: str, values: Mapping[_Partition, _Item]) -> Mapping[_Partition, _Item]:
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} takes a mapping by partition, got {values!r}")
    return values


def _check_topic(topic: object) -> None:
    if not isinstance(topic, str):
        raise TypeError(f"a topic's name must be a string, got {topic!r}")
    if not topic.strip():
        raise ValueError("a topic's name must not be blank")
    sendable("a topic's name", topic)


def sendable(what: str, text: str) -> str:
    """Returns the text.

    Raises ValueError where no request can carry it, which would be the end of a background task.
    """
    refusal = refusal_of_text(text)
    if refusal is not None:
        raise ValueError(f"{what} cannot be sent: {refusal}")
    return text
