"""What becomes of a record before it is in a batch: interceptors, serializers, checks."""

from __future__ import annotations

import logging

import pytest

from millstream.clients.core.serialization import LookupNeeded, SerializationError
from millstream.clients.core.values import Headers, RecordMetadata
from millstream.clients.producer.core.interceptors import ProducerInterceptor, ProducerRecord
from millstream.clients.producer.core.outgoing import Outgoing, as_bytes, checked_headers
from millstream.errors import ConfigError

UNKNOWN = RecordMetadata("t", -1, -1, -1)


class Schemas:
    """Writes a header, once its id is known."""

    def __init__(self) -> None:
        self.is_known = False

    async def look_up(self) -> None:
        self.is_known = True

    def serialize(self, topic: str, data: str, headers: Headers) -> bytes:
        if not self.is_known:
            raise LookupNeeded(f"schema of {topic}", self.look_up)
        headers.append(("schema", b"7"))
        return data.encode()


class Recording(ProducerInterceptor[str, str]):
    def __init__(self, name: str, log: list[object]) -> None:
        self.name = name
        self.log = log

    def on_send(self, record: ProducerRecord[str, str]) -> ProducerRecord[str, str]:
        self.log.append((self.name, record.value))
        return ProducerRecord(record.topic, f"{record.value}{self.name}")

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        self.log.append((self.name, metadata, error))

    def close(self) -> None:
        self.log.append((self.name, "closed"))


class Raising(ProducerInterceptor[str, str]):
    def on_send(self, record: ProducerRecord[str, str]) -> ProducerRecord[str, str]:
        raise ZeroDivisionError

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        raise ZeroDivisionError

    def close(self) -> None:
        raise ZeroDivisionError


class IntSerde:
    def encode(self, value: int) -> bytes:
        return b"%d" % value


def test_functions_serdes_and_serializers_all_make_bytes_and_nulls_stay_null() -> None:
    schemas = Schemas()
    schemas.is_known = True
    outgoing = Outgoing(IntSerde(), schemas, ())
    given: Headers = [("h", b"1")]
    value, key, headers, *_ = outgoing.serialize(ProducerRecord("t", "v", 5, given), None)
    assert (key, value, headers) == (b"5", b"v", [("h", b"1"), ("schema", b"7")])
    assert given == [("h", b"1")]
    assert outgoing.serialize(ProducerRecord("t"), None)[:2] == (None, None)
    assert Outgoing(None, str.encode, ()).serialize(ProducerRecord("t", "x"), None)[0] == b"x"


async def test_a_serializer_may_ask_to_be_asked_again() -> None:
    outgoing = Outgoing(None, Schemas(), ())
    with pytest.raises(LookupNeeded) as needed:
        outgoing.serialize(ProducerRecord("t", "v"), None)
    await needed.value.look_up()
    assert outgoing.serialize(ProducerRecord("t", "v"), None)[0] == b"v"


def test_an_error_names_setting_type_and_topic() -> None:
    outgoing = Outgoing(IntSerde(), None, ())
    expected = "key_serializer cannot serialize a value of type str for topic 't'"
    with pytest.raises(SerializationError, match=expected):
        outgoing.serialize(ProducerRecord("t", None, "five"), None)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ConfigError, match=r"value_serializer must be an instance; write IntSerde"):
        Outgoing(None, IntSerde, ())
    with pytest.raises(ConfigError, match="key_serializer must be a function of one value"):
        Outgoing(5, None, ())  # type: ignore[arg-type]  # what is tested


def test_what_is_not_bytes_is_refused_by_name() -> None:
    assert as_bytes("value", memoryview(b"x")) == b"x"
    with pytest.raises(TypeError, match="value must be bytes or None, got int; encode it first"):
        as_bytes("value", 5)
    with pytest.raises(TypeError, match="a header's name must be str, got bytes"):
        checked_headers([(b"name", b"")])  # type: ignore[list-item]  # what is tested


def test_interceptors_change_records_in_their_order_and_the_callback_comes_after_them() -> None:
    log: list[object] = []
    outgoing = Outgoing(None, None, [Recording("a", log), Recording("b", log)])
    assert outgoing.on_send(ProducerRecord("t", "x")).value == "xab"
    *_, told = outgoing.serialize(ProducerRecord("t"), lambda *told: log.append(told))
    assert told is not None
    told(UNKNOWN, None)
    outgoing.close()
    assert log == [
        ("a", "x"),
        ("b", "xa"),
        ("a", UNKNOWN, None),
        ("b", UNKNOWN, None),
        (UNKNOWN, None),
        ("a", "closed"),
        ("b", "closed"),
    ]


def test_an_interceptor_that_raises_is_logged_and_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[object] = []
    outgoing = Outgoing(None, None, [Raising(), Recording("b", log)])
    with caplog.at_level(logging.ERROR):
        assert outgoing.on_send(ProducerRecord("t", "x")).value == "xb"
        *_, told = outgoing.serialize(ProducerRecord("t"), None)
        assert told is not None
        told(UNKNOWN, None)
        outgoing.close()
    assert log == [("b", "x"), ("b", UNKNOWN, None), ("b", "closed")]
    assert [record.message.rpartition(" ")[2] for record in caplog.records] == [
        "on_send",
        "on_acknowledgement",
        "close",
    ]


def test_interceptors_hear_of_records_that_are_not_sent() -> None:
    log: list[object] = []
    outgoing = Outgoing(None, None, [Recording("a", log)])
    error = ValueError("too large")
    with (
        pytest.raises(ValueError, match="too large"),
        outgoing.failures_told(ProducerRecord("t", partition=3)),
    ):
        raise error
    assert log == [("a", RecordMetadata("t", 3, -1, -1), error)]


def test_without_serializers_and_interceptors_nothing_is_done() -> None:
    assert Outgoing(None, None, ()).is_plain
    assert not Outgoing(None, str.encode, ()).is_plain
    assert not Outgoing(None, None, [Raising()]).is_plain
