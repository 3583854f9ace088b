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


def test_committed_offsets_only_move_forward() -> None:
    completed = {FIRST: Offset(7), SECOND: Offset(7)}
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
        "endOffset": {"v": 1, "offsets": {"t": {"0": end}}},
        "latestOffset": SourceReport({FIRST: Offset(9)}, commits=commits).to_json(),
    }


def test_each_source_that_commits_has_its_own_end() -> None:
    sources = [source("a", 3), source(None, 4), source("b", 5), source("unknown", 6)]
    progress = {"durationMs": {"commitOffsets": 2}, "sources": sources}
    a, b = options("a"), options("b")
    assert list(last_offsets(progress, [b, a])) == [
        (a, {FIRST: Offset(3)}),
        (b, {FIRST: Offset(5)}),
    ]


def test_a_micro_batch_that_is_not_in_the_commit_log_is_not_committed() -> None:
    progress = {"durationMs": {}, "sources": [source("a", 3)]}
    assert list(last_offsets(progress, [options("a")])) == []
