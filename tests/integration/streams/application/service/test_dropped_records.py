"""Records that an application leaves out are told by its log, its metrics and its committed offsets."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.clients import Producer
from millstream.streams import StreamsBuilder, TimeWindows, Topology
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.serdes import long, string, time_windowed
from tests.integration.streams.application.instances import Instances
from tests.patience import eventually, until

ROWS = [("k", 100_000), ("k", 85_000), ("k", 1_000), (None, 100_000)]
"""Two of them are late, one has no key."""


def windowed(source: str, sink: str) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream(source, key=string(), value=string())
    windows = TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(seconds=2))
    counts = (
        stream.group_by_key(key=string(), value=string()).windowed_by(windows).count(name="agg")
    )
    counts.to_stream().to(sink, key=time_windowed(string(), 10_000), value=long())
    return builder.build()


async def put(instances: Instances, rows: list[tuple[str | None, int]]) -> None:
    async with Producer(bootstrap_servers=instances.servers) as producer:
        for key, at in rows:
            raw = None if key is None else key.encode()
            await producer.send(instances.source, b"v", key=raw, timestamp_ms=at, partition=0)


def dropped(app: KafkaStreams) -> float:
    """The task's own count: the other tasks have dropped nothing."""
    return sum(
        float(value)
        for each, value in app.metrics().items()
        if each.name == "dropped-records-total"
    )


async def shown(instances: Instances, *command: str) -> dict[int, Any]:
    """What a verb shows of the application, by partition of its source."""
    arguments = [*command, instances.application, "--output", "json"]
    runner = CliRunner(env={"MILLSTREAM_BOOTSTRAP_SERVERS": instances.servers})
    result = await asyncio.to_thread(runner.invoke, main, arguments)
    rows = json.loads(result.stdout)
    return {row["partition"]: row["dropped"] for row in rows if row["topic"] == instances.source}


@pytest.mark.parametrize("use_processes", [False, True])
async def test_what_is_left_out_is_told_wherever_an_application_is_looked_at(
    instances: Instances, caplog: pytest.LogCaptureFixture, *, use_processes: bool
) -> None:
    topology = windowed(instances.source, instances.sink)
    await put(instances, ROWS)
    async with instances.new(topology, use_processes=use_processes) as app:
        await until(lambda: dropped(app) == 3)
        lines = [each.getMessage() for each in caplog.records if "has left out" in each.message]
        place = f"topic {instances.source}. The first: {instances.source}-0"
        late = (
            f"agg has left out 2 records of {place}, offset 1, timestamp 85000, stream time 100000: its window [80000, 90000) "
            "closed at 92000, after 2000 ms of grace. A grace of 90001 ms would have kept all of them"
        )
        keyless = f"agg has left out 1 record of {place}, offset 3, timestamp 100000, stream time 100000: it has no key"
        assert len(lines) == 2
        assert all(any(text in line for line in lines) for text in (late, keyless))

        async def committed() -> bool:
            return (await shown(instances, "pipeline", "status")).get(0) == 3

        await eventually(committed)
    await put(instances, [("k", 2_000)])
    async with instances.new(topology, use_processes=use_processes) as again:
        await until(lambda: dropped(again) == 1)

        async def added() -> bool:
            return (await shown(instances, "groups", "describe")).get(0) == 4

        await eventually(added)


async def test_what_fills_global_stores_tells_what_it_leaves_out(
    instances: Instances, caplog: pytest.LogCaptureFixture
) -> None:
    builder = StreamsBuilder()
    builder.global_table(instances.source, key=string(), value=string())
    await put(instances, [("k", 1), (None, 2), (None, 3)])
    async with instances.new(builder.build()) as app:
        await until(lambda: dropped(app) == 2)
        (line,) = [each.message for each in caplog.records if "has left out" in each.message]
    assert (
        f"has left out 2 records of topic {instances.source}. The first: {instances.source}-0, offset 1"
        in line
    )
