"""Writes metrics as OpenTelemetry's MetricsData, in protocol buffers (KIP-714): the few messages
that gauges and sums need.

Field numbers are those of opentelemetry.proto.metrics.v1 and common.v1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_TIME: Final = Struct("<Q")
_DOUBLE: Final = Struct("<d")
_DELTA, _CUMULATIVE = 1, 2


@dataclass(frozen=True, slots=True)
class DataPoint:
    """One value of one metric. `start_ms` is where the sum begins; gauges have none.

    Times are wall-clock milliseconds.
    """

    name: str
    value: float
    time_ms: int
    attributes: Mapping[str, str] = field(default_factory=dict)
    start_ms: int | None = None
    is_delta: bool = False


def metrics_data(resource: Mapping[str, str], points: Iterable[DataPoint]) -> bytes:
    """Returns all points as metrics of one resource."""
    metrics = b"".join(_message(2, _metric(point)) for point in points)
    resource_metrics = _message(1, _attributes(1, resource)) + _message(2, metrics)
    return _message(1, resource_metrics)


def _metric(point: DataPoint) -> bytes:
    """A Gauge (5), or a Sum (7) where there is a start."""
    data = _message(1, _number_data_point(point))
    name = _message(1, point.name.encode())
    if point.start_ms is None:
        return name + _message(5, data)
    temporality = _varint_field(2, _DELTA if point.is_delta else _CUMULATIVE)
    return name + _message(7, data + temporality + _varint_field(3, 1))


def _number_data_point(point: DataPoint) -> bytes:
    out = b""
    if point.start_ms is not None:
        out += _fixed64(2, _TIME.pack(point.start_ms * 1_000_000))
    out += _fixed64(3, _TIME.pack(point.time_ms * 1_000_000))
    out += _fixed64(4, _DOUBLE.pack(point.value))
    return out + _attributes(7, point.attributes)


def _attributes(number: int, attributes: Mapping[str, str]) -> bytes:
    """KeyValue messages with an AnyValue that is a string."""
    return b"".join(
        _message(number, _message(1, key.encode()) + _message(2, _message(1, value.encode())))
        for key, value in attributes.items()
    )


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _fixed64(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _FIXED64) + content


def _varint_field(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
