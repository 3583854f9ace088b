from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from millstream.clients.core.serialization import SerializationError
from millstream.clients.serdes import MissingExtra, avro, json, msgpack, protobuf
from tests.unit.clients.serdes.messages import Airport, Flight

SCHEMA = {
    "type": "record",
    "name": "Delay",
    "fields": [{"name": "carrier", "type": "string"}, {"name": "minutes", "type": "int"}],
}


@dataclass
class Delay:
    carrier: str
    minutes: int


def test_json_is_compact_text() -> None:
    assert json().encode({"a": [1, None, "é"]}) == b'{"a":[1,null,"\xc3\xa9"]}'
    assert json().decode(b'{"a": 1}') == {"a": 1}


def test_json_writes_a_dataclass_and_makes_it_of_what_it_reads() -> None:
    serde = json(into=Delay)
    assert serde.encode(Delay("UA", 7)) == b'{"carrier":"UA","minutes":7}'
    assert serde.decode(b'{"carrier":"UA","minutes":7}') == Delay("UA", 7)


def test_json_calls_any_other_maker_with_the_value() -> None:
    assert json(into=tuple).decode(b"[1,2]") == (1, 2)


def test_json_asks_default_for_what_it_does_not_know() -> None:
    with pytest.raises(SerializationError, match="the json serde cannot write a value of type complex"):  # fmt: skip
        json().serialize("t", 1j, [])
    assert json(default=str).encode(1j) == b'"1j"'
    assert json(default=str).encode(Decimal("1.5")) == b'"1.5"'


WHOLE = [2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30]


@pytest.mark.parametrize("decimals", [False, True])
@pytest.mark.parametrize("number", WHOLE)
def test_json_keeps_whole_numbers_of_any_size(number: int, decimals: bool) -> None:
    serde = json(decimals=decimals)
    text = b'{"n":[%d,{"m":%d}]}' % (number, -number)
    assert serde.decode(text) == {"n": [number, {"m": -number}]}
    assert serde.encode({"n": [number, {"m": -number}]}) == text
    assert serde.encode(Delay("UA", number)) == b'{"carrier":"UA","minutes":%d}' % number


def test_json_reads_decimals_digit_for_digit_where_they_are_wanted() -> None:
    text = b'{"price":12345678901234567.89,"many":[0.1,-1.50,1E-7,3]}'
    value = {
        "price": Decimal("12345678901234567.89"),
        "many": [Decimal("0.1"), Decimal("-1.50"), Decimal("1E-7"), 3],
    }
    serde = json(decimals=True)
    assert serde.decode(text) == value
    assert serde.encode(value) == text
    assert json().encode(value) == text
    assert json().decode(b"[0.5, 12345678901234567.89]") == [0.5, 12345678901234568.0]
    assert json(decimals=True, default=str).encode([Decimal("1.50"), 1j]) == b'[1.50,"1j"]'
    assert pickle.loads(pickle.dumps(serde)).decode(b"1.50") == Decimal("1.50")


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]", b"\xff", b"", b"{", b"1 2"])
@pytest.mark.parametrize("decimals", [False, True])
def test_json_refuses_what_is_no_json(text: bytes, decimals: bool) -> None:
    with pytest.raises(SerializationError, match="the json serde cannot read these"):
        json(decimals=decimals).deserialize("t", text, [])


def test_json_refuses_a_decimal_that_is_no_number() -> None:
    with pytest.raises(SerializationError, match="cannot write a value of type Decimal"):
        json().serialize("t", Decimal("NaN"), [])


def test_json_is_immutable_only_where_somebody_promises_it() -> None:
    assert not json().immutable
    assert not json(into=Delay).immutable
    assert json(immutable=True).immutable
    assert json(into=Delay, immutable=True).immutable


def test_avro_writes_the_fields_and_nothing_else() -> None:
    """Length of the text as a zig-zag varint, the text, the number as a zig-zag varint."""
    serde = avro(SCHEMA)
    assert serde.encode({"carrier": "UA", "minutes": -7}) == b"\x04UA\x0d"
    assert serde.decode(b"\x04UA\x0d") == {"carrier": "UA", "minutes": -7}


def test_avro_writes_a_dataclass_and_makes_it_of_what_it_reads() -> None:
    serde = avro(SCHEMA, into=Delay)
    assert serde.decode(serde.encode(Delay("UA", 7))) == Delay("UA", 7)


def test_an_avro_reader_gets_what_its_own_schema_says() -> None:
    """A field taken away is skipped, a new one gets its default, an int becomes a long."""
    wanted = {
        "type": "record",
        "name": "Delay",
        "fields": [
            {"name": "minutes", "type": "long"},
            {"name": "cause", "type": "string", "default": "unknown"},
        ],
    }
    assert avro(SCHEMA, reader_schema=wanted).decode(b"\x04UA\x0e") == {
        "minutes": 7,
        "cause": "unknown",
    }


def test_avro_refuses_values_and_bytes_that_are_not_of_the_schema() -> None:
    with pytest.raises(SerializationError, match="the avro serde cannot write a value of type dict"):  # fmt: skip
        avro(SCHEMA).serialize("t", {"carrier": "UA", "minutes": "late"}, [])
    with pytest.raises(SerializationError, match="1 bytes follow the value"):
        avro(SCHEMA).deserialize("t", b"\x04UA\x0d\x00", [])


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        ("long", 1.5, "1.5 is no long of the schema"),
        ("long", 2**63, "9223372036854775808 is no long of the schema"),
        ("int", 2**31, "2147483648 is no int of the schema"),
        (SCHEMA, {"carrier": "UA", "minutes": 0.5}, "Delay.minutes: 0.5 is no int of the schema"),
        (["null", "long"], 1.5, "1.5 is no long of the schema"),
        ("int", Decimal("1.5"), r"Decimal\('1.5'\) is no int of the schema"),
    ],
)
def test_avro_cuts_nothing_off_a_number(schema: Any, value: object, reason: str) -> None:
    """fastavro writes 1.5 as the long 1, and 2**31 as an int that Java reads as another."""
    with pytest.raises(SerializationError, match=reason):
        avro(schema).serialize("t", value, [])


def test_avro_takes_what_its_writer_takes() -> None:
    """A member of a union by its name, and bytes of any kind."""
    point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}
    either = avro(["null", point, point | {"name": "Place"}])
    assert either.encode({"-type": "Place", "x": 1}) == b"\x04\x02"
    assert either.encode(("Place", {"x": 1})) == b"\x04\x02"
    assert avro("bytes").encode(memoryview(b"x")) == b"\x02x"


@pytest.mark.parametrize("unscaled", [1234, -1, 123456, -99999, 10**40])
def test_avro_reads_decimals_of_more_digits_than_their_schema_has_digit_for_digit(
    unscaled: int,
) -> None:
    """As Java's DecimalConversion: fastavro would round them to the precision."""
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    record = {"type": "record", "name": "R", "fields": [{"name": "d", "type": ["null", schema]}]}
    data = unscaled.to_bytes(20, "big", signed=True)
    expected = Decimal(f"{unscaled}E-2")
    assert avro(schema).decode(b"\x28" + data) == expected
    assert avro(record).decode(b"\x02\x28" + data) == {"d": expected}
    assert avro(record, reader_schema=record).decode(b"\x02\x28" + data) == {"d": expected}


def test_avro_takes_the_name_of_a_type_and_json_text() -> None:
    assert avro("string").encode("UA") == b"\x04UA"
    assert avro('{"type": "long"}').encode(1) == b"\x02"


def test_protobuf_writes_the_message() -> None:
    serde = protobuf(Flight)
    written = b"\x08\x96\x01\x1a\x05\n\x03LGA"
    assert serde.encode(Flight(number=150, origin=Airport(code="LGA"))) == written
    assert serde.decode(written).origin.code == "LGA"


def test_protobuf_refuses_messages_of_another_type() -> None:
    with pytest.raises(SerializationError, match=r"a flights\.Flight is written, not Airport"):
        protobuf(Flight).serialize("t", Airport(code="LGA"), [])


def test_msgpack_keeps_bytes_and_times_apart_from_text() -> None:
    value = {"at": datetime(2013, 1, 1, 5, tzinfo=UTC), "raw": b"\x00", "n": [1, None, 2.5]}
    serde = msgpack()
    assert serde.decode(serde.encode(value)) == value
    assert serde.encode({"a": 1}) == b"\x81\xa1a\x01"


def test_msgpack_makes_objects_of_what_it_reads() -> None:
    assert msgpack(into=Delay).decode(b"\x82\xa7carrier\xa2UA\xa7minutes\x07") == Delay("UA", 7)


@pytest.mark.parametrize("serde", [avro(SCHEMA, into=Delay), json(into=Delay)], ids=["avro", "json"])  # fmt: skip
def test_a_serde_goes_to_another_process(serde) -> None:
    there = pickle.loads(pickle.dumps(serde))
    assert there.decode(there.encode({"carrier": "UA", "minutes": 7})) == Delay("UA", 7)


@pytest.mark.parametrize(
    ("make", "missing", "extra"),
    [
        (lambda: avro(SCHEMA), "fastavro", "avro"),
        (lambda: protobuf(Flight), "google", "protobuf"),
        (msgpack, "msgpack", "msgpack"),
    ],
)
def test_a_format_without_its_library_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, make, missing: str, extra: str
) -> None:
    def nothing_there(name: str):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr("millstream.runtime.extras.import_module", nothing_there)
    with pytest.raises(MissingExtra, match=rf"pip install 'millstream\[{extra}\]'"):
        make()


def test_a_library_that_lacks_something_of_its_own_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(name: str):
        raise ModuleNotFoundError("No module named 'zlib'", name="zlib")

    monkeypatch.setattr("millstream.runtime.extras.import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="zlib"):
        avro(SCHEMA)


def test_formats_are_imported_when_they_are_used() -> None:
    code = (
        "import sys, millstream.clients.serdes; "
        "print({'fastavro', 'msgpack', 'google.protobuf', 'jsonschema', 'http.client'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
