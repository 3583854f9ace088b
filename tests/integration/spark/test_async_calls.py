"""Async functions of a topology are awaited in Spark's workers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from millstream.spark import MicroBatchRunner, RunnerOptions
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import string

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


def test_workers_await_async_functions(spark: Any, topics: Any, tmp_path: Path) -> None:
    async def upper(value: str) -> str:
        await asyncio.sleep(0)
        return value.upper()

    source, out = topics.new("words", 1), topics.new("loud", 1)
    topics.put(source, [{"key": b"k", "value": word} for word in (b"a", b"b", b"c")])
    builder = StreamsBuilder()
    words = builder.stream(source, key=string(), value=string())
    words.map_values_async(upper).to(out, key=string(), value=string())
    options = RunnerOptions(
        bootstrap_servers=topics.bootstrap_servers, directory=str(tmp_path / "application")
    )
    config = StreamsConfig(application_id=f"async-{tmp_path.name}")
    with MicroBatchRunner(builder.build(), config, spark, options) as runner:
        runner.run_available(lambda _: None)
    assert [record["value"] for record in topics.get(out)] == [b"A", b"B", b"C"]
