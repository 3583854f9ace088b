"""What a topology holds must get to Spark's workers: serdes of a schema registry do, what belongs to one process does not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.clients.serdes.registry import SchemaRegistry, confluent_avro, for_topic
from millstream.errors import ConfigError
from millstream.spark import MicroBatchRunner, RunnerOptions
from millstream.streams import StreamsBuilder, StreamsConfig, Topology
from millstream.streams.serdes import string
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(400)]

ARRIVAL = {
    "type": "record",
    "name": "Arrival",
    "fields": [{"name": "carrier", "type": "string"}, {"name": "minutes", "type": "int"}],
}


@pytest.fixture
def runner_of(spark: Any, topics: Any, tmp_path: Path) -> Callable[[Topology], MicroBatchRunner]:
    options = RunnerOptions(bootstrap_servers=topics.bootstrap_servers, directory=str(tmp_path))
    config = StreamsConfig(f"app-{tmp_path.name}")
    return lambda topology: MicroBatchRunner(topology, config, spark, options)


def test_values_that_name_their_schema_in_a_registry(
    runner_of: Callable[[Topology], MicroBatchRunner], topics: Any
) -> None:
    source, out = topics.new("arrivals"), topics.new("late")
    with FakeSchemaRegistry() as server:
        registry = SchemaRegistry(server.url)
        read, write = (for_topic(confluent_avro(registry, ARRIVAL), each) for each in (source, out))
        builder = StreamsBuilder()
        arrivals = builder.stream(source, key=string(), value=read)
        rows = arrivals.group_by(lambda _, value: value["carrier"], key=string(), value=read)
        latest = rows.reduce(lambda _, value: value | {"minutes": value["minutes"] + 1})
        latest.to_stream().to(out, key=string(), value=write)
        given = [{"carrier": "UA", "minutes": minutes} for minutes in (1, 5)]
        topics.put(source, [{"value": read.encode(each)} for each in given])
        runner_of(builder.build()).run_available()
        found = {record["key"]: write.decode(record["value"]) for record in topics.get(out)}
        registry.close()
    assert found == {b"UA": {"carrier": "UA", "minutes": 6}}
    assert set(server.contents.subjects) == {f"{source}-value", f"{out}-value"}


def test_what_belongs_to_one_process_is_refused_before_anything_runs(
    runner_of: Callable[[Topology], MicroBatchRunner],
) -> None:
    lock = threading.Lock()

    def locked(value: str) -> str:
        with lock:
            return value

    builder = StreamsBuilder()
    builder.stream("in", key=string(), value=string()).map_values(locked).to("out")
    sentence = "cannot be sent to Spark's workers: cannot pickle '_thread.lock' object"
    with pytest.raises(ConfigError, match=sentence):
        runner_of(builder.build())
