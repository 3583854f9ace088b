"""Where a query goes on when records are gone, by policy, and how losses are counted."""

from __future__ import annotations

import logging

import pytest

from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition, Uuid
from millstream.spark.source.data_loss import (
    DataLossPolicy,
    LogBounds,
    Loss,
    made_anew,
    parse_data_loss,
    position_loss,
    range_loss,
)
from millstream.spark.source.loss_counts import LossCounts
from millstream.streams.runtime.errors import DataLoss

FAIL, EARLIEST, LATEST, SKIP = DataLossPolicy
T0 = TopicPartition("t", 0)
LOG = LogBounds(Offset(50), Offset(100))


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("true", FAIL),
        ("Fail", FAIL),
        ("false", EARLIEST),
        (" earliest ", EARLIEST),
        ("latest", LATEST),
        ("skip", SKIP),
    ],
)
def test_a_policy_is_a_word_or_what_sparks_connector_takes(
    text: str, policy: DataLossPolicy
) -> None:
    assert parse_data_loss(text) is policy


@pytest.mark.parametrize("text", ["", "yes", "never"])
def test_another_word_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="failOnDataLoss must be true or fail"):
        parse_data_loss(text)


@pytest.mark.parametrize("position", [50, 70, 100])
def test_a_position_in_the_log_is_no_loss(position: int) -> None:
    assert position_loss(T0, Offset(position), LOG, FAIL) is None


@pytest.mark.parametrize(("policy", "next_offset"), [(EARLIEST, 50), (LATEST, 100), (SKIP, 50)])
def test_behind_what_retention_took(policy: DataLossPolicy, next_offset: int) -> None:
    loss = position_loss(T0, Offset(20), LOG, policy)
    assert loss is not None
    assert (loss.records, loss.next_offset) == (30, next_offset)


@pytest.mark.parametrize(("policy", "next_offset"), [(EARLIEST, 50), (LATEST, 100), (SKIP, 100)])
def test_a_log_that_was_cut_is_read_again_only_with_earliest(
    policy: DataLossPolicy, next_offset: int
) -> None:
    loss = position_loss(T0, Offset(130), LOG, policy)
    assert loss is not None
    assert (loss.records, loss.next_offset) == (None, next_offset)


@pytest.mark.parametrize(
    ("policy", "start", "end", "records", "next_offset"),
    [
        (EARLIEST, 20, 70, 30, 50),
        (SKIP, 20, 70, 30, 50),
        (LATEST, 20, 70, 30, 70),
        (EARLIEST, 20, 40, 20, 40),
        (SKIP, 20, 40, 20, 40),
        (EARLIEST, 120, 130, 10, 130),
        (EARLIEST, 130, 70, None, 50),
        (SKIP, 130, 70, None, 70),
        (LATEST, 130, 70, None, 70),
    ],
)
def test_a_range_is_read_from_what_is_left_to_its_end(
    policy: DataLossPolicy, start: int, end: int, records: int | None, next_offset: int
) -> None:
    loss = range_loss(T0, Offset(start), Offset(end), LOG, policy)
    assert loss is not None
    assert (loss.records, loss.next_offset) == (records, next_offset)


@pytest.mark.parametrize(("start", "end"), [(50, 100), (60, 61), (10, 10), (130, 130)])
def test_a_range_that_is_there_or_empty_is_no_loss(start: int, end: int) -> None:
    assert range_loss(T0, Offset(start), Offset(end), LOG, FAIL) is None


def test_failing_names_partition_offsets_log_and_the_way_out() -> None:
    for sentence in (r"offsets 20 to 50 of t-0 .* holds 50 to 100", r"failOnDataLoss=earliest"):
        with pytest.raises(DataLoss, match=sentence):
            position_loss(T0, Offset(20), LOG, FAIL)
    with pytest.raises(DataLoss, match=r"offsets 20 to 70 of t-0 .* holds 50 to 100"):
        range_loss(T0, Offset(20), Offset(70), LOG, FAIL)
    with pytest.raises(DataLoss, match="t-0 was read up to offset 130 and now ends at 100"):
        position_loss(T0, Offset(130), LOG, FAIL)


def test_each_loss_is_counted_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    counts = LossCounts()
    first = Loss(T0, "offsets 20 to 50 of t-0 are gone", 30, Offset(50))
    with caplog.at_level(logging.WARNING):
        for loss in (first, first, first._replace(records=5, next_offset=Offset(60))):
            counts.add(loss, EARLIEST)
    assert (counts.losses, counts.records) == ({T0: 2}, {T0: 35})
    named = [record.getMessage() for record in caplog.records]
    assert len(named) == 2
    assert named[0] == (
        "offsets 20 to 50 of t-0 are gone; 30 records lost, going on at offset 50 (failOnDataLoss=earliest). "
        "Losses of t-0 so far: 1, of 30 records"
    )
    assert named[1].endswith("Losses of t-0 so far: 2, of 35 records")


def test_a_topic_that_was_created_anew_is_another_one() -> None:
    former, other = Uuid(bytes([1] * 16)), Uuid(bytes([2] * 16))
    known = {"t": str(former), "gone": str(other)}
    assert made_anew(known, {"t": former}) == set()
    assert made_anew(known, {"t": other, "new": former}) == {"t"}
    assert made_anew({}, {"t": other}) == set()
