"""Confluent's wire format, against a registry. Bytes are written out; Confluent's own serializers write the same ones
(tests/compat/clients/test_confluent_serdes.py)."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from millstream.clients.core.serialization import LookupNeeded, SerializationError
from millstream.clients.serdes.registry import (
    Limits,
    RegistrySerde,
    Schema,
    SchemaNotFound,
    SchemaReference,
    SchemaRegistry,
    SubjectNotFound,
    confluent_avro,
    confluent_json,
    confluent_protobuf,
    record_name,
    topic_record_name,
)
from millstream.errors import ConfigError
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry
from tests.patience import LONG_ENOUGH_MS
from tests.unit.clients.serdes.messages import Airport, Delay, Flight, Leg

ARRIVAL = {
    "type": "record",
    "name": "Arrival",
    "namespace": "flights",
    "fields": [{"name": "carrier", "type": "string"}, {"name": "minutes", "type": "int"}],
}
UNITED = {"carrier": "UA", "minutes": -7}
UNITED_AVRO = b"\x04UA\x0d"
JSON_ARRIVAL = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Arrival",
    "type": "object",
    "properties": {"carrier": {"type": "string"}, "minutes": {"type": "integer"}},
    "required": ["carrier"],
}


@pytest.fixture
def server() -> Iterator[FakeSchemaRegistry]:
    with FakeSchemaRegistry() as running:
        yield running


@pytest.fixture
def registry(server: FakeSchemaRegistry) -> Iterator[SchemaRegistry]:
    made = SchemaRegistry(server.url, limits=Limits(timeout_ms=LONG_ENOUGH_MS, retries=0))
    yield made
    made.close()


async def write(serde: RegistrySerde[Any], value: Any, topic: str = "arrivals", headers=None) -> bytes:  # fmt: skip
    """What a producer does: ask, look up what is missing, ask again."""
    headers = [] if headers is None else headers
    try:
        return serde.serialize(topic, value, headers)
    except LookupNeeded as needed:
        await needed.look_up()
        return serde.serialize(topic, value, headers)


async def read(serde: RegistrySerde[Any], data: bytes, headers=()) -> Any:
    try:
        return serde.deserialize("arrivals", data, list(headers))
    except LookupNeeded as needed:
        await needed.look_up()
        return serde.deserialize("arrivals", data, list(headers))


async def test_a_value_follows_a_zero_and_the_id_of_its_schema(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    await registry.register("another", Schema('"string"'))
    serde = confluent_avro(registry, ARRIVAL)
    assert await write(serde, UNITED) == b"\x00\x00\x00\x00\x02" + UNITED_AVRO
    assert server.contents.subjects == {"another": [1], "arrivals-value": [2]}


async def test_the_registry_is_asked_once_for_a_topic_and_once_for_a_schema(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    serde = confluent_avro(registry, ARRIVAL)
    written = [await write(serde, UNITED) for _ in range(3)]
    assert [await read(serde, data) for data in written] == [UNITED] * 3
    assert server.contents.requests == [
        "POST /subjects/arrivals-value/versions",
        "GET /schemas/ids/1",
    ]


async def test_a_reader_needs_no_schema_and_may_want_its_own(registry: SchemaRegistry) -> None:
    written = await write(confluent_avro(registry, ARRIVAL), UNITED)
    assert await read(confluent_avro(registry), written) == UNITED
    newer = {
        **ARRIVAL,
        "fields": [
            {"name": "minutes", "type": "long"},
            {"name": "cause", "type": "string", "default": "?"},
        ],
    }
    assert await read(confluent_avro(registry, reader_schema=newer), written) == {
        "minutes": -7,
        "cause": "?",
    }


async def test_a_reader_makes_objects(registry: SchemaRegistry) -> None:
    @dataclass
    class Arrival:
        carrier: str
        minutes: int

    serde = confluent_avro(registry, ARRIVAL, into=Arrival)
    assert await read(serde, await write(serde, Arrival("UA", 7))) == Arrival("UA", 7)


async def test_two_writers_of_different_schemas_are_both_read(registry: SchemaRegistry) -> None:
    older = await write(confluent_avro(registry, ARRIVAL), UNITED)
    fields = [*ARRIVAL["fields"], {"name": "gate", "type": ["null", "string"], "default": None}]
    newer = await write(
        confluent_avro(registry, {**ARRIVAL, "fields": fields}), {**UNITED, "gate": "B7"}
    )
    reader = confluent_avro(registry)
    assert await read(reader, older) == UNITED
    assert await read(reader, newer) == {**UNITED, "gate": "B7"}


@pytest.mark.parametrize(
    ("strategy", "is_key", "subject"),
    [
        (None, False, "arrivals-value"),
        (None, True, "arrivals-key"),
        (record_name, False, "flights.Arrival"),
        (topic_record_name, False, "arrivals-flights.Arrival"),
    ],
)
async def test_subjects_are_named_by_topic_or_record(
    server: FakeSchemaRegistry, registry: SchemaRegistry, strategy, is_key: bool, subject: str
) -> None:
    named = {} if strategy is None else {"subject_name": strategy}
    await write(confluent_avro(registry, ARRIVAL, is_key=is_key, **named), UNITED)
    assert list(server.contents.subjects) == [subject]


async def test_a_schema_that_must_be_there_is_not_registered(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    serde = confluent_avro(registry, ARRIVAL, auto_register=False)
    with pytest.raises(SubjectNotFound):
        await write(serde, UNITED)
    assert server.contents.subjects == {}
    await write(confluent_avro(registry, ARRIVAL), UNITED)
    assert (await write(serde, UNITED))[:5] == b"\x00\x00\x00\x00\x01"


async def test_the_latest_version_may_be_written_with(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    wider = {**ARRIVAL, "fields": [{"name": "minutes", "type": "long"}]}
    await write(confluent_avro(registry, ARRIVAL), UNITED)
    await write(confluent_avro(registry, wider), UNITED)
    latest = confluent_avro(registry, ARRIVAL, use_latest_version=True)
    assert await write(latest, UNITED) == b"\x00\x00\x00\x00\x02\x0d"
    by_id = confluent_avro(registry, use_schema_id=1)
    assert await write(by_id, UNITED) == b"\x00\x00\x00\x00\x01" + UNITED_AVRO
    assert server.contents.subjects == {"arrivals-value": [1, 2]}


async def test_a_serde_without_a_schema_says_what_it_needs_to_write(
    registry: SchemaRegistry,
) -> None:
    with pytest.raises(ConfigError, match="use_latest_version or use_schema_id"):
        await write(confluent_avro(registry), UNITED)
    with pytest.raises(ConfigError, match="a schema with a name"):
        await write(confluent_avro(registry, subject_name=record_name), UNITED)


async def test_avro_schemas_may_refer_to_others(registry: SchemaRegistry) -> None:
    carrier = (
        '{"type":"record","name":"flights.Carrier","fields":[{"name":"code","type":"string"}]}'
    )
    await registry.register("carrier", Schema(carrier))
    flight = Schema(
        '{"type":"record","name":"flights.Flight","fields":[{"name":"of","type":"flights.Carrier"}]}',
        references=(SchemaReference("flights.Carrier", "carrier", 1),),
    )
    serde = confluent_avro(registry, flight)
    written = await write(serde, {"of": {"code": "UA"}})
    assert written == b"\x00\x00\x00\x00\x02\x04UA"
    assert await read(confluent_avro(registry), written) == {"of": {"code": "UA"}}


async def test_plain_bytes_have_no_length_in_front(registry: SchemaRegistry) -> None:
    serde = confluent_avro(registry, "bytes")
    assert await write(serde, b"\x01\x02") == b"\x00\x00\x00\x00\x01\x01\x02"
    assert await read(serde, b"\x00\x00\x00\x00\x01\x01\x02") == b"\x01\x02"


async def test_bytes_that_mean_a_decimal_are_a_value_like_others(registry: SchemaRegistry) -> None:
    serde = confluent_avro(
        registry, {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    )
    written = await write(serde, Decimal("1.50"))
    assert written == b"\x00\x00\x00\x00\x01\x04\x00\x96"
    assert await read(serde, written) == Decimal("1.50")


async def test_values_and_bytes_that_are_not_of_the_schema_are_refused(
    registry: SchemaRegistry,
) -> None:
    serde = confluent_avro(registry, ARRIVAL)
    written = await write(serde, UNITED)
    with pytest.raises(
        SerializationError, match="the avro serde cannot write a value of type dict"
    ):
        serde.serialize("arrivals", {"carrier": 1}, [])
    with pytest.raises(SerializationError, match="was not written with a schema registry"):
        await read(serde, b'{"carrier"')
    with pytest.raises(SerializationError, match="nothing names no schema"):
        await read(serde, b"")
    await read(serde, written)
    with pytest.raises(SerializationError, match="cannot read these 7 bytes"):
        await read(serde, written[:-2])
    with pytest.raises(SchemaNotFound, match="check that this is the registry"):
        await read(serde, b"\x00\x00\x00\x00\x09\x00")


async def test_json_is_held_against_its_schema_on_both_sides(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    serde = confluent_json(registry, JSON_ARRIVAL)
    written = await write(serde, {"carrier": "UA"})
    assert written == b'\x00\x00\x00\x00\x01{"carrier":"UA"}'
    assert server.contents.schemas[0]["schemaType"] == "JSON"
    assert await read(serde, written) == {"carrier": "UA"}
    with pytest.raises(SerializationError, match="'late' is not of type 'integer'"):
        await write(serde, {"carrier": "UA", "minutes": "late"})
    with pytest.raises(SerializationError, match="'carrier' is a required property"):
        await read(serde, b"\x00\x00\x00\x00\x01{}")
    trusting = confluent_json(registry, JSON_ARRIVAL, validate=False)
    assert await read(trusting, b"\x00\x00\x00\x00\x01{}") == {}


async def test_json_schemas_may_refer_to_others_and_be_subjects_by_title(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    await registry.register("carrier", Schema('{"type":"string","maxLength":2}', "JSON"))
    schema = Schema(
        '{"title":"Leg","properties":{"carrier":{"$ref":"carrier.json"}}}',
        "JSON",
        (SchemaReference("carrier.json", "carrier", 1),),
    )
    serde = confluent_json(registry, schema, subject_name=record_name)
    assert await write(serde, {"carrier": "UA"}) == b'\x00\x00\x00\x00\x02{"carrier":"UA"}'
    assert list(server.contents.subjects) == ["carrier", "Leg"]
    with pytest.raises(SerializationError, match="'UAL' is too long"):
        await write(serde, {"carrier": "UAL"})


async def test_the_first_message_of_a_protobuf_file_has_one_zero_for_its_place(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    serde = confluent_protobuf(registry, Flight)
    written = await write(serde, Flight(number=150, origin=Airport(code="LGA")))
    assert written == b"\x00\x00\x00\x00\x02\x00" + b"\x08\x96\x01\x1a\x05\n\x03LGA"
    assert await read(serde, written) == Flight(number=150, origin=Airport(code="LGA"))
    assert server.contents.subjects == {"airport.proto": [1], "arrivals-value": [2]}
    stored = server.contents.schemas[1]
    assert base64.b64decode(stored["schema"]) == Flight.DESCRIPTOR.file.serialized_pb
    assert stored["references"] == [
        {"name": "airport.proto", "subject": "airport.proto", "version": 1}
    ]


@pytest.mark.parametrize(
    ("message", "place"),
    [(Leg(miles=1), b"\x02\x02"), (Delay(minutes=1), b"\x04\x02\x02")],
)
async def test_other_messages_have_a_count_and_their_indexes(
    registry: SchemaRegistry, message: Any, place: bytes
) -> None:
    """Zig-zag varints: one index 1; two indexes, 1 and 1."""
    serde = confluent_protobuf(registry, type(message))
    written = await write(serde, message)
    assert written == b"\x00\x00\x00\x00\x02" + place + b"\x08\x01"
    assert await read(serde, written) == message


async def test_message_indexes_that_end_in_the_middle_are_refused(registry: SchemaRegistry) -> None:
    serde = confluent_protobuf(registry, Flight)
    await write(serde, Flight())
    for broken in ("", "80", "02", "7e02", "01"):
        with pytest.raises(SerializationError, match="message indexes"):
            await read(serde, b"\x00\x00\x00\x00\x02" + bytes.fromhex(broken))


async def test_the_guid_may_go_into_a_header_instead(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    """One header for the key, another for the value; asked twice, a producer gets one of each."""
    for is_key, header in ((True, "__key_schema_id"), (False, "__value_schema_id")):
        serde = confluent_avro(registry, ARRIVAL, is_key=is_key, id_in_header=True)
        headers: list[tuple[str, bytes | None]] = []
        await write(serde, UNITED, headers=headers)
        assert await write(serde, UNITED, headers=headers) == UNITED_AVRO
        guid = (await registry.register("arrivals-key", Schema(server.contents.schemas[0]["schema"]))).guid  # fmt: skip
        assert guid is not None
        assert headers == [(header, b"\x01" + bytes.fromhex(guid.replace("-", "")))]
        assert await read(confluent_avro(registry, is_key=is_key), UNITED_AVRO, headers) == UNITED


async def test_the_last_header_counts_and_a_writer_leaves_one(registry: SchemaRegistry) -> None:
    """Headers of a record are passed on with its value rewritten; Confluent's deserializers read the last one."""
    serde = confluent_avro(registry, ARRIVAL, id_in_header=True)
    headers: list[tuple[str, bytes | None]] = []
    await write(serde, UNITED, headers=headers)
    (ours,) = headers
    foreign = ("__value_schema_id", b"\x01" + bytes(16))
    passed_on = [foreign, ("other", b""), foreign]
    await write(serde, UNITED, headers=passed_on)
    assert passed_on == [("other", b""), ours]
    assert await read(confluent_avro(registry), UNITED_AVRO, [foreign, ours]) == UNITED


async def test_protobuf_with_its_guid_in_a_header_has_its_place_there_too(
    registry: SchemaRegistry,
) -> None:
    serde = confluent_protobuf(registry, Leg, id_in_header=True)
    headers: list[tuple[str, bytes | None]] = []
    assert await write(serde, Leg(miles=1), headers=headers) == b"\x08\x01"
    assert headers[0][1][17:] == b"\x02\x02"
    assert await read(serde, b"\x08\x01", headers) == Leg(miles=1)


async def test_a_registry_without_guids_is_told_of(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    server.contents.tells_guids = False
    with pytest.raises(ConfigError, match="which this registry does not return"):
        await write(confluent_avro(registry, ARRIVAL, id_in_header=True), UNITED)
