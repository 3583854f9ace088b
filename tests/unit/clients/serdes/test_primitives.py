"""The bytes are those that Kafka 4.3.1's own serializers write for the same values."""

from __future__ import annotations

import pickle
from typing import Any
from uuid import UUID

import pytest

from millstream.clients.core.serialization import SerializationError
from millstream.clients.serdes import (
    Serde,
    boolean,
    bytes_,
    double,
    float_,
    integer,
    list_of,
    long,
    short,
    string,
    uuid,
    void,
)

AN_ID = UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")


@pytest.mark.parametrize(
    ("serde", "value", "written"),
    [
        (bytes_(), b"\x00\xff", "00ff"),
        (boolean(), True, "01"),
        (boolean(), False, "00"),
        (short(), -2, "fffe"),
        (integer(), 258, "00000102"),
        (long(), -(2**63), "8000000000000000"),
        (float_(), 1.5, "3fc00000"),
        (double(), -1.1, "bff199999999999a"),
        (string(), "aé€", "61c3a9e282ac"),
        (string("ISO-8859-1"), "aé", "61e9"),
        (string("UTF-16"), "aé", "feff006100e9"),
        (string("UTF-16"), "", ""),
        (string("UTF-32"), "aé", "00000061000000e9"),
        (uuid(), AN_ID, str(AN_ID).encode().hex()),
    ],
)
def test_values_are_written_as_kafka_writes_them(serde: Serde[Any], value: Any, written: str) -> None:  # fmt: skip
    assert serde.encode(value).hex() == written
    assert serde.decode(bytes.fromhex(written)) == value


@pytest.mark.parametrize(
    ("serde", "value", "written"),
    [
        (list_of(integer()), [1, None, -3], "0000000001000000010000000300000001fffffffd"),
        (list_of(integer()), [], "000000000000000000"),
        (list_of(uuid()), [AN_ID], "000000000000000001" + str(AN_ID).encode().hex()),
        (list_of(string()), ["ab", None, ""], "0100000003000000026162ffffffff00000000"),
        (list_of(boolean()), [True, None], "01000000020000000101ffffffff"),
        (list_of(list_of(short())), [[1]], "01000000010000000b0000000000000000010001"),
    ],
)
def test_lists_are_written_as_kafka_writes_them(serde: Serde[Any], value: Any, written: str) -> None:  # fmt: skip
    assert serde.encode(value).hex() == written
    assert serde.decode(bytes.fromhex(written)) == value


def test_what_an_encoding_cannot_hold_becomes_a_question_mark() -> None:
    assert string("latin-1").encode("a€") == b"a?"


def test_bytes_that_are_no_text_are_read_with_replacement_characters() -> None:
    assert string().decode(b"a\xff") == "a\ufffd"


def test_an_unknown_encoding_is_refused_when_the_serde_is_made() -> None:
    with pytest.raises(LookupError, match="latin-99"):
        string("latin-99")


@pytest.mark.parametrize(
    ("serde", "value", "told"),
    [
        (long(), "12", "the long serde cannot write a value of type str"),
        (short(), 40_000, "the short serde cannot write a value of type int"),
        (float_(), None, "the float serde cannot write a value of type NoneType"),
        (string(), 12, "the string serde cannot write a value of type int"),
        (bytes_(), "text", "the bytes serde cannot write a value of type str"),
        (boolean(), 1, "the boolean serde cannot write a value of type int"),
        (uuid(), str(AN_ID), "the uuid serde cannot write a value of type str"),
        (void(), b"", "the void serde cannot write a value of type bytes"),
        (list_of(long()), "12", r"the list_of\(long\) serde cannot write a value of type str"),
    ],
)
def test_a_value_of_the_wrong_type_names_the_serde_and_the_type(serde: Serde[Any], value: Any, told: str) -> None:  # fmt: skip
    with pytest.raises(SerializationError, match=told):
        serde.serialize("topic", value, [])


@pytest.mark.parametrize(
    ("serde", "written", "told"),
    [
        (long(), "0001", "the long serde cannot read these 2 bytes: a long is 8 bytes, not 2"),
        (boolean(), "02", "a boolean is one byte, 0 or 1"),
        (uuid(), "00", "a UUID is written as 36 characters, not 1 bytes"),
        (void(), "00", "the void serde reads only null, not 1 bytes"),
        (list_of(integer()), "0000", "the list ends in the middle"),
        (list_of(integer()), "02", "a list begins with a byte 0 or 1, not b'.x02'"),
        (list_of(integer()), "00000000000000000200000001", "1 elements and 0 nulls are no list of 2"),
        (list_of(integer()), "000000000100000005000000020000000a", "1 elements and 1 nulls are no list of 2"),
        (list_of(integer()), "007fffffff", "a list of 2147483647 in 5 bytes cannot be"),
        (list_of(integer()), "0000000000000000010001", "a integer is 4 bytes, not 2"),
        (list_of(string()), "010000000100000009", "an element of 9 bytes, but only 0 are left"),
        (list_of(string()), "010000000000", "1 bytes follow the last element"),
        (list_of(string()), "000000000000000000", "elements of a fixed size"),
    ],
)  # fmt: skip
def test_bytes_of_the_wrong_size_are_refused_with_what_is_wrong(serde: Serde[Any], written: str, told: str) -> None:  # fmt: skip
    with pytest.raises(SerializationError, match=told):
        serde.deserialize("topic", bytes.fromhex(written), [])


def test_a_number_goes_to_another_process_as_a_writer() -> None:
    assert pickle.loads(pickle.dumps(long().encode))(7) == bytes(7) + b"\x07"
