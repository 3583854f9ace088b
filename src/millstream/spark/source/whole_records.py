"""Records as functions of users are given them, made of the rows that a reader gives. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from millstream.clients import ConsumerRecord
from millstream.clients.core.values import TimestampType
from millstream.model import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS: Final = frozenset({"headers", "timestampType", "leaderEpoch"})
"""What is read beside key, value, offset and timestamp, so that records are whole."""


def records_of(partition: TopicPartition, rows: pa.RecordBatch) -> Iterable[ConsumerRecord]:
    """The rows of a batch one by one, made when they are asked for."""
    names = ("offset", "timestamp", "key", "value", "headers", "timestampType", "leaderEpoch")
    for offset, timestamp, key, value, headers, kind, epoch in zip(
        *(rows.column(name).to_pylist() for name in names), strict=True
    ):
        yield ConsumerRecord(
            partition.topic,
            partition.partition,
            offset,
            timestamp,
            key=key,
            value=value,
            headers=tuple((each["key"], each["value"]) for each in headers),
            timestamp_type=TimestampType(kind),
            leader_epoch=epoch,
        )


def reason_of(error: Exception) -> str:
    """Returns what a function of a user has raised, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
