"""A task on Spark that has lost its stores begins with a snapshot on shared storage."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.clients import Producer
from millstream.spark import Progress, RunnerOptions, SparkStreams
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import bytes_, long, string
from tests.patience import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
FIRST, MORE, KEYS = 250_000, 1_000, 500


def put(servers: str, topic: str, count: int) -> None:
    """Keys in turn."""

    async def put() -> None:
        async with Producer(bootstrap_servers=servers, linger_ms=5) as producer:
            rows = pa.RecordBatch.from_pydict(
                {
                    "key": pa.array([b"key-%d" % (n % KEYS) for n in range(count)], pa.binary()),
                    "value": pa.array([b"value"] * count, pa.binary()),
                }
            )
            await producer.send_batch(topic, rows)

    asyncio.run(put())


def run(spark: Any, topics: Any, source: str, out: str, tmp_path: Path) -> int:
    """Counts what is there, and returns how many records were restored before."""
    builder = StreamsBuilder()
    stream = builder.stream(source, key=string(), value=bytes_())
    stream.group_by_key().count().to_stream().to(out, value=long())
    options = RunnerOptions(
        bootstrap_servers=topics.bootstrap_servers,
        directory=str(tmp_path / "local"),
        checkpoint_directory=str(tmp_path / "shared"),
    )
    seen: list[Progress] = []
    config = StreamsConfig(application_id=f"snapshots-{out}")
    with SparkStreams(builder.build(), config, spark, options) as application:
        application.run_available(seen.append)
    return sum(each.restored_records for each in seen)


def test_a_task_without_stores_begins_with_a_snapshot(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source, out = topics.new("in"), topics.new("out")
    put(topics.bootstrap_servers, source, FIRST)
    assert run(spark, topics, source, out, tmp_path) == 0
    wait_until(lambda: bool(list((tmp_path / "shared").glob("*/*/[0-9]*/SNAPSHOT"))))
    shutil.rmtree(tmp_path / "local", ignore_errors=True)  # the host tidies up there, too
    put(topics.bootstrap_servers, source, MORE)
    assert run(spark, topics, source, out, tmp_path) <= FIRST - 200_000
    rows = topics.get(out)
    assert len(rows) == FIRST + MORE
    counted = {row["key"]: int.from_bytes(row["value"], "big") for row in rows}
    assert counted == {b"key-%d" % n: (FIRST + MORE) // KEYS for n in range(KEYS)}
