"""Watermarks of partitions, their idleness and alignment, and the limits of a micro-batch, by example."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

import pytest
from pyspark.sql.types import StructType

from millstream.clients import ConsumerRecord
from millstream.clients.consumer.core.fetched import BatchSummary
from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.runtime.interfaces import Instant
from millstream.spark.data_source import MillstreamSource
from millstream.spark.source.event_time.cutting import aligned, whole_batches, within_bytes
from millstream.spark.source.event_time.options import (
    EventTimeOptions,
    WatermarkMode,
    parse_event_time,
    require_batch_options,
)
from millstream.spark.source.event_time.planner import BatchBounds, MicroBatchPlanner
from millstream.spark.source.event_time.watermarks import (
    EventTime,
    Idleness,
    advanced_time,
    event_time_of,
    to_document,
)

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
OTHER = TopicPartition("u", 0)
NOBODY: frozenset[TopicPartition] = frozenset()
NOW_MS = 1_000_000


def no_watermark(_record: ConsumerRecord) -> None:
    """A function that brings none."""


FUNCTION = f"{__name__}:no_watermark"
PUNCTUATED = {"watermark": "punctuated", "watermarkfunction": FUNCTION}


def batches(*times: int | None, size: int = 100) -> list[BatchSummary]:
    """One record each, at offsets from 0."""
    return [BatchSummary(at, at, size, time) for at, time in enumerate(times)]


def counts(taken: dict[TopicPartition, list[BatchSummary]]) -> dict[TopicPartition, int]:
    return {tp: len(mine) for tp, mine in taken.items()}


def test_the_slowest_partition_is_the_watermark() -> None:
    first = advanced_time(EventTime(), {A: 9_000, B: 4_000}, {A, B}, NOBODY, 500)
    assert first == EventTime(3_500, {A: 9_000, B: 4_000})
    assert advanced_time(first, {A: 20_000}, {A, B}, NOBODY, 500).watermark == 3_500
    assert advanced_time(first, {B: 6_000}, {A, B}, NOBODY, 500).watermark == 5_500


def test_a_partition_without_a_record_keeps_the_query_without_a_watermark() -> None:
    first = advanced_time(EventTime(), {A: 9_000}, {A, B}, NOBODY, 0)
    assert first == EventTime(None, {A: 9_000})
    assert advanced_time(first, {A: 9_500}, {A, B}, frozenset({B}), 0).watermark == 9_500


def test_an_ended_partition_is_idle_at_once_and_never_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    planner = MicroBatchPlanner(EventTimeOptions(mode=WatermarkMode.PERIODIC, idle_timeout_ms=0))
    start, end = {A: Offset(3), B: Offset(0)}, {A: Offset(3), B: Offset(1)}
    bounds = BatchBounds(start, end, end, {A: Offset(9), B: Offset(1)}, frozenset({A}))
    before = EventTime(5, {A: 5, B: 7})
    planned = planner.planned(bounds, lambda _: {B: batches(9_000)}, Instant(0, 0))
    assert planned.end == end
    assert planner.event_time(before, planned, {}) == EventTime(9_000, {A: 5, B: 9_000})
    assert "idleTimeout" not in caplog.text


def test_a_partition_that_was_idle_takes_part_again_and_nothing_goes_back() -> None:
    ahead = advanced_time(EventTime(5, {A: 5, B: 5}), {A: 9_000}, {A, B}, frozenset({B}), 0)
    assert ahead.watermark == 9_000
    back = advanced_time(ahead, {A: 12_000, B: 6_000}, {A, B}, NOBODY, 0)
    assert back == EventTime(9_000, {A: 12_000, B: 6_000})
    assert advanced_time(back, {B: 10_000}, {A, B}, NOBODY, 0).watermark == 10_000


def test_a_new_partition_holds_the_watermark_and_one_that_is_gone_does_not() -> None:
    before = EventTime(5_000, {A: 5_000})
    assert advanced_time(before, {A: 8_000}, {A, B}, NOBODY, 0).watermark == 5_000
    two = EventTime(1_000, {A: 5_000, B: 1_000})
    assert advanced_time(two, {A: 8_000}, {A}, NOBODY, 0) == EventTime(8_000, {A: 8_000})


def test_a_topic_that_was_made_anew_holds_the_watermark_until_it_has_had_a_record() -> None:
    before = EventTime(5_000, {A: 5_000, OTHER: 9_000})
    forgotten = before.without({OTHER.topic})
    assert forgotten == EventTime(5_000, {A: 5_000})
    assert advanced_time(forgotten, {A: 8_000}, {A, OTHER}, NOBODY, 0).watermark == 5_000
    assert before.without(()) == before


def test_idle_is_who_is_at_the_end_for_the_time_out() -> None:
    idleness = Idleness(30)
    at_end = {A: Offset(7), B: Offset(3)}
    assert idleness.idle(at_end, at_end, 100) == NOBODY
    assert idleness.idle({A: Offset(7), B: Offset(2)}, at_end, 120) == NOBODY
    assert idleness.idle(at_end, at_end, 130) == {A}
    assert idleness.idle(at_end, at_end, 160) == {A, B}
    more = {A: Offset(8), B: Offset(3)}
    assert idleness.idle(more, more, 165) == {B}  # A has read one more in between
    assert [idleness.newly(frozenset({B})), idleness.newly(frozenset({B}))] == [{B}, NOBODY]


def test_the_checkpoint_holds_watermarks() -> None:
    known = EventTime(3_500, {A: 9_000, B: 4_000})
    document = {"watermark": 3_500, "latest": {"t": {"0": 9_000, "1": 4_000}}}
    assert to_document(known) == document
    assert event_time_of({"v": 1, "offsets": {}, "watermarks": document}) == known
    assert event_time_of({"v": 1, "offsets": {}}) == EventTime()
    with pytest.raises(ConfigError, match="the checkpoint holds watermarks that are none"):
        event_time_of({"watermarks": {"watermark": 3}})


NANOSECONDS = 1_700_000_000_000_000_000
NO_TIMES = [NANOSECONDS, 2**63 - 1, 253_402_300_800_000, -(2**63), -62_135_596_800_001]


@pytest.mark.parametrize("time_ms", NO_TIMES)
def test_a_time_that_no_timestamp_holds_moves_no_watermark(time_ms: int) -> None:
    """It would stand in the checkpoint for good, and the column cannot hold it."""
    planner = MicroBatchPlanner(EventTimeOptions(mode=WatermarkMode.PERIODIC))
    start, end = {A: Offset(0), B: Offset(0)}, {A: Offset(3), B: Offset(1)}
    bounds = BatchBounds(start, end, end, end)
    walked = {A: batches(5_000, time_ms, 7_000), B: batches(time_ms)}
    planned = planner.planned(bounds, lambda _: walked, Instant(0, 0))
    assert planned.end == end
    assert planner.event_time(EventTime(4, {A: 4, B: 4}), planned, {}) == EventTime(
        4, {A: 7_000, B: 4}
    )


@pytest.mark.parametrize("time_ms", NO_TIMES)
def test_a_checkpoint_with_a_time_that_no_timestamp_holds_is_read_without_it(time_ms: int) -> None:
    document = {"watermark": time_ms, "latest": {"t": {"0": time_ms, "1": 4_000}}}
    assert event_time_of({"watermarks": document}) == EventTime(None, {B: 4_000})


def test_a_watermark_is_not_before_the_year_1() -> None:
    time = advanced_time(EventTime(), {A: 0}, {A}, NOBODY, 10**17)
    assert time.watermark == -62_135_596_800_000


def test_a_partition_is_not_read_further_ahead_than_the_drift() -> None:
    taken = aligned(
        {A: batches(0, 50, 90, 200), B: batches(0, 10, 20)},
        {A: Offset(4), B: Offset(9)},
        60,
        NOW_MS,
    )
    assert counts(taken) == {A: 2, B: 3}


@pytest.mark.parametrize("future", [10**15, NOW_MS + 1])
def test_a_record_of_the_far_future_stops_nobody(future: int) -> None:
    """It waits until the others have come to the present, or to their ends."""
    old = {A: batches(future, 10), B: batches(0, 10)}
    assert counts(aligned(old, {A: Offset(2), B: Offset(9)}, 60, NOW_MS)) == {A: 0, B: 2}
    assert counts(aligned(old, {A: Offset(2), B: Offset(2)}, 60, NOW_MS)) == {A: 2, B: 2}
    recent = {A: batches(future, 10), B: batches(NOW_MS - 50)}
    assert counts(aligned(recent, {A: Offset(2), B: Offset(9)}, 60, NOW_MS)) == {A: 2, B: 1}


def test_bytes_are_shared_in_turn_and_every_partition_gets_a_batch() -> None:
    log = {A: batches(0, 0, 0, 0), B: batches(0, size=1_000)}
    assert counts(within_bytes(log, 1_300)) == {A: 3, B: 1}
    assert counts(within_bytes(log, 1)) == {A: 1, B: 1}


def test_a_limit_of_records_ends_behind_whole_batches() -> None:
    log = {A: [BatchSummary(0, 9, 100, 1), BatchSummary(10, 19, 100, 2)]}
    assert counts(whole_batches(log, {A: Offset(15)})) == {A: 1}
    assert counts(whole_batches(log, {A: Offset(3)})) == {A: 1}
    assert counts(whole_batches(log, {A: Offset(20)})) == {A: 2}


def test_a_micro_batch_waits_for_records_or_for_its_delay() -> None:
    planner = MicroBatchPlanner(EventTimeOptions(offsets_min=5, delay_max_ms=1_000))
    start = {A: Offset(0), B: Offset(0)}
    few, enough = {A: Offset(4), B: Offset(0)}, {A: Offset(3), B: Offset(2)}
    assert planner.delay_ms(start, few, 100) == 0  # the first of a start
    assert planner.delay_ms(start, few, 300) == 800
    assert planner.delay_ms(start, enough, 400) == 0
    assert planner.delay_ms(start, few, 1_399) == 1
    assert planner.delay_ms(start, few, 1_400) == 0


def parsed(
    records_max: int | None = None, *, copartition: bool = False, **given: str
) -> EventTimeOptions:
    return parse_event_time(given, records_max, is_copartitioned=copartition)


@pytest.mark.parametrize(
    ("records_max", "given", "is_sliced"),
    [
        (None, {}, False),
        (9, {}, True),
        (9, {"slicebytimestamp": "false"}, False),
        (None, {"maxbytespertrigger": "9"}, True),
        (9, {"watermark": "periodic"}, False),
        (9, {"replay": "opaque"}, False),
    ],
)
def test_micro_batches_that_a_limit_ends_are_slices_of_time(
    records_max: int | None, given: dict[str, str], is_sliced: bool
) -> None:
    assert parsed(records_max, **given).is_sliced is is_sliced


def test_options_are_understood() -> None:
    assert parsed() == EventTimeOptions()
    assert parsed(
        watermark="Periodic",
        maxoutoforderness="5 seconds",
        idletimeout="30s",
        maxwatermarkdrift="1 minute",
        maxbytespertrigger="1000",
        minoffsetspertrigger="10",
        maxtriggerdelay="2m",
    ) == EventTimeOptions(
        mode=WatermarkMode.PERIODIC,
        disorder_max_ms=5_000,
        idle_timeout_ms=30_000,
        drift_max_ms=60_000,
        bytes_max=1_000,
        offsets_min=10,
        delay_max_ms=120_000,
    )
    assert parsed(minoffsetspertrigger="10").delay_max_ms == 900_000
    assert parsed(idletimeout="1s", **PUNCTUATED) == EventTimeOptions(
        mode=WatermarkMode.PUNCTUATED, function=FUNCTION, idle_timeout_ms=1_000
    )
    timed = parsed(watermark="periodic", eventtimeheader="at", maxoutoforderness="2s")
    assert (timed.header, timed.disorder_max_ms) == ("at", 2_000)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"watermark": "sometimes"}, "watermark is one of none, periodic, punctuated"),
        ({"idletimeout": "30s"}, "idleTimeout has a use only with a watermark"),
        ({"maxwatermarkdrift": "30s"}, "maxWatermarkDrift has a use only with a watermark"),
        ({"maxoutoforderness": "1s", "watermark": "none"}, "maxOutOfOrderness has a use only"),
        ({"watermark": "periodic", "idletimeout": "soon"}, "idleTimeout is a duration like"),
        ({"watermark": "punctuated"}, "watermark=punctuated needs the function"),
        ({"watermarkfunction": "m:f"}, "watermarkFunction has a use only with watermark=punct"),
        (
            {"watermarkfunction": FUNCTION, "watermark": "periodic"},
            "watermarkFunction has a use only with watermark=punctuated",
        ),
        (
            {"watermark": "punctuated", "watermarkfunction": f"{__name__}:absent"},
            "watermarkFunction: 'tests.unit",
        ),
        ({"maxoutoforderness": "1s", **PUNCTUATED}, "maxOutOfOrderness does nothing with"),
        (
            {"maxwatermarkdrift": "1s", **PUNCTUATED},
            "maxWatermarkDrift and watermarkFunction do not go together",
        ),
        (
            {"maxwatermarkdrift": "1s", "watermark": "periodic", "eventtimeheader": "at"},
            "maxWatermarkDrift and eventTimeHeader do not go together",
        ),
        ({"eventtimeheader": ""}, "eventTimeHeader is the name of a header"),
        ({"maxtriggerdelay": "1m"}, "minOffsetsPerTrigger, which is not given"),
        ({"maxbytespertrigger": "0"}, "maxBytesPerTrigger must be a whole number"),
    ],
)
def test_every_mistake_is_named(given: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        parsed(**given)


def test_options_that_exclude_each_other_are_named() -> None:
    with pytest.raises(ConfigError, match=r"minOffsetsPerTrigger \(10\) is above"):
        parsed(9, minoffsetspertrigger="10")
    with pytest.raises(ConfigError, match="leave out watermark and maxBytesPerTrigger"):
        parsed(copartition=True, watermark="periodic")
    with pytest.raises(ConfigError, match="leave out watermark and maxBytesPerTrigger"):
        parsed(copartition=True, **PUNCTUATED)
    require_batch_options(parsed(copartition=True, eventtimeheader="at"))
    given: Sequence[dict[str, str]] = [
        PUNCTUATED,
        {"watermark": "periodic"},
        {"minoffsetspertrigger": "2"},
    ]
    for each in given:
        with pytest.raises(ConfigError, match="are of micro-batches"):
            require_batch_options(parsed(**each))


def test_a_batch_takes_no_options_of_micro_batches_and_a_stream_has_the_column() -> None:
    needed = {"bootstrap.servers": "localhost:9092", "subscribe": "orders"}
    timed = MillstreamSource(needed | {"watermark": "periodic"})
    assert timed.schema().endswith(", wm timestamp")
    assert "wm" not in MillstreamSource(needed).schema()
    with pytest.raises(ConfigError, match="are of micro-batches"):
        timed.reader(StructType())
