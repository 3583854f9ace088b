"""A topology whose values name their schemas in a registry."""

from __future__ import annotations

import pickle
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.wrappers_pb2 import StringValue

from millstream.clients.serdes.registry import (
    Limits,
    Schema,
    SchemaRegistry,
    SchemaRegistryUnavailable,
    confluent_avro,
    confluent_json,
    confluent_protobuf,
    for_topic,
)
from millstream.errors import ConfigError
from millstream.streams import Materialized, StreamsBuilder, StreamsConfig
from millstream.streams.serdes import Serde, string
from millstream.testing.streams.topology_test_driver import TopologyTestDriver
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry
from tests.patience import LONG_ENOUGH_MS

ARRIVAL = {
    "type": "record",
    "name": "Arrival",
    "fields": [{"name": "carrier", "type": "string"}, {"name": "minutes", "type": "int"}],
}
UNITED = {"carrier": "UA", "minutes": -7}
UNITED_AVRO = b"\x04UA\x0d"


@pytest.fixture
def server() -> Iterator[FakeSchemaRegistry]:
    with FakeSchemaRegistry() as running:
        yield running


@pytest.fixture
def registry(server: FakeSchemaRegistry) -> Iterator[SchemaRegistry]:
    made = SchemaRegistry(server.url, limits=Limits(timeout_ms=LONG_ENOUGH_MS, retries=0))
    yield made
    made.close()


def arrivals(registry: SchemaRegistry, topic: str) -> Serde[Any]:
    return for_topic(confluent_avro(registry, ARRIVAL), topic)


def test_values_of_a_topology_are_written_with_the_schema_of_their_topic(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    builder = StreamsBuilder()
    read = arrivals(registry, "arrivals")
    kept = Materialized("latest", key=string(), value=read)
    table = builder.table("arrivals", key=string(), value=read, materialized=kept)
    late = table.to_stream().map_values(lambda value: value | {"minutes": 60})
    late.to("late", key=string(), value=arrivals(registry, "late"))
    with TopologyTestDriver(builder.build(), StreamsConfig("app")) as driver:
        driver.input_topic("arrivals", key=string(), value=read).pipe("k", UNITED)
        [out] = driver.read_bytes("late")
        [kept_row] = driver.read_bytes("app-latest-changelog")
    assert out.value == b"\x00\x00\x00\x00\x01\x04UA\x78"
    assert kept_row.value == b"\x00\x00\x00\x00\x01" + UNITED_AVRO
    assert server.contents.subjects == {"arrivals-value": [1], "late-value": [1]}


async def test_a_schema_that_is_new_is_looked_up_while_the_task_waits(
    registry: SchemaRegistry,
) -> None:
    """Also where the caller has an event loop of its own, as a test may."""
    await registry.register("arrivals-value", Schema('"string"'))
    serde = for_topic(confluent_avro(registry), "arrivals")
    assert serde.decode(b"\x00\x00\x00\x00\x01\x04UA") == "UA"


def test_a_registry_that_does_not_answer_is_told(
    server: FakeSchemaRegistry, registry: SchemaRegistry
) -> None:
    server.contents.faults.extend([500, 500, 500])
    with pytest.raises(SchemaRegistryUnavailable):
        arrivals(registry, "arrivals").encode(UNITED)


def test_a_schema_in_a_header_has_no_place_here(registry: SchemaRegistry) -> None:
    serde = confluent_avro(registry, ARRIVAL, id_in_header=True)
    with pytest.raises(ConfigError, match="leave id_in_header out"):
        for_topic(serde, "arrivals")


def test_serdes_of_a_registry_go_to_another_process(registry: SchemaRegistry) -> None:
    """Also after use; there they look up what they need themselves."""
    text = StringValue(value="UA")
    for serde, value in (
        (confluent_avro(registry, ARRIVAL), UNITED),
        (confluent_json(registry, {"type": "object", "title": "Arrival"}), UNITED),
        (confluent_protobuf(registry, StringValue), text),
    ):
        here = for_topic(serde, serde.name.partition("(")[0])
        written = here.encode(value)
        there = pickle.loads(pickle.dumps(here))
        assert (there.encode(value), there.decode(written)) == (written, value)


def test_a_registry_with_a_context_of_tls_cannot_go_to_another_process() -> None:
    registry = SchemaRegistry("https://registry", ssl_context=ssl.create_default_context())
    with pytest.raises(TypeError, match="cannot be sent to another process"):
        pickle.dumps(for_topic(confluent_avro(registry, ARRIVAL), "arrivals"))
    registry.close()
