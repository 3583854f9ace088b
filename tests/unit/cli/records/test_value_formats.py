from __future__ import annotations

import click
import pytest

from millstream.cli.records.lines import parse_envelope
from millstream.cli.records.text import as_bytes
from millstream.cli.records.value_formats import format_of, reader, writer
from millstream.clients.core.serialization import SerializationError


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("string", b"abc", b"abc"),
        ("long", b"7", bytes(7) + b"\x07"),
        ("double", b"1.5", b"\x3f\xf8" + bytes(6)),
        ("boolean", b"true", b"\x01"),
        ("json", b'{"a": 1}', b'{"a":1}'),
        ("hex", b"00ff", b"\x00\xff"),
        ("base64", b"AP8=", b"\x00\xff"),
        ("msgpack", b'{"a": 1}', b"\x81\xa1a\x01"),
    ],
)
def test_text_becomes_bytes_of_a_format(name: str, text: bytes, data: bytes) -> None:
    assert writer(name, None, None, is_key=False)("t", text, []) == data


@pytest.mark.parametrize(
    ("name", "data", "value"),
    [
        ("string", b"\xff", b"\xff"),
        ("long", bytes(7) + b"\x07", 7),
        ("json", b'{"a":1}', {"a": 1}),
        ("hex", b"\x00\xff", "00ff"),
        ("base64", b"\x00\xff", "AP8="),
    ],
)
def test_bytes_become_values(name: str, data: bytes, value: object) -> None:
    assert reader(name, None, is_key=False)("t", data, []) == value


@pytest.mark.parametrize("number", ["12345678901234567.89", "-1.50", "18446744073709551616"])
def test_numbers_of_json_are_produced_and_printed_digit_for_digit(number: str) -> None:
    text = f'{{"n":[{number}]}}'.encode()
    assert writer("json", None, None, is_key=False)("t", text, []) == text
    assert as_bytes(reader("json", None, is_key=False)("t", text, [])) == text
    line = b'{"value":' + text + b"}"
    assert parse_envelope(line, keeps_partition=False).value == text


@pytest.mark.parametrize(("name", "text"), [("long", b"x"), ("uuid", b"x"), ("json", b"{"), ("boolean", b"yes"), ("hex", b"0")])  # fmt: skip
def test_text_that_is_not_of_the_format_is_refused(name: str, text: bytes) -> None:
    with pytest.raises(SerializationError, match=f"is not a valid {name}"):
        writer(name, None, None, is_key=False)("t", text, [])


def test_kafkas_deserializers_are_known_by_their_class_names() -> None:
    assert format_of("org.apache.kafka.common.serialization.LongDeserializer") == "long"
    assert format_of("org.apache.kafka.common.serialization.ByteArrayDeserializer") == "bytes"
    assert format_of("io.confluent.kafka.serializers.KafkaAvroDeserializer") == "avro"
    with pytest.raises(click.BadParameter, match="is not one of"):
        format_of("com.example.OurDeserializer")


def test_schemas_need_a_registry() -> None:
    with pytest.raises(click.UsageError, match="needs --schema-registry URL"):
        reader("avro", None, is_key=False)
