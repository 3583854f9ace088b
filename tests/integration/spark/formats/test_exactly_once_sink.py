"""The exactly-once sink: interrupted at each of its steps, run by two at once, and through Spark with its progress taken back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.clients import Producer
from millstream.clients.blocking import Admin
from millstream.errors import InvalidProducerEpoch
from millstream.spark.connections import Connections
from millstream.spark.kafka_settings import for_writing
from millstream.spark.sink.marks import BatchChanged, BatchMark
from millstream.spark.sink.options import DeliveryGuarantee, SinkOptions
from millstream.spark.sink.transactions import BatchWrite, write_exactly_once
from tests.integration.spark.formats.late_workers import started

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


class Killed(Exception):
    """Ends an attempt where it is."""


class Sink:
    """Attempts at one Spark partition. Each attempt has connections of its own, as a worker process would."""

    def __init__(self, topics: Any) -> None:
        self.topics, self.topic = topics, topics.new(partitions=2)
        self._open: list[Connections] = []
        kafka = for_writing({"bootstrap.servers": topics.bootstrap_servers})
        self.options = SinkOptions(
            kafka=kafka, topic=self.topic, delivery_guarantee=DeliveryGuarantee.EXACTLY_ONCE
        )

    def worker(self) -> Connections:
        self._open.append(Connections(self.options.kafka))
        return self._open[-1]

    def write(
        self, batch: int, rows: list[str], link: Connections | None = None, *, run: str = "run"
    ) -> int:
        write = BatchWrite(f"sink-{self.topic}", 0, BatchMark("query", batch, run, f"w-{batch}"))
        return write_exactly_once(
            self.worker() if link is None else link, write, self.options, batches_of(rows)
        )

    def values(self) -> list[str]:
        rows = self.topics.get(self.topic, isolation_level="read_committed")
        return sorted(row["value"].decode() for row in rows)

    def close(self) -> None:
        for link in self._open:
            link.close()


def batches_of(rows: list[str], size: int = 2) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(rows), size):
        some = rows[first : first + size]
        yield pa.RecordBatch.from_pydict({"key": pa.array(some), "value": pa.array(some)})


@pytest.fixture
def sink(topics: Any) -> Iterator[Sink]:
    made = Sink(topics)
    yield made
    made.close()


def test_a_batch_that_comes_again_is_not_written_again(sink: Sink) -> None:
    assert sink.write(0, ["a", "b", "c"]) == 3
    assert sink.write(0, ["a", "b", "c"], run="after a restart") == 3
    assert sink.write(1, ["d"]) == 1
    assert sink.write(5, ["e"]) == 1  # batch ids may jump
    assert sink.write(1, ["d"], run="after a restart") == 1
    assert sink.values() == ["a", "b", "c", "d", "e"]


def test_a_partition_without_rows_leaves_nothing(sink: Sink) -> None:
    assert sink.write(0, []) == 0
    assert sink.values() == []


def test_other_rows_in_a_batch_that_was_written_are_refused(sink: Sink) -> None:
    sink.write(0, ["a", "b"])
    with pytest.raises(BatchChanged, match="Set back what was changed"):
        sink.write(0, ["a"], run="after a restart")
    assert sink.values() == ["a", "b"]


STEPS = (
    "init_transactions",
    "begin_transaction",
    "send_batch",
    "flush",
    "send_offsets_to_transaction",
    "commit_transaction",
)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_an_attempt_that_ends_anywhere_leaves_each_row_once(
    sink: Sink, monkeypatch: pytest.MonkeyPatch, step: str, moment: str
) -> None:
    sink.write(0, ["a", "b", "c"])
    call: Callable[..., Any] = getattr(Producer, step)

    async def interrupted(self: Producer, *given: Any, **named: Any) -> Any:
        if moment == "after":
            await call(self, *given, **named)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Producer, step, interrupted)
        # a process that is killed does not abort what it has begun either
        patched.setattr(Connections, "discard_transactional_producer", lambda *_: None)
        with pytest.raises(Killed):
            sink.write(1, ["d", "e", "f"])
    assert sink.write(1, ["d", "e", "f"]) == 3
    assert sink.values() == ["a", "b", "c", "d", "e", "f"]


def test_a_late_twin_is_fenced_and_writes_nothing(sink: Sink) -> None:
    def rows_and_then_a_twin() -> Iterator[pa.RecordBatch]:
        yield from batches_of(["a", "b"])
        sink.write(0, ["a", "b", "c", "d"])
        yield from batches_of(["c", "d"])

    write = BatchWrite(f"sink-{sink.topic}", 0, BatchMark("query", 0, "run", "w-0"))
    with pytest.raises(InvalidProducerEpoch):
        write_exactly_once(sink.worker(), write, sink.options, rows_and_then_a_twin())
    assert sink.values() == ["a", "b", "c", "d"]


class Copy:
    """A stream from topic to topic, exactly once, with a checkpoint."""

    def __init__(self, spark: Any, topics: Any, directory: Path) -> None:
        self.spark, self.topics, self.checkpoint = spark, topics, directory / "checkpoint"
        self.source, self.out = topics.new(partitions=3), topics.new(partitions=2)
        self.broker = {"bootstrap.servers": topics.bootstrap_servers}

    def put(self, first: int, end: int) -> None:
        records = [{"key": b"%d" % n, "value": b"%d" % n} for n in range(first, end)]
        self.topics.put(self.source, records)

    def run(self, **options: str) -> None:
        def run() -> None:
            rows = self.spark.readStream.format("millstream").options(
                subscribe=self.source, startingOffsets="earliest", **self.broker
            )
            sink = rows.load().select("key", "value").writeStream.format("millstream")
            query = (
                sink.options(
                    topic=self.out, deliveryGuarantee="exactly-once", **self.broker, **options
                )
                .option("checkpointLocation", str(self.checkpoint))
                .trigger(availableNow=True)
                .start()
            )
            assert query.awaitTermination(400)

        started(run)

    def forget_commit(self) -> None:
        """As a driver does that is killed after the tasks and before it writes Spark's commit log."""
        last = max(self.checkpoint.glob("commits/[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        for checksum in self.checkpoint.glob("commits/.*.crc"):
            checksum.unlink()

    def values(self) -> list[int]:
        rows = self.topics.get(self.out, isolation_level="read_committed")
        return sorted(int(row["value"]) for row in rows)


@pytest.fixture
def copy(spark: Any, topics: Any, tmp_path: Path) -> Copy:
    return Copy(spark, topics, tmp_path)


@pytest.mark.slow
def test_a_micro_batch_that_spark_repeats_is_written_once(copy: Copy) -> None:
    copy.put(0, 30)
    copy.run()
    copy.forget_commit()
    copy.put(30, 40)
    copy.run()
    copy.forget_commit()
    copy.run()
    assert copy.values() == list(range(40))


@pytest.mark.slow
def test_groups_and_transactional_ids_have_the_name_of_the_query(copy: Copy) -> None:
    copy.put(0, 9)
    copy.run()
    query = json.loads((copy.checkpoint / "metadata").read_text())["id"]
    with Admin(bootstrap_servers=copy.topics.bootstrap_servers) as admin:
        names = [group.group_id for group in admin.list_groups()]
    assert {name for name in names if query in name} == {
        f"millstream-{query}-{n}" for n in range(3)
    }


@pytest.mark.slow
def test_queries_that_share_a_prefix_know_each_what_it_has_written(
    spark: Any, copy: Copy, tmp_path: Path
) -> None:
    other = Copy(spark, copy.topics, tmp_path / "other")
    other.source, other.out = copy.source, copy.out
    copy.put(0, 30)
    for query in (copy, other):
        query.run(transactionalIdPrefix="shared")
    copy.forget_commit()
    copy.run(transactionalIdPrefix="shared")
    assert copy.values() == sorted(2 * list(range(30)))


@pytest.mark.slow
def test_writes_of_a_function_for_each_batch_are_written_once(
    spark: Any, copy: Copy, tmp_path: Path
) -> None:
    copy.put(0, 20)
    other = copy.topics.new()

    def write(rows: Any, _batch: int) -> None:
        for topic in (copy.out, other):
            sink = rows.select("key", "value").write.format("millstream").mode("append")
            sink.options(topic=topic, deliveryGuarantee="exactly-once", **copy.broker).option(
                "transactionalIdPrefix", f"of-{topic}"
            ).save()

    def run() -> None:
        rows = spark.readStream.format("millstream").options(
            subscribe=copy.source, startingOffsets="earliest", **copy.broker
        )
        query = (
            rows.load()
            .writeStream.foreachBatch(write)
            .option("checkpointLocation", str(copy.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(400)

    started(run)
    copy.forget_commit()
    started(run)
    assert copy.values() == list(range(20))
    assert len(copy.topics.get(other, isolation_level="read_committed")) == 20
    shutil.rmtree(copy.checkpoint)


@pytest.mark.slow
def test_a_table_is_written_in_transactions(spark: Any, topics: Any) -> None:
    topic = topics.new()
    rows = spark.range(100).selectExpr("CAST(id AS string) AS value")
    options = {"bootstrap.servers": topics.bootstrap_servers, "topic": topic}
    rows.write.format("millstream").options(**options, deliveryGuarantee="exactly-once").mode(
        "append"
    ).save()
    written = topics.get(topic, isolation_level="read_committed")
    assert sorted(int(row["value"]) for row in written) == list(range(100))
