"""Rows with headers have the bytes of Kafka Streams 4.3.1, taken from its ValueTimestampHeaders and AggregationWithHeaders serializers."""

from __future__ import annotations

import pytest

from millstream.streams.errors import SerializationError
from millstream.streams.serdes.varint import read_varint, write_varint
from millstream.streams.state.headers import (
    Headers,
    decode_headers,
    encode_headers,
    split_headers,
    with_headers,
    without_headers,
)

MANY: Headers = (("h", b"v"), ("n", None), ("é", b""), ("h", b"\x00\x01"))
LONG: Headers = (("k" * 70, bytes(200)),)
ROW = (1234567890123).to_bytes(8, "big") + b"abc"
"""A timestamp and the value abc, as a store without headers has it."""
KAFKA = {
    (): "00",
    (("h", b"v"),): "0a0202680276",
    MANY: "220802680276026e0104c3a90002680400" + "01",
    LONG: "a604" + "028c01" + "6b" * 70 + "9003" + "00" * 200,
}


@pytest.mark.parametrize("row", [ROW, b"abc", b""], ids=["timestamped", "session", "empty"])
@pytest.mark.parametrize("headers", list(KAFKA), ids=["none", "one", "many", "long"])
def test_a_row_has_its_headers_in_front_as_in_kafka_streams(headers: Headers, row: bytes) -> None:
    stored = bytes.fromhex(KAFKA[headers]) + row
    assert with_headers(row, headers) == stored
    assert split_headers(stored) == (headers, row)
    assert without_headers(stored) == row


def test_headers_are_read_back_in_their_order_with_duplicates_and_nulls() -> None:
    assert decode_headers(encode_headers(MANY)) == MANY
    assert encode_headers(()) == b""
    assert decode_headers(b"") == ()


@pytest.mark.parametrize(
    "stored",
    [b"", b"\x80", b"\x0a\x02", b"\x01abc"],
    ids=["empty", "cut varint", "cut headers", "negative length"],
)
def test_bytes_that_are_no_row_with_headers_are_a_serialization_error(stored: bytes) -> None:
    with pytest.raises(SerializationError, match="cannot be read"):
        split_headers(stored)


@pytest.mark.parametrize("data", [b"\x02\x02h\x08v", b"\x02\x02\xff\x00", b"\x04\x02h\x00"])
def test_headers_that_are_cut_or_no_text_are_a_serialization_error(data: bytes) -> None:
    with pytest.raises(SerializationError, match="headers of a stored row"):
        decode_headers(data)


@pytest.mark.parametrize(
    ("number", "data"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (64, "8001"),
        (300, "d804"),
        (2**31 - 1, "feffffff0f"),
    ],
)
def test_varints_are_zigzag(number: int, data: str) -> None:
    assert write_varint(number) == bytes.fromhex(data)
    assert read_varint(b"x" + bytes.fromhex(data), 1) == (number, 1 + len(data) // 2)
