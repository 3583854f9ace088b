"""Keys of windows on the command line; the bytes are those of the serdes of streams, which are Kafka Streams'."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest

from millstream.cli.records.text import Shown, as_bytes, envelope, json_line
from millstream.cli.records.value_formats import format_of, reader, writer
from millstream.clients.core.serialization import SerializationError
from millstream.streams.serdes import Serde, Windowed, long, session_windowed, string, time_windowed

ANN = Windowed("ann", 10_000, 20_000)


def shown(name: str, data: bytes) -> str:
    return as_bytes(reader(name, None, is_key=True)("t", data, [])).decode()


@pytest.mark.parametrize(
    ("name", "serde", "key", "text"),
    [
        ("windowed:string", time_windowed(string(), 10_000), ANN, "[ann@10000]"),
        ("windowed:string:10s", time_windowed(string(), 10_000), ANN, "[ann@10000/20000]"),
        ("windowed:string:10000", time_windowed(string(), 10_000), ANN, "[ann@10000/20000]"),
        ("windowed:long:PT10S", time_windowed(long(), 10_000), Windowed(7, 0, 0), "[7@0/10000]"),
        ("session-windowed:string", session_windowed(string()), ANN, "[ann@10000/20000]"),
        ("session-windowed:hex", session_windowed(string()), ANN, "[616e6e@10000/20000]"),
    ],
)
def test_keys_are_shown_with_their_windows_and_written_back(
    name: str, serde: Serde[Any], key: Windowed[Any], text: str
) -> None:
    data = serde.encode(key)
    assert shown(name, data) == text
    assert writer(name, None, None, is_key=True)("t", text.encode(), []) == data


def test_keys_of_the_changelog_of_a_window_store_end_in_a_number() -> None:
    data = time_windowed(string(), 10_000).encode(ANN) + bytes(4)
    assert shown("windowed-changelog:string:10s", data) == "[ann@10000/20000]"
    write = writer("windowed-changelog:string", None, None, is_key=True)
    assert write("t", b"[ann@10000]", []) == data


def test_in_json_a_key_is_an_object_and_is_taken_back() -> None:
    data = session_windowed(string()).encode(ANN)
    key = reader("session-windowed:string", None, is_key=True)("t", data, [])
    found = envelope(Shown("t", 0, 0, 5, key, b"v", ()))
    assert found["key"] == {"key": "ann", "start": 10_000, "end": 20_000}
    line = json_line(Shown("t", 0, 0, 5, key, b"v", ()))
    typed = json.dumps(json.loads(line)["key"]).encode()
    assert writer("session-windowed:string", None, None, is_key=True)("t", typed, []) == data


def test_bytes_of_a_key_that_are_no_text_come_back_from_json() -> None:
    data = b"\xff" + bytes(8)
    key = reader("windowed:string", None, is_key=True)("t", data, [])
    found = envelope(Shown("t", 0, 0, 5, key, b"v", ()))["key"]
    assert found == {"key": {"base64": "/w=="}, "start": 0, "end": None}
    typed = json.dumps(found).encode()
    assert writer("windowed:string", None, None, is_key=True)("t", typed, []) == data


def test_a_key_may_have_the_characters_that_stand_around_its_window() -> None:
    key = Windowed("[a@1/2]", 5, 15)
    data = time_windowed(string(), 10).encode(key)
    assert shown("windowed:string:10ms", data) == "[[a@1/2]@5/15]"
    write = writer("windowed:string", None, None, is_key=True)
    assert write("t", b"[[a@1/2]@5/15]", []) == data


def test_a_window_that_never_ends_ends_with_time() -> None:
    data = time_windowed(string(), 10).encode(Windowed("a", 2**63 - 5, 0))
    assert shown("windowed:string:10ms", data) == f"[a@{2**63 - 5}/{2**63 - 1}]"


def test_keys_without_a_window_are_refused() -> None:
    with pytest.raises(SerializationError, match="windowed has at least 8 bytes, this one has 3"):
        shown("windowed:string", b"ann")
    with pytest.raises(SerializationError, match="at least 16 bytes"):
        shown("session-windowed:string", bytes(15))


@pytest.mark.parametrize(
    "text", [b"ann", b"{}", b"[]", b'{"key": "a", "start": "x"}', b"[a@99999999999999999999]"]
)
def test_text_without_a_window_is_refused(text: bytes) -> None:
    with pytest.raises(SerializationError, match=r"not a valid windowed: write \[key@start/end\]"):
        writer("windowed:string", None, None, is_key=True)("t", text, [])
    with pytest.raises(SerializationError, match="not a valid session-windowed"):
        writer("session-windowed:string", None, None, is_key=True)("t", b"[a@1]", [])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("windowed", r"write windowed:FORMAT\[:SIZE\], as in windowed:string, not 'windowed'"),
        ("session-windowed:string:10s", "write session-windowed:FORMAT, as in"),
        ("windowed:strung", "'strung' is not one of string, bytes"),
        ("windowed:string:soon", "'soon' is not a duration"),
        ("windowed:windowed:string", "as in windowed:string, not 'windowed'"),
        ("org.apache.kafka.streams.kstream.TimeWindowedDeserializer", "write windowed:FORMAT"),
        ("org.apache.kafka.streams.kstream.SessionWindowedDeserializer", "write session-windowed:"),
    ],
)
def test_formats_that_are_not_whole_are_refused(name: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=message):
        format_of(name)


def test_other_deserializers_are_named_as_before() -> None:
    assert format_of("windowed:LongDeserializer") == "windowed:LongDeserializer"
    assert shown("windowed:LongDeserializer", bytes(7) + b"\x05" + bytes(8)) == "[5@0]"
