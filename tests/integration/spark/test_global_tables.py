"""Global tables and stores on Spark: every task host has them whole, and as they are when a task runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.spark import RunnerOptions, SparkStreams
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import string
from millstream.streams.topology import Topology

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1000)]


def with_names(source: str, names: str, out: str) -> Topology:
    builder = StreamsBuilder()
    table = builder.global_table(names, key=string(), value=string())
    stream = builder.stream(source, key=string(), value=string())
    named = stream.left_join(table, lambda v, name: f"{v}={name}", on=lambda _, value: value)
    named.to(out, key=string(), value=string())
    return builder.build()


def test_tasks_in_two_hosts_see_a_global_table_as_it_is(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source, names, out = topics.new("in", 4), topics.new("names", 2), topics.new("out", 4)
    config = StreamsConfig(application_id=f"global-{tmp_path.name}")
    options = RunnerOptions(
        bootstrap_servers=topics.bootstrap_servers, directory=str(tmp_path / "application")
    )

    def put(*names_of_a_and_b: str) -> None:
        for number, name in enumerate(names_of_a_and_b):
            record = {"key": b"ab"[number : number + 1], "value": name.encode()}
            topics.put(names, [record | {"partition": number}])
        wanted = [{"value": v, "partition": p} for p in range(4) for v in (b"a", b"b")]
        topics.put(source, wanted)

    def results() -> list[bytes]:
        return sorted(record["value"] for record in topics.get(out))

    for _ in range(2):  # the second one goes on with the stores of the first
        with SparkStreams(with_names(source, names, out), config, spark, options) as application:
            put("anna", "bert")
            application.run_available()
            put("ann")
            application.run_available()
    assert results() == [b"a=ann"] * 8 + [b"a=anna"] * 8 + [b"b=bert"] * 16
    stores = tmp_path / "application/state" / config.application_id / "global"
    assert sorted(path.name for path in stores.iterdir()) == ["0", "1"], "one for each host"
