"""Telemetry of clients: any bytes are points or one typed error, and what is well formed is read back."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from millstream.broker.telemetry.otlp import MalformedTelemetry, metric_points

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
DOUBLES = st.floats(allow_nan=False)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def fixed(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 1) + content


def point(value: float, time_ms: int, attributes: dict[str, str], *, at: int, whole: bool) -> bytes:
    """A data point; `at` is the number of its attributes, `whole` a number in an integer's field."""
    told = b"".join(
        field(at, field(1, key.encode()) + field(2, field(1, text.encode())))
        for key, text in attributes.items()
    )
    number = (
        fixed(6, struct.pack("<q", int(value))) if whole else fixed(4, struct.pack("<d", value))
    )
    return told + fixed(3, struct.pack("<q", time_ms * 1_000_000)) + number


@given(NAMES, DOUBLES, st.integers(0, 4_000_000_000_000), st.dictionaries(NAMES, NAMES, max_size=3))
def test_gauges_and_sums_are_read_back(
    name: str, value: float, time_ms: int, attributes: dict[str, str]
) -> None:
    for kind in (5, 7):
        body = field(kind, field(1, point(value, time_ms, attributes, at=7, whole=False)))
        data = field(1, field(2, field(2, field(1, name.encode()) + body)))
        (found,) = metric_points(data)
        assert (found.name, found.value, found.time_ms) == (name, value, time_ms)
        assert found.attributes == attributes
        assert found.count is None


@given(st.integers(-(1 << 53), 1 << 53))
def test_whole_numbers_are_read_back(value: int) -> None:
    body = field(5, field(1, point(value, 0, {}, at=7, whole=True)))
    (found,) = metric_points(field(1, field(2, field(2, body))))
    assert found.value == value


@given(st.binary(max_size=200))
def test_any_bytes_are_points_or_one_typed_error(data: bytes) -> None:
    try:
        found = list(metric_points(data))
    except MalformedTelemetry:
        return
    assert len(found) <= len(data)


def test_a_histogram_tells_count_and_sum() -> None:
    body = fixed(4, struct.pack("<q", 3)) + fixed(5, struct.pack("<d", 7.5)) + field(9, field(1, b"k") + field(2, field(1, b"v")))  # fmt: skip
    data = field(1, field(2, field(2, field(1, b"h") + field(9, field(1, body)))))
    (found,) = metric_points(data)
    assert (found.value, found.count, found.attributes) == (7.5, 3, {"k": "v"})
