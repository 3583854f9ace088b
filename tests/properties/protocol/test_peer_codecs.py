"""Bytes and values against two codecs that others wrote: kio and kafka-python, wherever they have the message."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer
from message_strategies import MESSAGES, messages
from peer_values import (
    kafka_python_classes,
    kafka_python_values,
    kio_class,
    kio_values,
    our_values,
)

from millstream.protocol.catalogue import every_message

APIS = [name for name in MESSAGES if name.endswith(("RequestData", "ResponseData"))]
IN_KIO = [name for name in APIS if kio_class(name, every_message()[name].schema.versions.highest)]
IN_KAFKA_PYTHON = [name for name in APIS if name in kafka_python_classes()]
LEAN = settings(
    deadline=None, database=None, max_examples=3, suppress_health_check=list(HealthCheck)
)


def test_the_peers_have_the_messages_they_are_known_to_have() -> None:
    assert len(APIS) == 178
    assert len(IN_KIO) == 178
    assert len(IN_KAFKA_PYTHON) == 104


class Stream(bytearray):
    """What kio's writers write to."""

    def write(self, data: bytes) -> None:
        self += data


@pytest.mark.parametrize("name", IN_KIO)
@LEAN
@given(data=st.data())
def test_kio_reads_and_writes_what_we_write(name: str, data: st.DataObject) -> None:
    entry = every_message()[name]
    for version in entry.schema.versions:
        kind: Any = kio_class(name, version)
        ours, raw = drawn(name, version, data)
        theirs, end = entity_reader(kind)(raw, 0)
        assert end == len(raw)
        assert kio_values(theirs) == our_values(ours, entry.schema.root, version)
        out = Stream()
        entity_writer(kind)(out, theirs)
        assert out == raw


@pytest.mark.parametrize("name", IN_KAFKA_PYTHON)
@LEAN
@given(data=st.data())
def test_kafka_python_reads_and_writes_what_we_write(name: str, data: st.DataObject) -> None:
    entry = every_message()[name]
    kind = kafka_python_classes()[name]
    for version in entry.schema.versions:
        ours, raw = drawn(name, version, data)
        theirs = kind.decode(raw, version=version)
        assert kafka_python_values(theirs, version) == our_values(ours, entry.schema.root, version)
        theirs._header = None  # its decoder leaves this unset, its encoder asks for it
        assert theirs.encode(version=version) == raw


def drawn(name: str, version: int, data: st.DataObject) -> tuple[Any, bytes]:
    """A tame message and its bytes."""
    message: Any = data.draw(messages(name, version, is_tame=True))
    if name == "ApiVersionsResponseData":
        message.error_code = 0  # with an error, kafka-python reads version 0, whatever it is told
    out = bytearray()
    message.encode(out, version)
    return message, bytes(out)
