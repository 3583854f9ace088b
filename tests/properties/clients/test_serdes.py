"""Serdes give back what they took, and refuse other bytes with an error of their own, whatever these are."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.clients.core.serialization import SerializationError
from millstream.clients.serdes import (
    Serde,
    boolean,
    double,
    integer,
    list_of,
    long,
    msgpack,
    short,
    string,
    uuid,
)
from millstream.clients.serdes.registry.wire_format import id_prefix, read_indexes, schema_of

SERDES: list[tuple[Serde[Any], st.SearchStrategy[Any]]] = [
    (short(), st.integers(-(2**15), 2**15 - 1)),
    (integer(), st.integers(-(2**31), 2**31 - 1)),
    (long(), st.integers(-(2**63), 2**63 - 1)),
    (double(), st.floats(allow_nan=False)),
    (boolean(), st.booleans()),
    (string(), st.text()),
    (string("utf-16"), st.text()),
    (uuid(), st.uuids()),
    (msgpack(), st.dictionaries(st.text(), st.binary() | st.none() | st.integers(0, 2**63))),
]


@pytest.mark.parametrize(("serde", "values"), SERDES, ids=lambda each: getattr(each, "name", ""))
@settings(max_examples=40)
@given(data=st.data())
def test_what_was_written_is_read(serde: Serde[Any], values: st.SearchStrategy[Any], data: st.DataObject) -> None:  # fmt: skip
    value = data.draw(values)
    assert serde.decode(serde.encode(value)) == value
    several = data.draw(st.lists(st.none() | values, max_size=5))
    lists = list_of(list_of(serde))
    assert lists.decode(lists.encode([several, None])) == [several, None]


@pytest.mark.parametrize("serde", [integer(), list_of(integer()), list_of(string()), uuid(), msgpack()], ids=lambda each: each.name)  # fmt: skip
@given(data=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(serde: Serde[Any], data: bytes) -> None:
    try:
        value = serde.deserialize("topic", data, [])
    except SerializationError:
        return
    assert value is None or isinstance(serde.serialize("topic", value, []), bytes)


@given(
    st.integers(0, 2**31 - 1),
    st.lists(st.integers(0, 2**20), min_size=1, max_size=5).map(tuple),
    st.binary(max_size=9),
)
def test_the_front_of_a_value_ends_where_the_value_begins(schema_id: int, indexes: tuple[int, ...], value: bytes) -> None:  # fmt: skip
    written = id_prefix(schema_id, indexes) + value
    found, at = schema_of(written)
    assert found == schema_id
    assert read_indexes(written, at) == (indexes, len(written) - len(value))


@given(st.binary(max_size=30))
def test_any_front_is_understood_or_refused(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        _, at = schema_of(data)
        _, end = read_indexes(data, at)
        assert at < end <= len(data)
