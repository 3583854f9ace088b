"""A DataFrame as the input of a topology and its output as a DataFrame, through restarts and kills: each update once."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from millstream.clients.blocking import Admin
from millstream.errors import ConfigError
from millstream.spark import DataFrameInput, PipelineFailed, RunnerOptions, SparkStreams, State
from millstream.streams import (
    Materialized,
    RocksDBOptions,
    StreamsBuilder,
    TimeWindows,
    Topology,
)
from millstream.streams.config import StreamsConfig
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import long, string
from tests.patience import wait_until
from tests.support.late_workers import started

BASE_MS: Final = 1_700_000_000_000
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


def small_buffers(_task_name: str, options: Any) -> None:
    options.set_write_buffer_size(123_456)


class Bridged:
    """Words in a topic, made a DataFrame, counted by a topology, and the counts as a DataFrame again."""

    def __init__(self, spark: Any, topics: Any, directory: Path) -> None:
        self.spark, self.topics, self.directory = spark, topics, directory
        self.words, self.counts = topics.new("words", 2), topics.new("counts", 2)
        self.name = f"bridged-{self.counts}"
        self.seen: list[tuple[str, int]] = []

    def rows(self, *more: str, **options: str) -> Any:
        source = (
            self.spark.readStream.format("millstream")
            .option("bootstrap.servers", self.topics.bootstrap_servers)
            .option("subscribe", self.words)
            .option("startingOffsets", "earliest")
            .option("minPartitions", 2)
            .options(**options)
            .load()
        )
        return source.selectExpr("value AS key", "upper(string(value)) AS value", *more)

    def counting(self) -> Topology:
        builder = StreamsBuilder()
        (
            builder.stream("upper", key=string(), value=string())
            .group_by_key(key=string(), value=string())
            .count(materialized=Materialized("counts"))
            .to_stream()
            .to(self.counts, value=long())
        )
        return builder.build()

    def application(
        self, rows: Any = None, *, topology: Topology | None = None, **given: Any
    ) -> SparkStreams:
        return SparkStreams(
            topology or self.counting(),
            StreamsConfig(
                application_id=self.name,
                rocksdb=RocksDBOptions(compression="zstd"),
                rocksdb_config_setter=small_buffers,
            ),
            self.spark,
            RunnerOptions(
                bootstrap_servers=self.topics.bootstrap_servers,
                directory=str(self.directory),
                client_settings={"restore.consumer.fetch.max.bytes": 100_000},
            ),
            inputs={"upper": DataFrameInput(rows or self.rows(), **{"partitions": 2} | given)},
        )

    def put(self, *words: str) -> None:
        self.topics.put(
            self.words, [{"value": w.encode(), "partition": i % 2} for i, w in enumerate(words)]
        )

    def collect(self, application: SparkStreams) -> Counter[tuple[str, int]]:
        """What the DataFrame of the counts has had since the last call, a query with a checkpoint of its own."""

        def keep(rows: Any, _: int) -> None:
            self.seen += [(r.key.decode(), int.from_bytes(r.value, "big")) for r in rows.collect()]

        def query() -> None:
            (
                application.read_stream(self.counts)
                .writeStream.foreachBatch(keep)
                .option("checkpointLocation", str(self.directory / "outputs"))
                .trigger(availableNow=True)
                .start()
                .awaitTermination()
            )

        self.seen.clear()
        started(query)
        return Counter(self.seen)

    def database_options(self) -> list[str]:
        """What RocksDB says of the options that the stores of tasks were opened with; there are some."""
        found = [each.read_text() for each in self.directory.rglob("OPTIONS-*[0-9]")]
        assert found
        return found

    @property
    def between(self) -> str:
        return f"{self.name}-upper-bridge-repartition"

    def admin(self) -> Admin:
        return Admin(bootstrap_servers=self.topics.bootstrap_servers)


@pytest.fixture
def bridged(spark: Any, topics: Any, tmp_path: Path) -> Bridged:
    return Bridged(spark, topics, tmp_path / "application")


def updates(**counts: int) -> Counter[tuple[str, int]]:
    """Each word's counts from 1 on, once."""
    return Counter((word, n + 1) for word, last in counts.items() for n in range(last))


def test_each_update_is_there_once_also_when_a_micro_batch_of_the_input_comes_again(
    bridged: Bridged,
) -> None:
    """The checkpoint is set back, as by a kill before the commit log: the rows were written, and come again."""
    bridged.put(*"abcab")
    with bridged.application() as application:
        application.run_available()
        assert bridged.collect(application) == updates(a=2, b=2, c=1)
    (checkpoint,) = (bridged.directory / "inputs" / bridged.name / "upper").iterdir()
    (checkpoint / "commits" / "0").unlink()
    bridged.put(*"ad")
    with bridged.application() as application:
        application.run_available()
        application.run_available()
        assert bridged.collect(application) == Counter({("a", 3): 1, ("d", 1): 1})
    assert bridged.topics.get(bridged.between) == [], "what was read is purged"
    for options in bridged.database_options():
        assert "write_buffer_size=123456" in options
        assert "\n  compression=kZSTD" in options
    with bridged.admin() as admin:
        described = admin.describe_topics([bridged.between]).result(bridged.between)
    assert len(described.partitions) == 2


@pytest.mark.parametrize(("rows_max", "is_continuous"), [(None, False), (300, False), (300, True)])
def test_windows_behind_an_input_count_every_row_of_a_backlog(
    bridged: Bridged, rows_max: int | None, is_continuous: bool
) -> None:
    """Each task of the input writes to all of the topic between: a partition that took rows as they come would have late ones."""
    for partition in range(2):
        times = range(BASE_MS + partition * 100, BASE_MS + 200_000, 200)
        words = [b"c%d" % (at // 100 % 7) for at in times]
        columns = {
            "value": pa.array(words, pa.binary()),
            "timestamp": pa.array(times, pa.int64()).cast(pa.timestamp("ms", tz="UTC")),
        }
        bridged.topics.put_arrow(bridged.words, pa.table(columns), partition)
    builder = StreamsBuilder()
    (
        builder.stream("upper", key=string(), value=string())
        .group_by(lambda _, value: value[1:], key=string(), value=string())
        .windowed_by(TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(seconds=2)))
        .count()
        .to_stream()
        .map(lambda key, count: (f"{key.key} {key.start_ms}", count))
        .to(bridged.counts, key=string(), value=long())
    )

    def counted() -> int:
        written = bridged.topics.get(bridged.counts, isolation_level="read_committed")
        return sum({row["key"]: int.from_bytes(row["value"], "big") for row in written}.values())

    limit = {} if rows_max is None else {"maxRecordsPerTrigger": str(rows_max)}
    rows = bridged.rows("timestamp", **limit)
    with bridged.application(rows, topology=builder.build()) as application:
        if is_continuous:
            application.start()
            wait_until(lambda: counted() == 2_000)
        else:
            application.run_available()
    assert counted() == 2_000


def test_the_input_runs_as_long_as_the_application_and_is_reset_with_it(bridged: Bridged) -> None:
    seen = threading.Event()
    with bridged.application() as application:
        application.on_progress(lambda progress: progress.output_records and seen.set())
        application.start()
        bridged.put("a")
        wait_until(seen.is_set)
        query = application.input_queries["upper"]
        assert query.isActive
    assert not query.isActive
    assert application.state is State.NOT_RUNNING
    checkpoints = bridged.directory / "inputs"
    checkpoints.rename(bridged.directory / "kept")
    with bridged.application() as application:
        with pytest.raises(ConfigError, match=r"input upper has records in .*, but its checkpoint"):
            application.run_available()
        (bridged.directory / "kept").rename(checkpoints)
        bridged.put("a")
        application.run_available()
    with bridged.admin() as admin:  # as `millstream pipeline reset` does
        names = [name for name in admin.list_topics() if name.startswith(f"{bridged.name}-")]
        admin.delete_topics(names).raise_errors()
        admin.delete_consumer_groups([bridged.name]).raise_errors()
    with bridged.application() as application:
        application.run_available()
        assert bridged.collect(application) == updates(a=2) + updates(a=2)


def test_an_input_that_fails_for_good_fails_the_application(
    bridged: Bridged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.spark.pipeline.inputs.ATTEMPTS_MAX", 1)
    bridged.put("a")
    rows = bridged.rows().selectExpr("key", "string(1 / (length(value) - 1)) AS value")
    with bridged.application(rows) as application:
        application.start()
        with pytest.raises(PipelineFailed, match=r"input upper failed: .*[Dd]ivision by zero"):
            application.await_termination()
        assert application.state is State.ERROR


def test_inputs_and_outputs_that_cannot_be_are_refused(bridged: Bridged) -> None:
    rows = bridged.rows()
    batch = bridged.spark.createDataFrame([(b"a",)], "value binary")
    for given, wrong, message in (
        ({}, batch, "input upper is a batch"),
        ({"partitions": 0}, rows, "input upper needs at least 1 partition, got 0"),
        ({}, rows.selectExpr("value", "'t' AS topic"), "input upper has a column topic"),
        ({}, rows.selectExpr("value", "1 AS number"), "number"),
    ):
        with pytest.raises(ConfigError, match=message):
            bridged.application(wrong, **given)
    builder = StreamsBuilder()
    builder.stream("there", key=string(), value=string()).to(bridged.counts)
    arguments = (builder.build(), StreamsConfig(application_id="no"), bridged.spark)
    options = RunnerOptions(bootstrap_servers=bridged.topics.bootstrap_servers)
    with pytest.raises(TopologyError, match="no stream or table reads upper"):
        SparkStreams(*arguments, options, inputs={"upper": DataFrameInput(rows)})
    with pytest.raises(ConfigError, match="input there needs a directory for its checkpoint"):
        SparkStreams(*arguments, options, inputs={"there": DataFrameInput(rows)})
    with (
        bridged.application() as application,
        pytest.raises(ConfigError, match=f"does not write to other, but to {bridged.counts}"),
    ):
        application.read_stream("other")
