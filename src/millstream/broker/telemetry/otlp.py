"""Reads what clients push as telemetry (KIP-714): OpenTelemetry metrics, serialized with protocol buffers.

Owns the few fields that say which metric had which value: names, attributes, numbers, counts and sums. Everything else
is skipped, as protocol buffers allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from struct import Struct, error
from typing import Final

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE: Final = Struct("<d")
_INT64: Final = Struct("<q")
_GAUGE, _SUM, _HISTOGRAM, _EXPONENTIAL_HISTOGRAM, _SUMMARY = 5, 7, 9, 10, 11
_POINTS: Final = 1
"""Every kind of metric has its data points in its first field."""


class MalformedTelemetry(Exception):
    """Bytes that are no OpenTelemetry metrics."""


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One value of one metric. Of histograms and summaries it is the sum, with the count beside it."""

    name: str
    attributes: Mapping[str, str]
    value: float
    time_ms: int
    count: int | None = None


def metric_points(data: bytes) -> Iterator[MetricPoint]:
    """Yields every point of a MetricsData message. Raises MalformedTelemetry, at the latest when all are taken."""
    try:
        for resource in _messages(memoryview(data), 1):
            for scope in _messages(resource, 2):
                for metric in _messages(scope, 2):
                    yield from _points_of(metric)
    except (error, IndexError, UnicodeDecodeError) as problem:
        raise MalformedTelemetry(str(problem)) from problem


def _points_of(metric: memoryview) -> Iterator[MetricPoint]:
    fields = list(_fields(metric))
    name = next(
        (
            bytes(value).decode()
            for number, value in fields
            if number == 1 and isinstance(value, memoryview)
        ),
        "",
    )
    for number, value in fields:
        if not isinstance(value, memoryview):
            continue
        if number in {_GAUGE, _SUM}:
            for point in _messages(value, _POINTS):
                yield _number_point(name, point)
        elif number in {_HISTOGRAM, _EXPONENTIAL_HISTOGRAM, _SUMMARY}:
            for point in _messages(value, _POINTS):
                yield _summed_point(
                    name,
                    point,
                    attributes=7 if number == _SUMMARY else 9 if number == _HISTOGRAM else 1,
                )


def _number_point(name: str, point: memoryview) -> MetricPoint:
    attributes: dict[str, str] = {}
    value, time_ms = 0.0, 0
    for number, content in _fields(point):
        match number, content:
            case 3, int():
                time_ms = content // 1_000_000
            case 4, int():
                value = _DOUBLE.unpack(content.to_bytes(8, "little"))[0]
            case 6, int():
                value = float(_INT64.unpack(content.to_bytes(8, "little"))[0])
            case 7, memoryview():
                attributes.update([_attribute(content)])
            case _:
                continue
    return MetricPoint(name, attributes, value, time_ms)


def _summed_point(name: str, point: memoryview, attributes: int) -> MetricPoint:
    """Histograms and summaries agree on time, count and sum, not on where their attributes are."""
    found: dict[str, str] = {}
    value, time_ms, count = 0.0, 0, 0
    for number, content in _fields(point):
        match number, content:
            case 3, int():
                time_ms = content // 1_000_000
            case 4, int():
                count = content
            case 5, int():
                value = _DOUBLE.unpack(content.to_bytes(8, "little"))[0]
            case _, memoryview() if number == attributes:
                found.update([_attribute(content)])
            case _:
                continue
    return MetricPoint(name, found, value, time_ms, count)


def _attribute(data: memoryview) -> tuple[str, str]:
    key, text = "", ""
    for number, content in _fields(data):
        if number == 1 and isinstance(content, memoryview):
            key = bytes(content).decode()
        elif number == 2 and isinstance(content, memoryview):
            text = _any_value(content)
    return key, text


def _any_value(data: memoryview) -> str:
    for number, content in _fields(data):
        match number, content:
            case 1, memoryview():
                return bytes(content).decode()
            case 2, int():
                return "true" if content else "false"
            case 3, int():
                return str(content - (1 << 64) if content >> 63 else content)
            case 4, int():
                return repr(_DOUBLE.unpack(content.to_bytes(8, "little"))[0])
            case _:
                continue
    return ""


def _messages(data: memoryview, wanted: int) -> Iterator[memoryview]:
    for number, content in _fields(data):
        if number == wanted and isinstance(content, memoryview):
            yield content


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Numbers and contents of a message: bytes as they are, numbers as unsigned integers."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise MalformedTelemetry("a field has the number 0")
        if kind == _VARINT:
            content, at = _varint(data, at)
            yield number, content
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in {_FIXED64, _FIXED32}:
            size = 8 if kind == _FIXED64 else 4
        else:
            raise MalformedTelemetry(f"a field has the kind {kind}")
        if size > len(data) - at:
            raise MalformedTelemetry(f"a field of {size} bytes in {len(data) - at}")
        part = data[at : at + size]
        at += size
        yield number, part if kind == _BYTES else int.from_bytes(part, "little")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & ((1 << 64) - 1), at
    raise MalformedTelemetry("a number of more than ten bytes")
