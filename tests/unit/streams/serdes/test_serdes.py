"""D2: the serdes of Streams. The bytes are those that Kafka 4.3.1's own serdes write for the same values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import pytest

from millstream.streams import Materialized, StreamsBuilder, StreamsConfig, Windowed
from millstream.streams.serdes import (
    Serde,
    avro,
    boolean,
    bytes_,
    double,
    float_,
    integer,
    json,
    list_of,
    long,
    msgpack,
    session_windowed,
    short,
    string,
    time_windowed,
    uuid,
    void,
)
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

AN_ID = UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")


@pytest.mark.parametrize(
    ("serde", "value", "written"),
    [
        (string(), "aé€😀", "61c3a9e282acf09f9880"),
        (string(), "", ""),
        (short(), -2, "fffe"),
        (integer(), 258, "00000102"),
        (long(), -1, "ffffffffffffffff"),
        (float_(), -math.inf, "ff800000"),
        (double(), 1e300, "7e37e43c8800759c"),
        (bytes_(), b"\x00\xff", "00ff"),
        (boolean(), True, "01"),
        (boolean(), False, "00"),
        (uuid(), AN_ID, b"f81d4fae-7dec-11d0-a765-00a0c91e6bf6".hex()),
        (list_of(integer()), [1, None, -3], "0000000001000000010000000300000001fffffffd"),
        (list_of(string()), ["ab", None, ""], "0100000003000000026162ffffffff00000000"),
        (list_of(bytes_()), [b"\x07", None], "01000000020000000107ffffffff"),
        (time_windowed(string(), 10), Windowed("k", 20, 30), "6b0000000000000014"),
        (time_windowed(string(), 10), Windowed("", 20, 30), "0000000000000014"),
        (time_windowed(long(), 10), Windowed(5, 20, 30), "00000000000000050000000000000014"),
        (
            session_windowed(string()),
            Windowed("k", 20, 33),
            "6b00000000000000210000000000000014",
        ),
    ],
)
def test_values_have_the_bytes_of_javas_serdes(serde: Serde[Any], value: Any, written: str) -> None:
    assert serde.encode(value).hex() == written
    assert serde.decode(bytes.fromhex(written)) == value


def test_numbers_that_python_rounds_have_the_bytes_of_javas_serdes() -> None:
    assert float_().encode(-0.1).hex() == "bdcccccd"
    assert double().encode(math.nan).hex() == "7ff8000000000000"


@pytest.mark.parametrize("value", [b"\x01\x02", bytearray(b"\x01\x02"), memoryview(b"\x01\x02")])
def test_one_serde_writes_what_java_has_three_for(value: Any) -> None:
    """Bytes, ByteArray and ByteBuffer."""
    assert bytes_().encode(value) == b"\x01\x02"


def test_null_never_reaches_a_serde_and_void_has_nothing_else() -> None:
    assert void().encode_all([None, None]) == [None, None]
    assert void().decode_all([None]) == [None]
    with pytest.raises(ValueError, match="only null"):
        void().decode(b"\x00")


def test_the_end_of_a_time_window_does_not_go_beyond_the_largest_timestamp() -> None:
    """As the window of all time: written as its start alone."""
    read = time_windowed(string(), 10).decode(bytes.fromhex("6b7ffffffffffffffe"))
    assert read == Windowed("k", 2**63 - 2, 2**63 - 1)
    unlimited = Windowed("k", 5, 2**63 - 1)
    assert time_windowed(string(), 2**63 - 1).encode(unlimited).hex() == "6b0000000000000005"
    assert (
        time_windowed(string(), 2**63 - 1).decode(bytes.fromhex("6b0000000000000005")) == unlimited
    )


def test_keys_of_a_window_stores_changelog_end_in_a_sequence_number() -> None:
    """TimeWindowedSerde.forChangelog."""
    keys = time_windowed(string(), 10, changelog=True)
    assert keys.decode(bytes.fromhex("6b000000000000001400000007")) == Windowed("k", 20, 30)


@pytest.mark.parametrize(
    ("serde", "least"),
    [
        (time_windowed(string(), 10), 8),
        (time_windowed(string(), 10, changelog=True), 12),
        (session_windowed(string()), 16),
    ],
)
def test_a_windowed_key_that_is_too_short_is_refused(serde: Serde[Any], least: int) -> None:
    with pytest.raises(ValueError, match=f"at least {least} bytes, this one has 4"):
        serde.decode(bytes(4))


@pytest.mark.parametrize(
    ("serde", "written"),
    [(long(), "00"), (boolean(), "02"), (boolean(), "0101"), (uuid(), "00")],
)
def test_bytes_that_java_refuses_are_refused(serde: Serde[Any], written: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        serde.decode(bytes.fromhex(written))


def test_bytes_that_are_no_text_are_read_with_replacement_characters() -> None:
    assert string().decode(b"a\xff") == "a\ufffd"


@dataclass
class Order:
    item: str
    amount: int


ORDER_SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "item", "type": "string"}, {"name": "amount", "type": "int"}],
}


@pytest.mark.parametrize(
    "serde",
    [json(into=Order), avro(ORDER_SCHEMA, into=Order), msgpack(into=Order, default=asdict)],
    ids=lambda serde: serde.name,
)
def test_formats_of_the_clients_serve_streams_their_stores_and_changelogs(
    serde: Serde[Order],
) -> None:
    def largest(one: Order, other: Order) -> Order:
        return max(one, other, key=lambda order: order.amount)

    builder = StreamsBuilder()
    grouped = builder.stream("in", key=string(), value=serde).group_by_key()
    table = grouped.reduce(largest, materialized=Materialized("best", key=string(), value=serde))
    table.to_stream().to("out")
    with TopologyTestDriver(builder.build(), StreamsConfig("app")) as driver:
        orders = driver.input_topic("in", key=string(), value=serde)
        for amount in (3, 7, 5):
            orders.pipe("k", Order("tea", amount), at=amount)
        out = driver.output_topic("out", key=string(), value=serde).read()
        assert [row.value for row in out] == [Order("tea", amount) for amount in (3, 7, 7)]
        [first, *_] = driver.read_bytes("app-best-changelog")
    assert first.value == serde.encode(Order("tea", 3))
