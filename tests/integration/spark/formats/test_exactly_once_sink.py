"""The exactly-once sink: interrupted at each of its steps, run by two at once, and through Spark with its progress taken back."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from millstream.clients import OffsetAndMetadata, Producer
from millstream.clients.blocking import Admin
from millstream.errors import InvalidProducerEpoch, MillstreamError, ProducerFenced
from millstream.model import Offset, TopicPartition
from millstream.spark.connections import Connections
from millstream.spark.kafka_settings import for_writing
from millstream.spark.sink.finishing import TransactionLost, abandon_writes, finish_writes
from millstream.spark.sink.marks import BatchMark
from millstream.spark.sink.options import DeliveryGuarantee, SinkOptions
from millstream.spark.sink.transactions import BatchWrite, Unfinished, write_exactly_once
from millstream.spark.sink.verdicts import BatchChanged, BehindPolicy, CheckpointBehind
from tests.patience import wait_until
from tests.support.late_workers import started

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


class Killed(Exception):
    """Ends an attempt where it is."""


class Sink:
    """Attempts at micro-batches. Each writer has connections of its own, as a worker process would, and so has what ends them all."""

    def __init__(self, topics: Any) -> None:
        self.topics, self.topic = topics, topics.new(partitions=2)
        self.prefix = f"sink-{self.topic}"
        self._open: list[Connections] = []
        self._attempts = itertools.count()
        kafka = for_writing({"bootstrap.servers": topics.bootstrap_servers})
        self.options = SinkOptions(
            kafka=kafka, topic=self.topic, delivery_guarantee=DeliveryGuarantee.EXACTLY_ONCE
        )

    def worker(self) -> Connections:
        self._open.append(Connections(self.options.kafka))
        return self._open[-1]

    def attempt(self, batch: int, run: str = "run") -> Callable[..., Unfinished | None]:
        """Writers of one attempt: a function of the number of a Spark partition and its rows."""
        mark = BatchMark("query", batch, run, f"w-{next(self._attempts)}")

        def write(partition: int, rows: Iterable[pa.RecordBatch]) -> Unfinished | None:
            writer = BatchWrite(self.prefix, partition, mark)
            return write_exactly_once(self.worker(), writer, self.options, iter(rows))[1]

        return write

    def finish(self, left: Iterable[Unfinished | None]) -> None:
        """As Spark does when all tasks have ended."""
        unfinished = [each for each in left if each is not None]
        try:
            finish_writes(self.worker(), self.options, unfinished)
        except MillstreamError:
            abandon_writes(self.worker(), unfinished)
            raise

    def write(self, batch: int, *rows: str, run: str = "run") -> None:
        """A micro-batch whose Spark partitions have the letters of a text each."""
        write = self.attempt(batch, run)
        self.finish([write(number, batches_of(each)) for number, each in enumerate(rows)])

    def half_write(self, batch: int, rows: dict[int, str]) -> None:
        """A later micro-batch of a run in which these Spark partitions commit, and then the driver dies."""
        write = self.attempt(batch)
        left = [write(number, batches_of(each)) for number, each in rows.items()]
        assert left == [None] * len(rows), "they have committed"

    def values(self, count: int = 0) -> str:
        """What readers see when they see so many: brokers of Kafka answer to a commit a moment before that."""
        found: list[str] = []

        def are_there() -> bool:
            rows = self.topics.get(self.topic, isolation_level="read_committed")
            found[:] = [row["value"].decode() for row in rows]
            return len(found) >= count

        wait_until(are_there)
        return "".join(sorted(found))

    def close(self) -> None:
        for link in self._open:
            link.close()


def batches_of(rows: str, size: int = 2) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(rows), size):
        some = list(rows[first : first + size])
        yield pa.RecordBatch.from_pydict({"key": pa.array(some), "value": pa.array(some)})


@pytest.fixture
def sink(topics: Any) -> Iterator[Sink]:
    made = Sink(topics)
    yield made
    made.close()


def test_a_batch_that_comes_again_is_not_written_again(sink: Sink) -> None:
    sink.write(0, "abc")
    sink.write(0, "cab", run="after a restart")
    sink.write(1, "d", run="after a restart")
    sink.write(5, "e", run="after a restart")  # batch ids may jump
    sink.write(5, "e", run="after another one")
    assert sink.values(5) == "abcde"


def test_a_partition_without_rows_leaves_nothing(sink: Sink) -> None:
    sink.write(0, "", "")
    assert sink.values() == ""
    sink.write(1, "", "a")
    sink.write(2, "", "")
    assert sink.values(1) == "a"


def test_nothing_of_a_start_s_first_micro_batch_is_visible_before_all_have_written(
    sink: Sink,
) -> None:
    write = sink.attempt(0)
    left = [write(0, batches_of("ab")), write(1, batches_of("cd"))]
    assert sink.values() == ""
    sink.finish(left)
    assert sink.values(4) == "abcd"


def test_writers_of_later_micro_batches_commit_by_themselves(sink: Sink) -> None:
    sink.write(0, "a")
    assert sink.attempt(1)(0, batches_of("b")) is None
    assert sink.values(2) == "ab"
    sink.write(2, "c", "d", "e")
    assert sink.attempt(3)(2, batches_of("f")) is None
    assert sink.values(6) == "abcdef"


def test_other_rows_in_a_batch_that_was_written_are_refused(sink: Sink) -> None:
    sink.write(0, "ab", "cd")
    sink.half_write(1, {1: "gh"})
    with pytest.raises(BatchChanged, match="Set back what was changed"):
        sink.write(1, "eg", "fh", run="after a restart")
    assert sink.values(6) == "abcdgh", "nothing is visible of a partition that was not yet written"
    sink.write(1, "ef", "gh", run="as it was")
    assert sink.values(8) == "abcdefgh"


@pytest.mark.parametrize(
    "layout", [("efgh",), ("e", "fgh"), ("ef", "g", "h"), ("e", "f", "g", "h")]
)
@pytest.mark.parametrize("committed", [{0: "ef"}, {1: "gh"}])
def test_a_half_written_batch_in_other_spark_partitions_is_refused_before_anything_is_visible(
    sink: Sink, layout: tuple[str, ...], committed: dict[int, str]
) -> None:
    """Where those that were written are as before, the others may be cut as they like: each row is written once."""
    sink.write(0, "ab", "cd")
    sink.half_write(1, committed)
    before = sink.values(6)
    if len(layout) == 3 and committed == {0: "ef"}:
        sink.write(1, *layout, run="other partitions")
    else:
        with pytest.raises(BatchChanged, match="Nothing is written now"):
            sink.write(1, *layout, run="other partitions")
        assert sink.values() == before
        sink.write(1, "ef", "gh", run="as it was")
    assert sink.values(8) == "abcdefgh"


def test_a_writer_of_a_spark_partition_that_is_no_more_can_commit_nothing_late(sink: Sink) -> None:
    """It writes while the query starts again with fewer: whichever is later must lose.

    The broker refuses its rows, or else its offsets, where the rows had gone out before the restart.
    """
    sink.write(0, "ab", "cd")

    def rows_and_then_a_restart() -> Iterator[pa.RecordBatch]:
        yield from batches_of("gh")
        sink.write(1, "efgh", run="after a restart")

    with pytest.raises((InvalidProducerEpoch, ProducerFenced)):
        sink.attempt(1)(1, rows_and_then_a_restart())
    assert sink.values(8) == "abcdefgh"
    write = sink.attempt(1)
    left = [write(0, batches_of("ef")), write(1, batches_of("gh"))]
    with pytest.raises(BatchChanged):
        sink.finish(left)
    assert sink.values(8) == "abcdefgh"


def test_a_transaction_that_is_ended_before_all_have_written_is_told_of_and_made_good(
    sink: Sink,
) -> None:
    """As brokers do at its time limit."""
    write = sink.attempt(0)
    left = [write(0, batches_of("ab")), write(1, batches_of("cd"))]
    sink.topics.admin(lambda admin: admin.fence_producers([f"{sink.prefix}-1"]))
    with pytest.raises(
        TransactionLost, match=r"longer than kafka\.transaction\.timeout\.ms"
    ) as raised:
        sink.finish(left)
    assert "The next start writes what is missing" in str(raised.value)
    sink.write(0, "ab", "cd", run="the next start")
    assert sink.values(4) == "abcd"


def test_marks_of_a_release_that_left_none_for_starts_are_found(sink: Sink) -> None:
    """They had version 1, and no group of the query beside those of its Spark partitions."""
    old = '{"v":1,"query":"query","batch":7,"run":"r","write":"w","records":2,"digest":9}'
    marked = {TopicPartition(sink.topic, 0): OffsetAndMetadata(Offset(1), old)}
    sink.topics.admin(lambda admin: admin.alter_consumer_group_offsets(f"{sink.prefix}-3", marked))
    with pytest.raises(BatchChanged, match="Spark partition 3 of micro-batch 7 was written"):
        sink.write(7, "ab")
    with pytest.raises(CheckpointBehind):
        sink.write(6, "ab")
    assert sink.values() == ""
    sink.write(8, "ab")
    assert sink.values(2) == "ab"


def test_an_older_checkpoint_that_is_put_back_is_refused(sink: Sink) -> None:
    for batch, rows in enumerate(("ab", "cd", "ef")):
        sink.write(batch, *rows)
    for batch in (0, 1):
        with pytest.raises(CheckpointBehind, match="micro-batch 2 of the same query was written"):
            sink.write(batch, "x", "y", run="an older checkpoint")
    with pytest.raises(CheckpointBehind):
        sink.write(1, "xyz", run="an older checkpoint, other partitions")
    assert sink.values(6) == "abcdef"


def test_a_later_mark_of_a_spark_partition_that_is_no_more_says_so_too(sink: Sink) -> None:
    sink.write(0, "a", "b")
    sink.half_write(2, {1: "d"})
    with pytest.raises(CheckpointBehind):
        sink.write(1, "x", run="an older checkpoint")
    assert sink.values(3) == "abd"


def test_who_goes_on_from_what_the_topic_has_leaves_out_what_is_behind(
    sink: Sink, caplog: pytest.LogCaptureFixture
) -> None:
    for batch, rows in enumerate(("ab", "cd", "ef")):
        sink.write(batch, *rows)
    sink.options = replace(sink.options, checkpoint_behind=BehindPolicy.LEAVE_OUT)
    for batch in (1, 2, 3):
        sink.write(batch, "x", "y", run="an older checkpoint")
    assert sink.values(8) == "abcdefxy", "the third is new"
    told = [each.args for each in caplog.records if "is left out" in each.msg]
    assert told == [(1, "query"), (2, "query")]


def test_a_batch_that_was_written_to_another_topic_is_not_done(sink: Sink) -> None:
    """Equal rows make no difference: the marks know the topic."""
    sink.write(0, "ab", "ab")
    first, other = sink.topic, sink.topics.new()
    sink.options = replace(sink.options, topic=other)
    with pytest.raises(
        BatchChanged, match=f"was written to {first}:.* and is to be written to {other}:"
    ):
        sink.write(0, "ab", "ab", run="another topic")
    sink.write(1, "cd", "cd", run="another topic")
    assert len(sink.topics.get(other, isolation_level="read_committed")) == 4
    sink.options = replace(sink.options, topic=first)
    with pytest.raises(CheckpointBehind):
        sink.write(0, "ab", "ab", run="the topic of before")


def test_a_topic_that_was_made_anew_is_another_topic(sink: Sink) -> None:
    """Rows that name several topics, of which one is made anew: its rows are gone, the mark stands with the other."""
    gone, kept = sink.topics.new(), sink.topics.new()
    sink.options = replace(sink.options, topic=None)
    rows = pa.RecordBatch.from_pydict({"value": ["a", "b"], "topic": [gone, kept]})
    sink.finish([sink.attempt(0)(0, [rows])])
    sink.topics.admin(lambda admin: admin.delete_topics([gone]))
    sink.topics.create(gone)
    left = sink.attempt(0, "after a restart")(0, [rows])
    with pytest.raises(BatchChanged, match="made anew"):
        sink.finish([left])


CALLS_MAX = 8
STEPS = (
    "init_transactions",
    "begin_transaction",
    "send_batch",
    "flush",
    "send_offsets_to_transaction",
    "hand_over_transaction",
    "take_over_transaction",
    "commit_transaction",
)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_an_attempt_that_ends_anywhere_leaves_each_row_once(
    sink: Sink, monkeypatch: pytest.MonkeyPatch, step: str, moment: str
) -> None:
    """Each call of the step: those of the writers of the first micro-batch of a start, and of what ends them; and in a later micro-batch."""
    written = 0
    for batch in range(0, 2 * CALLS_MAX, 2):
        place = (step, moment, batch // 2)
        first, later = f"start for {batch}", f"start for {batch + 1}"
        was_killed = killed(sink, monkeypatch, place, (batch, "abc", "d"), first)
        sink.write(batch, "abc", "d", run=later)
        if killed(sink, monkeypatch, place, (batch + 1, "ef", "g"), later):
            assert was_killed, "there are fewer calls in a later micro-batch"
        sink.write(batch + 1, "ef", "g", run=f"{later}, again")
        written += 1
        assert sink.values(7 * written) == "".join(sorted("abcdefg" * written))
        if not was_killed:
            break
    assert written > 1, "the step was never done"
    assert not was_killed, "there are more calls than were tried"


def killed(
    sink: Sink,
    monkeypatch: pytest.MonkeyPatch,
    place: tuple[str, str, int],
    attempt: tuple[int, str, str],
    run: str,
) -> bool:
    """Runs an attempt that is killed at a call of the step, and returns whether it came to it."""
    step, moment, calls_before = place
    call: Callable[..., Any] = getattr(Producer, step)
    calls = itertools.count()

    async def interrupted(self: Producer, *given: Any, **named: Any) -> Any:
        is_last = next(calls) == calls_before
        if is_last and moment == "before":
            raise Killed
        result = await call(self, *given, **named)
        if is_last:
            raise Killed
        return result

    batch, *rows = attempt
    with monkeypatch.context() as patched:
        patched.setattr(Producer, step, interrupted)
        # a process that is killed does not abort what it has begun either
        patched.setattr(Connections, "discard_transactional_producer", lambda *_: None)
        try:
            sink.write(batch, *rows, run=run)
        except Killed:
            return True
    return False


LAST_OF_THREE = b"big5"
"""Spark's hash of this key is 2 modulo 3: it is in the last of three Spark partitions, which two cores begin when another has ended."""


class Copy:
    """A stream from topic to topic, exactly once, with a checkpoint."""

    def __init__(self, spark: Any, topics: Any, directory: Path) -> None:
        self.spark, self.topics, self.checkpoint = spark, topics, directory / "checkpoint"
        self.source, self.out = topics.new(partitions=3), topics.new(partitions=2)
        self.broker = {"bootstrap.servers": topics.bootstrap_servers}

    def put(self, first: int, end: int) -> None:
        records = [{"key": b"%d" % n, "value": b"%d" % n} for n in range(first, end)]
        self.topics.put(self.source, records)

    def run(
        self,
        change: Callable[[Any], Any] = lambda rows: rows,
        *,
        per_batch: int = 1000,
        **options: str,
    ) -> None:
        def run() -> None:
            rows = self.spark.readStream.format("millstream").options(
                subscribe=self.source, startingOffsets="earliest", **self.broker
            )
            rows = change(
                rows.option("maxRecordsPerTrigger", per_batch).load().select("key", "value")
            )
            given = {"topic": self.out, "deliveryGuarantee": "exactly-once", **self.broker}
            query = (
                rows.writeStream.format("millstream")
                .options(**given | options)
                .option("checkpointLocation", str(self.checkpoint))
                .trigger(availableNow=True)
                .start()
            )
            assert query.awaitTermination(400)

        started(run)

    def forget_commit(self, checkpoint: Path | None = None) -> None:
        """As a driver does that is killed after the tasks and before it writes Spark's commit log."""
        checkpoint = self.checkpoint if checkpoint is None else checkpoint
        last = max(checkpoint.glob("commits/[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        for checksum in checkpoint.glob("commits/.*.crc"):
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
def test_an_older_checkpoint_that_is_put_back_loses_no_new_rows_without_a_word(copy: Copy) -> None:
    copy.put(0, 30)
    copy.run(per_batch=15)
    shutil.copytree(copy.checkpoint, older := copy.checkpoint.with_name("older"))
    copy.put(30, 50)
    copy.run(per_batch=5)
    shutil.rmtree(copy.checkpoint)
    older.rename(copy.checkpoint)
    copy.put(50, 60)
    with pytest.raises(
        StreamingQueryException, match="checkpointBehind=leave-out leaves out"
    ) as raised:
        copy.run()
    assert "the checkpoint is an older one that was put back" in str(raised.value)
    assert copy.values() == list(range(50)), "nothing is written"
    copy.run(transactionalIdPrefix="new")
    assert copy.values() == sorted([*range(60), *range(30, 50)]), "what the topic had, and again"


@pytest.mark.slow
def test_a_copy_of_a_checkpoint_with_another_topic_is_not_taken_for_done(
    copy: Copy, tmp_path: Path
) -> None:
    """One that is a micro-batch behind, and one of a query that went on."""
    copy.put(0, 20)
    copy.run()
    one, two = tmp_path / "one behind", tmp_path / "two behind"
    shutil.copytree(copy.checkpoint, one)
    shutil.copytree(copy.checkpoint, two)
    copy.forget_commit(two)
    copy.put(20, 30)
    copy.run()
    copy.out = copy.topics.new()
    for checkpoint, match in (
        (one, "it is another topic"),
        (two, "a copy of one whose query went"),
    ):
        copy.checkpoint = checkpoint
        with pytest.raises(StreamingQueryException, match=match):
            copy.run()
        assert copy.values() == []
    copy.run(transactionalIdPrefix="copy")
    assert copy.values() == list(range(30))


@pytest.mark.slow
@pytest.mark.parametrize("other", ["more", "fewer"])
def test_a_half_written_micro_batch_in_other_spark_partitions_is_visible_once(
    copy: Copy, other: str
) -> None:
    """One of its tasks fails when others have committed; then the number of Spark partitions is another one, and is set back."""
    layouts = {"as before": 3, "more": 5, "fewer": 1}

    def rows(layout: str) -> Callable[[Any], Any]:
        return lambda rows: rows.repartition(layouts[layout], "key")

    copy.put(0, 30)
    copy.topics.put(copy.source, [{"key": LAST_OF_THREE, "value": b"1" + b"0" * 3_000}])
    copy.put(30, 60)
    with pytest.raises(StreamingQueryException):
        copy.run(rows("as before"), per_batch=20, **{"kafka.max.request.size": "2000"})
    before = copy.values()
    batches = sorted(int(path.name) for path in copy.checkpoint.glob("commits/[0-9]*"))
    assert batches, "the second micro-batch or a later one fails"
    assert len(before) > 20 * len(batches), "a part of it is visible"
    with pytest.raises(
        StreamingQueryException, match=r"Nothing is written now\. Set back what was"
    ):
        copy.run(rows(other))
    assert copy.values() == before
    copy.run(rows("as before"))
    assert copy.values() == sorted([*range(60), int("1" + "0" * 3_000)])


@pytest.mark.slow
def test_groups_and_transactional_ids_have_the_name_of_the_query(copy: Copy) -> None:
    copy.put(0, 9)
    copy.run()
    query = json.loads((copy.checkpoint / "metadata").read_text())["id"]
    with Admin(bootstrap_servers=copy.topics.bootstrap_servers) as admin:
        names = [group.group_id for group in admin.list_groups()]
    assert {name for name in names if query in name} == {
        f"millstream-{query}-{n}" for n in (0, 1, 2, "start")
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
