"""Metrics of a query out of its progress, and their forms."""

from __future__ import annotations

import json
from typing import Any

from millstream.model import Offset, TopicPartition
from millstream.spark.offsets import Offsets
from millstream.spark.query_metrics.progress import RunCounts, completed_offsets, query_metrics
from millstream.spark.query_metrics.prometheus import exposition
from millstream.spark.query_metrics.values import (
    QueryMetrics,
    SourcePartitionMetrics,
    SourceTopicMetrics,
)
from millstream.spark.source.positions import ChosenOffset
from millstream.spark.source.report import CommitReport, SourceReport

NOW_MS = 1_800_000_000_000


def at(*numbers: int) -> Offsets:
    """Offsets of the partitions of topic t, in their order."""
    return {TopicPartition("t", number): Offset(each) for number, each in enumerate(numbers)}


def offsets(*numbers: int) -> dict[str, Any]:
    return {"v": 1, "offsets": {"t": {str(number): each for number, each in enumerate(numbers)}}}


def progress(**changes: Any) -> dict[str, Any]:
    """Two partitions that hold 2..100 and 0..10; 60 and 10 are read, and 50 and 10 committed."""
    report = SourceReport(
        latest=at(100, 10),
        earliest=at(2, 0),
        started={TopicPartition("t", 0): ChosenOffset(Offset(2), "earliest")},
        commits=CommitReport("g", at(50, 10), 7, 1),
    )
    source = {
        "startOffset": offsets(50, 10),
        "endOffset": offsets(60, 10),
        "latestOffset": json.loads(json.dumps(report.to_json())),
        "numInputRows": 10,
    }
    document: dict[str, Any] = {
        "id": "q", "runId": "r", "name": "orders", "batchId": 4, "timestamp": "2027-01-15T08:00:00.000Z",
        "durationMs": {"addBatch": 3, "commitOffsets": 5}, "eventTime": {}, "sources": [source | changes.pop("source", {})],
    }  # fmt: skip
    return document | changes


def metrics(**changes: Any) -> QueryMetrics:
    document = progress(**changes)
    return query_metrics(document, RunCounts().after(document, NOW_MS - 1_500), NOW_MS)


def test_lag_is_what_lies_between_what_is_completed_and_the_end_of_the_log() -> None:
    (source,) = metrics().sources
    assert source.partitions[TopicPartition("t", 0)] == SourcePartitionMetrics(
        earliest_time_offset=2,
        latest_time_offset=100,
        latest_emitted_offset=60,
        latest_completed_offset=60,
        spout_lag=40,
        records_in_partition=98,
        current_offset=59,
        committed_offset=50,
        started_at=2,
        started_because="earliest",
    )
    assert source.topics == {"t": SourceTopicMetrics(2, 110, 70, 70, 40, 108)}
    assert (source.pending_records, source.commits_succeeded, source.commits_failed) == (40, 7, 1)
    assert (source.group_id, source.source_idle_time_ms) == ("g", 1_500)


def test_a_micro_batch_that_is_not_in_the_commit_log_is_lag() -> None:
    (source,) = metrics(durationMs={"addBatch": 3}).sources
    first = source.partitions[TopicPartition("t", 0)]
    assert (first.latest_emitted_offset, first.latest_completed_offset) == (60, 50)
    assert (first.spout_lag, source.pending_records) == (50, 40)


def test_rows_add_up_over_the_micro_batches_of_a_run() -> None:
    first = RunCounts().after(progress(sink={"numOutputRows": 9}), 1_000)
    assert first == RunCounts((10,), (1_000,), 9)
    idle = first.after(progress(source={"numInputRows": 0}, sink={"numOutputRows": 0}), 2_000)
    assert idle == RunCounts((10,), (1_000,), 9)
    second = idle.after(progress(sink={"numOutputRows": 8}), 3_000)
    assert second == RunCounts((20,), (3_000,), 17)
    not_counted = RunCounts().after(progress(sink={"numOutputRows": -1}), 1_000)
    assert not_counted.records_sent is None
    assert query_metrics(progress(), second, 3_500).num_records_send == 17


def test_a_sum_over_a_partition_that_is_not_known_is_not_known() -> None:
    report = SourceReport(latest=at(100)).to_json()
    (source,) = metrics(source={"latestOffset": report}).sources
    gone = source.partitions[TopicPartition("t", 1)]
    assert (gone.latest_time_offset, gone.spout_lag, gone.earliest_time_offset) == (None,) * 3
    assert source.topics["t"] == SourceTopicMetrics(None, None, 70, 70, None, None)
    assert (source.pending_records, source.commits_failed, source.group_id) == (None,) * 3


def test_metrics_are_of_the_partitions_that_are_read_now() -> None:
    (source,) = metrics(source={"endOffset": offsets(60)}).sources
    assert list(source.partitions) == [TopicPartition("t", 0)]
    assert source.topics["t"].total_spout_lag == 40


def test_sources_of_other_formats_and_of_planners_that_could_not_look_have_no_metrics() -> None:
    for report in (None, 12, {"t": {"0": 3}}, {"v": 9, "offsets": {}}, {"v": 1, "commits": {}}):
        assert metrics(source={"latestOffset": report}).sources == ()


def test_the_lag_of_a_watermark_is_its_distance_from_now() -> None:
    assert metrics().watermark_lag_ms is None
    assert metrics(eventTime={"watermark": "1970-01-01T00:00:00.000Z"}).watermark_lag_ms is None
    late = metrics(eventTime={"watermark": "2027-01-15T07:59:58.000Z"})
    assert late.watermark_lag_ms == 2_000
    far = metrics(eventTime={"watermark": "+55868-04-25T19:06:40.000Z"})
    assert far.watermark_lag_ms is None


def test_json_has_the_names_of_storm_and_flink_and_leaves_out_what_is_not_known() -> None:
    document = metrics(
        source={"latestOffset": SourceReport(latest=at(100, 10)).to_json()}
    ).to_json()
    assert document == {
        "queryId": "q", "runId": "r", "name": "orders", "batchId": 4, "timestamp": "2027-01-15T08:00:00.000Z",
        "sources": [
            {"pendingRecords": 40, "numRecordsIn": 10, "sourceIdleTime": 1_500, "topics": {"t": {
                "totalLatestTimeOffset": 110, "totalLatestEmittedOffset": 70, "totalLatestCompletedOffset": 70, "totalSpoutLag": 40,
                "partitions": {
                    "0": {"latestTimeOffset": 100, "latestEmittedOffset": 60, "latestCompletedOffset": 60, "spoutLag": 40, "currentOffset": 59},
                    "1": {"latestTimeOffset": 10, "latestEmittedOffset": 10, "latestCompletedOffset": 10, "spoutLag": 0, "currentOffset": 9},
                },
            }}}
        ],
    }  # fmt: skip


def test_prometheus_has_a_sample_for_each_number_that_is_known() -> None:
    lines = exposition([metrics(name='a "b"')]).splitlines()
    query = 'query="a \\"b\\"",query_id="q"'
    assert f'millstream_spark_spout_lag{{{query},source="0",topic="t",partition="0"}} 40' in lines
    assert f'millstream_spark_total_spout_lag{{{query},source="0",topic="t"}} 40' in lines
    assert f'millstream_spark_commits_failed_total{{{query},source="0"}} 1' in lines
    assert f'millstream_spark_source_idle_time_ms{{{query},source="0"}} 1500' in lines
    assert not [line for line in lines if "watermark" in line or "because" in line]
    assert exposition([]) == ""


def test_what_is_completed_is_the_start_until_the_commit_log_has_the_end() -> None:
    done = progress()
    assert completed_offsets(done, done["sources"][0]) == at(60, 10)
    under_way = progress(durationMs={})
    assert completed_offsets(under_way, under_way["sources"][0]) == at(50, 10)
    first = progress(durationMs={}, source={"startOffset": None})
    assert completed_offsets(first, first["sources"][0]) == {}
