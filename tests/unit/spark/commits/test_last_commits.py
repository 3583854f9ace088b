"""What is left to commit when a query has ended."""

from __future__ import annotations

from typing import Any

from millstream.clients import OffsetAndMetadata
from millstream.errors import GroupIdNotFound
from millstream.model import Offset, TopicPartition
from millstream.spark.source.last_commits import last_offsets, moved_forward
from millstream.spark.source.options import SourceOptions, parse_source_options
from millstream.spark.source.report import CommitReport, SourceReport

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
RUN = {"id": "q", "runId": "r", "batchId": 7}


def test_committed_offsets_only_move_forward() -> None:
    completed = {FIRST: OffsetAndMetadata(7, "mine"), SECOND: OffsetAndMetadata(7, "mine")}
    assert moved_forward(completed, {FIRST: OffsetAndMetadata(5)}) == completed
    further = {FIRST: OffsetAndMetadata(8), SECOND: OffsetAndMetadata(7, "not { json")}
    assert moved_forward(completed, further) == {}
    assert moved_forward(completed, {FIRST: GroupIdNotFound("gone")}) == completed


def options(group: str) -> SourceOptions:
    given = {"bootstrap.servers": "localhost:9092", "subscribe": "t", "group.id": group}
    return parse_source_options(given)


def source(group: str | None, end: int) -> dict[str, Any]:
    commits = None if group is None else CommitReport(group, {}, 0, 0)
    return {
        "startOffset": None,
        "endOffset": {"v": 1, "offsets": {"t": {"0": end}}, "topicIds": {"t": "id of t"}},
        "latestOffset": SourceReport({FIRST: Offset(9)}, commits=commits).to_json(),
    }


def test_each_source_that_commits_has_its_own_end() -> None:
    sources = [source("a", 3), source(None, 4), source("b", 5), source("unknown", 6)]
    progress = {**RUN, "durationMs": {"commitOffsets": 2}, "sources": sources}
    a, b = options("a"), options("b")
    metadata = '{"v":1,"queryId":"q","runId":"r","batchId":7,"topicId":"id of t"}'
    assert list(last_offsets(progress, [b, a])) == [
        (a, {FIRST: OffsetAndMetadata(3, metadata)}),
        (b, {FIRST: OffsetAndMetadata(5, metadata)}),
    ]


def test_a_micro_batch_that_is_not_in_the_commit_log_is_not_committed() -> None:
    progress = {**RUN, "durationMs": {}, "sources": [source("a", 3)]}
    assert list(last_offsets(progress, [options("a")])) == []
