"""The serializers of confluent-kafka and ours, in one registry: the same bytes, and each reads the other's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.compat
pytest.importorskip(
    "confluent_kafka.schema_registry.protobuf",
    reason="needs confluent-kafka[schemaregistry,avro,json,protobuf]",
    exc_type=ImportError,
)

from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: E402 - after the skip
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer  # noqa: E402
from confluent_kafka.schema_registry.json_schema import (  # noqa: E402
    JSONDeserializer,
    JSONSerializer,
)
from confluent_kafka.schema_registry.protobuf import (  # noqa: E402
    ProtobufDeserializer,
    ProtobufSerializer,
)
from confluent_kafka.serialization import MessageField, SerializationContext  # noqa: E402

from millstream.clients.serdes.registry import (  # noqa: E402
    SchemaRegistry,
    confluent_avro,
    confluent_json,
    confluent_protobuf,
)
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry  # noqa: E402
from tests.integration.clients.serdes.test_confluent_serdes import read, write  # noqa: E402
from tests.unit.clients.serdes.messages import Airport, Delay, Flight  # noqa: E402

AVRO = '{"type":"record","name":"A","fields":[{"name":"carrier","type":"string"},{"name":"minutes","type":["null","int"]}]}'
JSON = '{"title":"A","type":"object","properties":{"carrier":{"type":"string"},"minutes":{"type":"integer"}}}'
VALUE = {"carrier": "UA", "minutes": -7}
CONTEXT = SerializationContext("arrivals", MessageField.VALUE)


@pytest.fixture
def server() -> Iterator[FakeSchemaRegistry]:
    with FakeSchemaRegistry() as running:
        yield running


@pytest.fixture
def registry(server: FakeSchemaRegistry) -> Iterator[SchemaRegistry]:
    made = SchemaRegistry(server.url)
    yield made
    made.close()


async def test_avro(server: FakeSchemaRegistry, registry: SchemaRegistry) -> None:
    theirs = SchemaRegistryClient({"url": server.url})
    ours = confluent_avro(registry, AVRO)
    written = AvroSerializer(theirs, AVRO)(VALUE, CONTEXT)
    assert await write(ours, VALUE) == written
    assert await read(confluent_avro(registry), written) == VALUE
    assert AvroDeserializer(theirs)(await write(ours, VALUE), CONTEXT) == VALUE


async def test_json_schema(server: FakeSchemaRegistry, registry: SchemaRegistry) -> None:
    """Theirs has spaces between its tokens; the frame and the schema are the same."""
    theirs = SchemaRegistryClient({"url": server.url})
    ours = confluent_json(registry, JSON)
    written = JSONSerializer(JSON, theirs)(VALUE, CONTEXT)
    assert written[:5] == (await write(ours, VALUE))[:5]
    assert await read(ours, written) == VALUE
    assert JSONDeserializer(JSON)(await write(ours, VALUE), CONTEXT) == VALUE


@pytest.mark.parametrize("message", [Flight(number=7, origin=Airport(code="LGA")), Delay(minutes=7)])  # fmt: skip
async def test_protobuf(server: FakeSchemaRegistry, registry: SchemaRegistry, message: Any) -> None:
    theirs = SchemaRegistryClient({"url": server.url})
    ours = confluent_protobuf(registry, type(message))
    settings = {"use.deprecated.format": False}
    written = ProtobufSerializer(type(message), theirs, settings)(message, CONTEXT)
    assert await write(ours, message) == written
    assert await read(ours, written) == message
    reader = ProtobufDeserializer(type(message), settings)
    assert reader(await write(ours, message), CONTEXT) == message
    assert server.contents.subjects == {"airport.proto": [1], "arrivals-value": [2]}
