"""Sources and sinks on Spark whose users lack a permission on Apache Kafka: the query ends with the resource and what to allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.compat.permissions.users import (
    Allowed,
    KafkaWithUsers,
    describe_topic,
    read_groups,
    read_topic,
    write_topic,
    write_transactions,
)
from tests.oracle.clients.kafka_cluster import is_available
from tests.support.late_workers import started

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not is_available(), reason="needs Java and MILLSTREAM_KAFKA_CLASSPATH, where the jars are"
    ),
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]

RECORDS = 5
PATIENCE_S = 400
NO_OPTIONS: Mapping[str, str] = {}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from millstream.spark import SparkOptions, configure

    session = configure(SparkOptions(master="local[2]", short_lived=True))
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def options(settings: Mapping[str, str]) -> dict[str, str]:
    """Those of the format for a client with these settings."""
    return {f"kafka.{name.replace('_', '.')}": value for name, value in settings.items()}


class Copy:
    """A query that copies a topic to another one, as two users."""

    def __init__(self, spark: Any, kafka: KafkaWithUsers, checkpoint: Path) -> None:
        self.spark, self.kafka, self.checkpoint = spark, kafka, checkpoint
        self.source, self.out = kafka.new_topic(RECORDS), kafka.new_topic()
        self.reader, self.writer = kafka.admin_settings, kafka.admin_settings

    def reads_as(self, *allowed: Allowed) -> None:
        self.reader = self.kafka.user(*allowed)

    def writes_as(self, *allowed: Allowed) -> None:
        self.writer = self.kafka.user(*allowed)

    def stream(
        self, reading: Mapping[str, str] = NO_OPTIONS, writing: Mapping[str, str] = NO_OPTIONS
    ) -> None:
        rows = (
            self.spark.readStream.format("millstream")
            .options(subscribe=self.source, startingOffsets="earliest", **options(self.reader))
            .options(**reading)
            .load()
        )

        def run() -> None:
            query = (
                rows.select("value")
                .writeStream.format("millstream")
                .options(topic=self.out, **options(self.writer), **writing)
                .option("checkpointLocation", str(self.checkpoint))
                .trigger(availableNow=True)
                .start()
            )
            try:
                assert query.awaitTermination(PATIENCE_S), "it goes on for ever"
            finally:
                query.stop()

        started(run)

    def read(self) -> int:
        reading = self.spark.read.format("millstream").options(**options(self.reader))
        return int(reading.option("subscribe", self.source).load().count())

    def write(self, **more: str) -> None:
        rows = self.spark.range(3).selectExpr("CAST(id AS string) AS value")
        sink = rows.write.format("millstream").options(**options(self.writer), **more)
        sink.option("topic", self.out).mode("append").save()

    def is_refused(self, guarantee: str, sentence: str) -> None:
        """Asserts that a write and a query end with it, and that readers see nothing of either."""
        with pytest.raises(Exception, match=sentence):  # Spark has classes of its own
            self.write(**writing(guarantee))
        with pytest.raises(Exception, match=sentence):
            self.stream(writing=writing(guarantee))
        assert self.written() == 0

    def written(self) -> int:
        return int(
            self.spark.read.format("millstream")
            .options(**options(self.kafka.admin_settings), subscribe=self.out)
            .option("kafka.isolation.level", "read_committed")
            .load()
            .count()
        )


@pytest.fixture
def copy(spark: Any, kafka: KafkaWithUsers, tmp_path: Path) -> Copy:
    return Copy(spark, kafka, tmp_path)


def writing(guarantee: str) -> dict[str, str]:
    prefix = {"transactionalIdPrefix": "copy"} if guarantee == "exactly-once" else {}
    return {"deliveryGuarantee": guarantee, **prefix}


def refusal(kind: str, subject: str, operation: str) -> str:
    """A pattern of the sentence, wherever it stands in what Spark says."""
    return (
        rf"{kind}AuthorizationFailed: .*{subject}.*: Not authorized .*its user needs .*{operation}"
    )


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_source_that_may_not_read_its_topic(copy: Copy, *, is_seen: bool) -> None:
    copy.reads_as(*([describe_topic(copy.source)] if is_seen else []))
    sentence = refusal("Topic", copy.source, "READ")
    with pytest.raises(Exception, match=sentence):  # Spark has classes of its own
        copy.read()
    with pytest.raises(Exception, match=sentence):
        copy.stream()
    assert copy.written() == 0


def test_a_source_that_may_read_its_topic_needs_no_group(copy: Copy) -> None:
    copy.reads_as(read_topic(copy.source))
    assert copy.read() == RECORDS
    copy.stream()
    assert copy.written() == RECORDS


@pytest.mark.parametrize(
    "reading", [{"startingOffsets": "committed:earliest"}, {"offsetCommitMode": "at_most_once"}]
)
def test_a_source_that_depends_on_a_group_that_is_not_its_own(
    copy: Copy, reading: dict[str, str]
) -> None:
    copy.reads_as(read_topic(copy.source))
    with pytest.raises(Exception, match=refusal("Group", "hers", "READ")):
        copy.stream({"group.id": "hers", **reading})
    assert copy.written() == 0


def test_a_source_that_only_tells_a_group_goes_on_without(copy: Copy) -> None:
    copy.reads_as(read_topic(copy.source))
    copy.stream({"group.id": "hers"})
    assert copy.written() == RECORDS


@pytest.mark.parametrize("is_seen", [True, False])
@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_a_sink_that_may_not_write_to_its_topic(
    copy: Copy, guarantee: str, *, is_seen: bool
) -> None:
    elsewhere = write_topic(copy.kafka.new_topic())  # who may write nowhere gets no producer id
    seen = [describe_topic(copy.out)] if is_seen else []
    copy.writes_as(elsewhere, write_transactions("copy"), read_groups("copy"), *seen)
    copy.is_refused(guarantee, refusal("Topic", copy.out, "WRITE"))


EXACTLY_ONCE = {
    "its topic, for reading": ("Topic", "in group 'copy-", "READ"),
    "its transactional ids": ("TransactionalId", "transactional id 'copy-", "WRITE"),
    "its groups": ("Group", "copy-", "READ"),
}


@pytest.mark.parametrize("lacking", EXACTLY_ONCE)
def test_an_exactly_once_sink_that_lacks_one_thing(copy: Copy, lacking: str) -> None:
    allowed = {
        "its topic, for reading": read_topic(copy.out),
        "its transactional ids": write_transactions("copy"),
        "its groups": read_groups("copy"),
    }
    rest = [each for name, each in allowed.items() if name != lacking]
    copy.writes_as(write_topic(copy.out), *rest)
    copy.is_refused("exactly-once", refusal(*EXACTLY_ONCE[lacking]))


def test_an_exactly_once_sink_with_all_that_the_guide_names(copy: Copy) -> None:
    copy.writes_as(
        write_topic(copy.out), read_topic(copy.out), write_transactions("copy"), read_groups("copy")
    )
    copy.stream(writing=writing("exactly-once"))
    assert copy.written() == RECORDS


def test_a_sink_that_may_write_to_its_topic_needs_nothing_else(copy: Copy) -> None:
    copy.writes_as(write_topic(copy.out))
    copy.stream()
    assert copy.written() == RECORDS
