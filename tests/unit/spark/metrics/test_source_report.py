"""What a planner reports of itself in the progress of its query."""

from __future__ import annotations

import json

import pytest

from millstream.errors import RequestTimedOut
from millstream.model import Offset, TopicPartition
from millstream.spark.offsets import Offsets
from millstream.spark.source.positions import EARLIEST, LATEST, ChosenOffset
from millstream.spark.source.report import CommitReport, SourceReport, report_from_json
from millstream.spark.source.reporting import Reporting


def at(*numbers: int) -> Offsets:
    """Offsets of the partitions of topic t, in their order."""
    return {TopicPartition("t", number): Offset(each) for number, each in enumerate(numbers)}


def test_a_report_is_read_as_it_was_written() -> None:
    report = SourceReport(
        latest=at(5, 6),
        earliest=at(1, 2),
        started={
            TopicPartition("t", 0): ChosenOffset(Offset(3), "checkpoint"),
            TopicPartition("t", 1): ChosenOffset(Offset(2), "committed"),
        },
        commits=CommitReport("g", at(4), 2, 0),
    )
    assert report_from_json(json.loads(json.dumps(report.to_json()))) == report
    assert report_from_json(SourceReport(at(1)).to_json()) == SourceReport(at(1))


def test_the_first_word_on_the_start_of_a_partition_counts() -> None:
    reporting = Reporting()
    reporting.note_starts({TopicPartition("t", 0): ChosenOffset(Offset(3), "committed")})
    reporting.note_starts_at(at(8, 0), "checkpoint")
    found = reporting.report(lambda _: at(9, 9), None, 0)
    assert found is not None
    assert found["started"] == [
        {"because": "committed", "offsets": {"t": {"0": 3}}},
        {"because": "checkpoint", "offsets": {"t": {"1": 0}}},
    ]


def test_a_report_looks_up_only_what_planning_did_not() -> None:
    asked = []

    def look_up(position: Offset) -> Offsets:
        asked.append(position)
        return at(1)

    reporting = Reporting()
    reporting.set_ends(at(9))
    first = reporting.report(look_up, None, 0)
    assert first is not None
    assert (first["offsets"], first["earliest"]) == ({"t": {"0": 9}}, {"t": {"0": 1}})
    reporting.set_ends(at(10))
    assert reporting.report(look_up, None, 9_999) is not None
    assert asked == [EARLIEST]
    assert reporting.report(look_up, None, 10_000) is not None
    assert asked == [EARLIEST, LATEST, EARLIEST]


def test_a_look_up_that_fails_leaves_the_report_out(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Offset) -> Offsets:
        raise RequestTimedOut("no answer within 60 s")

    reporting = Reporting()
    reporting.set_ends(at(9))
    assert reporting.report(fail, None, 0) is None
    assert "the progress of the query lacks its metrics, for the 1. time: no answer" in caplog.text
