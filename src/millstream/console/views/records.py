"""Records as the pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from millstream.console.views.payload import Payload, show_bytes

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class HeaderRow:
    name: Payload | None
    value: Payload | None


@dataclass(frozen=True, slots=True)
class RecordRow:
    """`time` is the timestamp in ISO 8601, UTC; None where the number means no time of this calendar."""

    offset: int
    timestamp_ms: int
    time: str | None
    key: Payload | None
    value: Payload | None
    headers: tuple[HeaderRow, ...]


@dataclass(frozen=True, slots=True)
class RecordsView:
    """The latest records of one partition, the newest first. With an `error` they could not be read."""

    partition: int
    records: tuple[RecordRow, ...]
    error: str | None = None


def record_rows(batch: pa.RecordBatch) -> list[RecordRow]:
    """Returns the rows of an Arrow batch as the clients give it, `headers` included."""
    return [
        RecordRow(
            offset=offset,
            timestamp_ms=timestamp_ms,
            time=time_text(timestamp_ms),
            key=show_bytes(key.as_py()),
            value=show_bytes(value.as_py()),
            headers=_header_rows(headers),
        )
        for offset, timestamp_ms, key, value, headers in zip(
            batch.column("offset").to_pylist(),
            batch.column("timestamp").to_pylist(),
            batch.column("key"),
            batch.column("value"),
            batch.column("headers"),
            strict=True,
        )
    ]


def time_text(timestamp_ms: int) -> str | None:
    """A producer may write any 64-bit number: what is before 1970 or beyond the calendar has no text."""
    if timestamp_ms < 0:
        return None
    try:
        time = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return None
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _header_rows(headers: pa.ListScalar) -> tuple[HeaderRow, ...]:
    """Names are read as bytes: they need not be text."""
    pairs = headers.values
    if pairs is None:
        return ()
    return tuple(
        HeaderRow(_buffer_payload(pair["key"]), show_bytes(pair["value"].as_py())) for pair in pairs
    )


def _buffer_payload(name: pa.StringScalar) -> Payload | None:
    buffer = name.as_buffer()
    return None if buffer is None else show_bytes(buffer.to_pybytes())
