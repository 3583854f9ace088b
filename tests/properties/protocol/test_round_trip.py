"""Every message in every version: what is written is read back, and written again as the same bytes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_strategies import MESSAGES, messages

from millstream.errors import MalformedMessage
from millstream.protocol.catalogue import every_message
from millstream.protocol.json_form import from_json, to_json

LEAN = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", MESSAGES)
@settings(LEAN, max_examples=5)
@given(data=st.data())
def test_every_version_is_read_back_as_it_was_written(name: str, data: st.DataObject) -> None:
    kind, schema = every_message()[name]
    for version in schema.versions:
        message = data.draw(messages(name, version))
        out = bytearray(b"before")
        message.encode(out, version)
        start, end = len(b"before"), len(out)
        read, at = kind.decode(memoryview(bytes(out + b"behind")), start, version)
        assert (read, at) == (message, end)
        again = bytearray(b"before")
        read.encode(again, version)
        assert again == out


@pytest.mark.parametrize("name", MESSAGES)
@settings(LEAN, max_examples=2)
@given(data=st.data())
def test_json_holds_all_that_a_version_carries(name: str, data: st.DataObject) -> None:
    kind, schema = every_message()[name]
    version = schema.versions.highest
    message = data.draw(messages(name, version))
    assert from_json(kind, to_json(message, version), version) == message


@pytest.mark.parametrize("name", MESSAGES)
@settings(LEAN, max_examples=3)
@given(data=st.data())
def test_a_message_cut_short_is_malformed_and_says_where(name: str, data: st.DataObject) -> None:
    kind, schema = every_message()[name]
    version = data.draw(st.sampled_from(list(schema.versions)))
    out = bytearray()
    data.draw(messages(name, version)).encode(out, version)
    if not out:
        return
    length = data.draw(st.integers(0, len(out) - 1))
    with pytest.raises(MalformedMessage) as raised:
        kind.decode(memoryview(out)[:length], 0, version)
    assert (raised.value.message, raised.value.version) == (kind.__name__, version)
    assert raised.value.field != "?"
    assert 0 <= raised.value.offset <= length
