"""The serializers of confluent-kafka and ours, in one registry: the same bytes, and each reads the other's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
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
from pyspark.sql.types import IntegerType, StringType, StructType  # noqa: E402

from millstream.clients.serdes.registry import (  # noqa: E402
    SchemaRegistry,
    confluent_avro,
    confluent_json,
    confluent_protobuf,
)
from millstream.spark.sink.encoding.encoding import encode, encoding_of  # noqa: E402
from millstream.spark.sink.options import parse_sink_options  # noqa: E402
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry  # noqa: E402
from tests.integration.clients.serdes.test_confluent_serdes import read, write  # noqa: E402
from tests.unit.clients.serdes.messages import Airport, Delay, Flight  # noqa: E402

AVRO = '{"type":"record","name":"A","fields":[{"name":"carrier","type":"string"},{"name":"minutes","type":["null","int"]}]}'
JSON = '{"title":"A","type":"object","properties":{"carrier":{"type":"string"},"minutes":{"type":"integer"}}}'
VALUE = {"carrier": "UA", "minutes": -7}
MESSAGES = "tests.unit.clients.serdes.messages"
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


def of_the_sink(server: FakeSchemaRegistry, given: dict[str, str], value: Any) -> bytes | None:
    """What the sink of Spark writes of a row for the topic of the context."""
    kind = StructType()
    for name, each in value.items():
        nested = StructType().add("code", StringType())
        kind.add(name, {str: StringType(), int: IntegerType()}.get(type(each), nested))
    schema = StructType().add("value", kind)
    options = {
        "bootstrap.servers": "b:1",
        "topic": CONTEXT.topic,
        "schema.registry.url": server.url,
    }
    encoding = encoding_of(parse_sink_options(options | given, schema), schema)
    assert encoding is not None
    rows = encode(encoding, pa.RecordBatch.from_pylist([{"value": value}]))
    found: bytes | None = rows.column("value")[0].as_py()
    return found


async def test_avro(server: FakeSchemaRegistry, registry: SchemaRegistry) -> None:
    theirs = SchemaRegistryClient({"url": server.url})
    ours = confluent_avro(registry, AVRO)
    written = AvroSerializer(theirs, AVRO)(VALUE, CONTEXT)
    assert await write(ours, VALUE) == written
    assert of_the_sink(server, {"value.format": "avro", "value.schema": AVRO}, VALUE) == written
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
    given = {"value.format": "protobuf", "value.schema": f"{MESSAGES}:{type(message).__name__}"}
    row = {"minutes": 7}
    if isinstance(message, Flight):
        row = {"number": 7, "tail": "", "origin": {"code": "LGA"}}
    assert of_the_sink(server, given, row) == written
    assert await read(ours, written) == message
    reader = ProtobufDeserializer(type(message), settings)
    assert reader(await write(ours, message), CONTEXT) == message
    assert server.contents.subjects == {"airport.proto": [1], "arrivals-value": [2]}
