"""Metrics of a query against what Kafka itself says, and the commit of the last micro-batch of a query that is stopped."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from millstream.clients.admin import OffsetSpec
from millstream.clients.blocking import Admin, Consumer
from millstream.clients.core.values import OffsetAndMetadata
from millstream.model import TopicPartition
from millstream.spark.query_metrics.listener import QueryMetricsListener
from millstream.spark.query_metrics.server import MetricsServer
from millstream.spark.query_metrics.topic import MetricsTopic
from millstream.spark.query_metrics.values import QueryMetrics
from millstream.spark.source.last_commits import commit_forward
from millstream.spark.source.offset_commits import OffsetCommits
from millstream.spark.source.options import SourceOptions, parse_source_options
from millstream.spark.source.report import SourceReport, report_from_json
from millstream.spark.source.stream_reader import StreamReader
from tests.integration.spark.formats.checkpoints import OffsetsOf
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.late_workers import started

pytestmark = pytest.mark.spark


@pytest.fixture
def admin(topics: Any) -> Iterator[Admin]:
    with Admin(bootstrap_servers=topics.bootstrap_servers) as made:
        yield made


def options(topics: Any, topic: str, **more: str) -> SourceOptions:
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    return parse_source_options(given | {"pollTimeoutMs": "50"} | more)


def offsets(topic: str, *numbers: int) -> dict[str, Any]:
    return {"v": 1, "offsets": {topic: {str(p): offset for p, offset in enumerate(numbers)}}}


def filled(topics: Any) -> str:
    """Ten records in each of two partitions."""
    topic = topics.new(partitions=2)
    topics.put(topic, [{"value": b"%d" % n, "partition": n % 2} for n in range(20)])
    return str(topic)


def reported(reader: StreamReader) -> SourceReport:
    found = reader.reportLatestOffset()
    assert found is not None
    return report_from_json(json.loads(json.dumps(found)))


def group_offsets(admin: Admin, group: str) -> dict[TopicPartition, int]:
    found = admin.list_consumer_group_offsets([group]).result(group)
    return {tp: each.offset for tp, each in found.items() if isinstance(each, OffsetAndMetadata)}


def test_a_planner_reports_the_logs_and_where_it_began(topics: Any, admin: Admin) -> None:
    topic = filled(topics)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    admin.delete_records({first: 3}).raise_errors()
    reader = StreamReader(options(topics, topic, startingOffsets="earliest"))
    reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    report = reported(reader)
    assert report.latest == {first: 10, second: 10}
    assert report.earliest == {first: 3, second: 0}
    assert report.started == {first: (3, "earliest"), second: (0, "earliest")}
    assert report.commits is None


def test_a_query_that_goes_on_reports_its_checkpoint_and_what_it_has_committed(
    topics: Any, admin: Admin
) -> None:
    topic = filled(topics)
    group = f"group of {topic}"
    reader = StreamReader(options(topics, topic, **{"group.id": group}))

    def commits() -> int:
        reader.latestOffset(offsets(topic, 4, 6), ReadAllAvailable())
        found = reported(reader).commits
        return 0 if found is None else found.succeeded

    wait_until(lambda: commits() == 1)
    report = reported(reader)
    assert report.commits is not None
    assert set(report.started.values()) == {(4, "checkpoint"), (6, "checkpoint")}
    assert (report.commits.group_id, report.commits.failed) == (group, 0)
    assert report.commits.offsets == group_offsets(admin, group)


def test_a_commit_does_not_wait_for_the_trigger_after_the_next(
    topics: Any, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = filled(topics)
    group = f"group of {topic}"
    monkeypatch.setattr(OffsetCommits, "patience_s", LONG_ENOUGH_S)
    reader = StreamReader(options(topics, topic, **{"group.id": group, "pollTimeoutMs": "0"}))
    reader.latestOffset(offsets(topic, 0, 0), ReadAllAvailable())
    reader.latestOffset(offsets(topic, 4, 6), ReadAllAvailable())
    assert group_offsets(admin, group) == {TopicPartition(topic, 0): 4, TopicPartition(topic, 1): 6}


def test_commits_that_the_coordinator_refuses_are_counted_and_end_nothing(
    topics: Any, caplog: pytest.LogCaptureFixture
) -> None:
    topic = filled(topics)
    group = f"group of {topic}"
    given = options(topics, topic, **{"group.id": group})
    reader = StreamReader(given)
    member = Consumer(
        bootstrap_servers=topics.bootstrap_servers, group_id=group, auto_offset_reset="earliest"
    )

    def failed() -> int:
        end = reader.latestOffset(offsets(topic, 4, 6), ReadAllAvailable())
        assert end == OffsetsOf(topic, 10, 10)
        found = reported(reader).commits
        return 0 if found is None else found.failed

    with member, caplog.at_level(logging.WARNING):
        member.subscribe([topic])
        assert member.poll(timeout_ms=LONG_ENOUGH_S * 1000)
        wait_until(lambda: failed() >= 2)
        commit_forward(given, {TopicPartition(topic, 0): OffsetAndMetadata(7)})
    assert f"the last micro-batch of a query was not committed in group {group}" in caplog.text


def test_workers_write_the_latencies_of_fetches_into_a_topic(
    topics: Any, caplog: pytest.LogCaptureFixture
) -> None:
    topic, fetches = filled(topics), topics.new("fetches")
    for metrics_topic in (fetches, "no/such topic"):
        given = options(topics, topic, metricsTopic=metrics_topic, metricsIntervalMs="1")
        reader = StreamReader(given)
        for piece in reader.partitions(offsets(topic, 0, 0), offsets(topic, 10, 10)):
            assert sum(rows.num_rows for rows in reader.read(piece)) == 10
    assert "fetch metrics did not get into topic no/such topic" in caplog.text
    documents = [json.loads(each["value"]) for each in topics.get(fetches)]
    found = {
        (number, counts["fetchAPIMessageCount"])
        for each in documents
        for number, counts in each["topics"][topic].items()
    }
    assert found == {("0", 10), ("1", 10)}


@pytest.mark.slow
def test_metrics_of_a_query_are_those_that_kafka_gives_and_its_last_micro_batch_is_committed(
    spark: Any, topics: Any, admin: Admin, tmp_path: Path
) -> None:
    topic, metrics_topic = filled(topics), topics.new("metrics")
    group = f"group of {topic}"
    partitions = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    rows = spark.readStream.format("millstream").options(
        subscribe=topic,
        startingOffsets="earliest",
        maxRecordsPerTrigger="8",
        sliceByTimestamp="false",
        **{"bootstrap.servers": topics.bootstrap_servers, "group.id": group},
    )

    def query(**trigger: Any) -> Any:
        sink = rows.load().writeStream.format("noop").queryName("told").trigger(**trigger)
        return sink.option("checkpointLocation", str(tmp_path)).start()

    told: list[QueryMetrics] = []
    into_topic = MetricsTopic(metrics_topic, bootstrap_servers=topics.bootstrap_servers)
    listener = QueryMetricsListener(into_topic, told.append, lambda _: 1 // 0)
    spark.streams.addListener(listener)
    server = MetricsServer(listener.prometheus)
    try:

        def first_micro_batch() -> Any:
            running = query(processingTime="1 hour")
            wait_until(lambda: bool(listener.metrics()) or running.exception() is not None)
            if running.exception() is not None:
                raise running.exception()
            return running

        running = started(first_micro_batch)
        (metrics,) = listener.metrics()
        (source,) = metrics.sources
        ends = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
        starts = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.EARLIEST))
        for tp in partitions:
            found = source.partitions[tp]
            assert found.latest_time_offset == ends.result(tp).offset == 10
            assert found.earliest_time_offset == starts.result(tp).offset == 0
            assert (found.latest_completed_offset, found.spout_lag) == (4, 6)
            assert (found.started_at, found.started_because) == (0, "earliest")
        assert (metrics.name, metrics.batch_id, source.pending_records) == ("told", 0, 12)
        assert source.topics[topic].total_spout_lag == 12
        text = urlopen(server.url).read().decode()
        assert (
            f'millstream_spark_total_spout_lag{{query="told",query_id="{metrics.query_id}"' in text
        )
        with pytest.raises(HTTPError, match="404"):
            urlopen(server.url.replace("/metrics", "/"))
        assert group_offsets(admin, group) in ({}, dict.fromkeys(partitions, 0))

        running.stop()
        wait_until(lambda: group_offsets(admin, group) == dict.fromkeys(partitions, 4))
        committed = admin.list_consumer_group_offsets([group]).result(group).result(partitions[0])
        assert json.loads(committed.metadata) == {
            "v": 1, "queryId": metrics.query_id, "runId": metrics.run_id, "batchId": 0,
            "topicId": str(admin.list_topics()[topic].topic_id),
        }  # fmt: skip

        started(lambda: query(availableNow=True).awaitTermination(400))
        wait_until(lambda: group_offsets(admin, group) == dict.fromkeys(partitions, 10))
        wait_until(lambda: told[-1].sources[0].topics[topic].total_spout_lag == 0)
        wait_until(lambda: listener.metrics() == [])
        into_topic.close()
        last = told[-1].sources[0]
        assert {each.started_because for each in last.partitions.values()} == {"checkpoint"}
        records = topics.get(metrics_topic)
        assert [json.loads(each["value"]) for each in records] == [each.to_json() for each in told]
        assert {each["key"] for each in records} == {metrics.query_id.encode()}
        assert (into_topic.failed, listener.outlets_failed) == (0, len(told))
    finally:
        spark.streams.removeListener(listener)
        server.close()
