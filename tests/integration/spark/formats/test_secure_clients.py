"""Source, sink and runner over TLS with a certificate of their own, and transactions that were aborted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.clients import Admin, NewTopic, Producer, RangeReader
from millstream.spark import MicroBatchRunner, RunnerOptions
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import long, string
from tests.integration.spark.tls_entrance import Entrance, tls_entrance
from tests.support.late_workers import started

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def entrance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Entrance]:
    with tls_entrance(tmp_path_factory.mktemp("certificates")) as opened:
        yield opened


def filled(entrance: Entrance, *topics: str, values: str = "") -> None:
    """Creates the topics and writes the values to the first of them."""

    async def fill() -> None:
        given: Any = {"bootstrap.servers": entrance.bootstrap_servers, **entrance.settings}
        async with Admin(**given) as admin:
            (await admin.create_topics([NewTopic(name, 1) for name in topics])).raise_errors()
        async with Producer(**given) as producer:
            for value in values:
                await producer.send(topics[0], value.encode())

    asyncio.run(fill())


def contents(entrance: Entrance, topic: str) -> list[dict[str, Any]]:
    async def read() -> list[dict[str, Any]]:
        given: Any = {"bootstrap.servers": entrance.bootstrap_servers, **entrance.settings}
        async with RangeReader(**given) as reader:
            (end,) = (await reader.offsets(topic, -1)).values()
            batches = reader.read(topic, 0, 0, end)
            return [row async for batch in batches for row in batch.to_pylist()]

    return asyncio.run(read())


def test_source_and_sink_go_through_tls(spark: Any, entrance: Entrance, tmp_path: Path) -> None:
    filled(entrance, "tls-in", "tls-out", values="abc")
    options = {f"kafka.{name}": value for name, value in entrance.settings.items()}
    options["kafka.bootstrap.servers"] = entrance.bootstrap_servers
    rows = (
        spark.readStream.format("millstream")
        .options(subscribe="tls-in", startingOffsets="earliest", **options)
        .load()
    )

    def copy() -> Any:
        query = (
            rows.select("value")
            .writeStream.format("millstream")
            .options(topic="tls-out", checkpointLocation=str(tmp_path), **options)
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(400)
        return query

    query = started(copy)
    assert [row["value"] for row in contents(entrance, "tls-out")] == [b"a", b"b", b"c"]
    assert "sesame" not in str(query.lastProgress)


def test_no_plan_shows_a_secret(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    secrets = {
        "kafka.ssl.keystore.key": "-----BEGIN PRIVATE KEY----- hunter1",
        "kafka.ssl.key.password": "hunter2",
        "kafka.sasl.password": "hunter3",
        "kafka.sasl.jaas.config": "LoginModule required username=u password=hunter4;",
    }
    options = {"bootstrap.servers": "127.0.0.1:1", "subscribe": "t", **secrets}
    for reading in (spark.read, spark.readStream):
        reading.format("millstream").options(**options).load().explain(True)
    shown = capsys.readouterr().out
    assert "kafka.ssl.keystore.key=*********(redacted)" in shown
    assert "hunter" not in shown


def test_a_topology_runs_through_tls(spark: Any, entrance: Entrance, tmp_path: Path) -> None:
    filled(entrance, "tls-words", "tls-counts", values="abca")
    builder = StreamsBuilder()
    words = builder.stream("tls-words", key=string(), value=string())
    counts = words.group_by(lambda _, word: word, key=string(), value=string()).count()
    counts.to_stream().to("tls-counts", value=long())
    options = RunnerOptions(
        bootstrap_servers=entrance.bootstrap_servers,
        directory=str(tmp_path),
        client_settings=entrance.settings,
    )
    config = StreamsConfig(application_id="tls-application")
    MicroBatchRunner(builder.build(), config, spark, options).run_available()
    found = {
        row["key"]: int.from_bytes(row["value"], "big") for row in contents(entrance, "tls-counts")
    }
    assert found == {b"a": 2, b"b": 1, b"c": 1}


def test_a_topology_does_not_count_what_was_aborted(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source, out = topics.new("words"), topics.new("counts")

    async def write() -> None:
        given: Any = {"bootstrap_servers": topics.bootstrap_servers, "transactional_id": source}
        async with Producer(**given) as producer:
            await producer.init_transactions()
            for value, ending in ((b"a", "commit"), (b"a", "abort"), (b"b", "abort")):
                await producer.begin_transaction()
                await producer.send(source, value)
                await getattr(producer, f"{ending}_transaction")()

    builder = StreamsBuilder()
    words = builder.stream(source, key=string(), value=string())
    by_word = words.group_by(lambda _, word: word, key=string(), value=string())
    by_word.count().to_stream().to(out, value=long())
    runner = MicroBatchRunner(
        builder.build(),
        StreamsConfig(application_id=f"app-{source}"),
        spark,
        RunnerOptions(bootstrap_servers=topics.bootstrap_servers, directory=str(tmp_path)),
    )
    for total in (1, 2):  # the second time there is nothing but markers before the records
        asyncio.run(write())
        runner.run_available()
        last = {r["key"]: int.from_bytes(r["value"], "big") for r in topics.get(out)}
        assert last == {b"a": total}
