"""What a user reads when offsets of a query are no longer to be had, or nothing listens: one sentence, and how to go on."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException

from millstream.clients import NewTopic
from millstream.clients.blocking import Admin
from millstream.errors import BrokerNotAvailable
from millstream.model import TopicPartition
from millstream.spark import RunnerOptions, SparkStreams, in_time_order, write_atomically
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.testing.broker import Broker
from tests.support.late_workers import started

pytestmark = pytest.mark.spark


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_query_that_loses_records_ends_with_the_sentence_and_goes_on_with_a_policy(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"%d" % n} for n in range(6)])
    with Admin(bootstrap_servers=topics.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 4}).raise_errors()

    def run(**options: str) -> Any:
        rows = (
            spark.readStream.format("millstream")
            .options(**{"bootstrap.servers": topics.bootstrap_servers}, subscribe=topic)
            .options(startingOffsets=f'{{"{topic}": {{"0": 2}}}}', **options)
            .load()
        )
        query = (
            rows.writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(400)
        return query

    with pytest.raises(
        StreamingQueryException,
        match=rf"offsets 2 to 4 of {topic}-0 are not in the log, which holds 4 to 6",
    ):
        started(run)
    query = started(lambda: run(failOnDataLoss="skip"))
    assert [p.numInputRows for p in query.recentProgress if p.numInputRows] == [2]


def test_a_port_that_refuses_ends_reads_writes_and_queries_as_they_start(
    spark: Any, tmp_path: Path
) -> None:
    """All of them by one rule, here with `kafka.bootstrap.wait.ms=0`. The clients of what has begun would wait for a minute and more."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{taken.getsockname()[1]}"
        to = {"bootstrap.servers": servers, "kafka.bootstrap.wait.ms": "0"}
        exactly = to | {
            "topic": "t",
            "transactionalIdPrefix": "p",
            "deliveryGuarantee": "exactly-once",
        }
        rows = spark.range(1).selectExpr("cast(id as string) value")
        stream = spark.readStream.format("rate").load().selectExpr("cast(value as string) value")

        def read() -> None:
            spark.read.format("millstream").options(**to, subscribe="t").load().collect()

        def write() -> None:
            rows.write.format("millstream").options(**exactly).mode("append").save()

        def ended(writer: Any, name: str) -> None:
            query = writer.option("checkpointLocation", str(tmp_path / name)).start()
            assert query.awaitTermination(400), "the query waits for a cluster"

        def source() -> None:
            records = spark.readStream.format("millstream").options(**to, subscribe="t").load()
            ended(records.writeStream.format("noop"), "source")

        def sink() -> None:
            ended(stream.writeStream.format("millstream").options(**exactly), "sink")

        def atomically() -> None:
            write_atomically(rows, 0, to | {"topic": "t", "transactionalIdPrefix": "p"})

        def topology() -> None:
            builder = StreamsBuilder()
            builder.stream("in").to("out")
            settings = {"bootstrap.wait.ms": "0"}
            options = RunnerOptions(bootstrap_servers=servers, client_settings=settings)
            config = StreamsConfig(application_id="app")
            SparkStreams(builder.build(), config, spark, options)

        starts: list[Callable[[], None]] = [read, write, source, sink, atomically, topology]
        for start in starts:
            with pytest.raises(
                (PySparkException, BrokerNotAvailable),
                match=f"cannot connect to {servers}: refused; nothing listens there",
            ):
                start()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_port_that_refuses_ends_queries_as_they_start_again(spark: Any, tmp_path: Path) -> None:
    """Their checkpoints hold micro-batches, and Python processes of this session were connected in the start before."""
    topic = "t"
    files = tmp_path / "files"
    files.mkdir()
    lines = spark.readStream.text(str(files))

    def sink(to: dict[str, str], guarantee: str) -> Any:
        prefix = {"transactionalIdPrefix": "p"} if guarantee == "exactly-once" else {}
        writer = lines.writeStream.format("millstream").options(**to, topic=topic, **prefix)
        return writer.option("deliveryGuarantee", guarantee)

    def each(to: dict[str, str], write: Callable[[Any, int, dict[str, str]], object]) -> Any:
        name = f"{topic}-{write.__name__}"
        options = to | {"topic": topic, "transactionalIdPrefix": name}
        options["deliveryGuarantee"] = "exactly-once"
        return lines.writeStream.foreachBatch(lambda rows, number: write(rows, number, options))

    def written(rows: Any, _: int, options: dict[str, str]) -> None:
        rows.write.format("millstream").options(**options).mode("append").save()

    def ordered(rows: Any, _: int, options: dict[str, str]) -> None:
        timed = rows.selectExpr("value", "timestamp_millis(0) timestamp")
        in_time_order(timed, {"topic": topic, **options}).collect()

    queries: dict[str, Callable[[dict[str, str]], Any]] = {
        "source": lambda to: (
            spark.readStream.format("millstream")
            .options(**to, subscribe=topic)
            .load()
            .writeStream.format("noop")
        ),
        "exactly once": lambda to: sink(to, "exactly-once"),
        "at least once": lambda to: sink(to, "at-least-once"),
        "no guarantee": lambda to: sink(to, "none"),
        "atomically": lambda to: each(to, write_atomically),
        "foreachBatch": lambda to: each(to, written),
        "in time order": lambda to: each(to, ordered),
    }

    def start(name: str) -> Any:
        writer = queries[name](to).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / name)).start()
        assert query.awaitTermination(400), f"{name} waits for a cluster"
        return query

    files.joinpath("a").write_text("a\n")
    with Broker(in_process=False) as broker:
        to = {"bootstrap.servers": broker.bootstrap_servers, "kafka.bootstrap.wait.ms": "0"}
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic(topic)]).raise_errors()
        for name in queries:
            started(lambda name=name: start(name))
        broker.kill()
        files.joinpath("b").write_text("b\n")
        for name in queries:
            with pytest.raises(StreamingQueryException, match=r"BrokerNotAvailable: .*: refused;"):
                started(lambda name=name: start(name))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_is_wrong_with_a_dataframe_is_one_line(spark: Any, topics: Any) -> None:
    """It was a sentence under thirty lines of a worker's traceback."""
    topic = topics.new()
    topics.put(topic, [{"value": b"no JSON"}])

    def told(subscribe: str = topic, **options: str) -> list[str]:
        rows = (
            spark.read.format("millstream")
            .options(**{"bootstrap.servers": topics.bootstrap_servers}, subscribe=subscribe)
            .options(**options)
        )
        with pytest.raises(PySparkException) as failed:
            rows.load().collect()
        return [line for line in str(failed.value).splitlines() if "SQLSTATE" not in line]

    (missing,) = told("no-such-topic")
    assert missing.endswith(
        "millstream.errors.ConfigError: topic no-such-topic is not there, or its user may not describe it"
    )
    (typo,) = told(**{"value.format": "json", "value.schema": "id BIGNT"})
    assert typo.endswith("'bignt' is no type that is read or written, did you mean bigint?")
    spark_says, ours = told(**{"value.format": "json", "value.schema": "id BIGINT"})
    assert spark_says == "An exception was thrown from the Python worker:"
    assert ours.startswith(
        f"millstream.spark.source.rows.bad_rows.BadRow: {topic}-0 offset 0 cannot be decoded"
    )
