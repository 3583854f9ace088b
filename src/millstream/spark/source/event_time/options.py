"""Options of event time and of the limits of a micro-batch, from text to values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from millstream.errors import ConfigError
from millstream.spark.format_options import (
    choice,
    duration_ms,
    flag,
    function_named,
    optional_number,
)
from millstream.spark.source.event_time.header_times import OPTION as EVENT_TIME_HEADER
from millstream.spark.source.event_time.record_times import OPTION as BAD_TIMESTAMPS
from millstream.spark.source.event_time.record_times import BadTimestamps

OPTIONS: Final = (
    "watermark", "watermarkFunction", "eventTimeHeader", "maxOutOfOrderness", "idleTimeout", "maxWatermarkDrift",
    "maxBytesPerTrigger", "sliceByTimestamp", "minOffsetsPerTrigger", "maxTriggerDelay", "badTimestamps",
)  # fmt: skip
WATERMARK_COLUMN: Final = "wm"
WATERMARK_FUNCTION: Final = "watermarkFunction"
SLICE_BY_TIMESTAMP: Final = "sliceByTimestamp"
DELAY_MS: Final = 15 * 60_000
"""The maxTriggerDelay of Spark's Kafka connector."""


class WatermarkMode(Enum):
    NONE = "none"
    PERIODIC = "periodic"
    """The largest time of each partition, less `maxOutOfOrderness`."""
    PUNCTUATED = "punctuated"
    """The largest that `watermarkFunction` has returned for a record of each partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTimeOptions:
    """`idle_timeout_ms`: after so long at its end a partition holds the watermark back no longer; None: it always does.

    `drift_max_ms`: no partition is read further ahead of the one that is furthest behind. `offsets_min` and
    `delay_max_ms`: a micro-batch waits until so much is there, or so long. `bytes_max`: of one micro-batch, as they lie
    in the log. `is_sliced`: what limits leave of a micro-batch is a slice of time over all partitions. `function` is
    that of punctuated watermarks. `header` has the event time of each record; None: it is the record's timestamp.
    """

    mode: WatermarkMode = WatermarkMode.NONE
    function: str | None = None
    header: str | None = None
    disorder_max_ms: int = 0
    idle_timeout_ms: int | None = None
    drift_max_ms: int | None = None
    bytes_max: int | None = None
    is_sliced: bool = False
    offsets_min: int | None = None
    delay_max_ms: int = DELAY_MS
    bad_timestamps: BadTimestamps = BadTimestamps.FAIL

    @property
    def has_watermark(self) -> bool:
        return self.mode is not WatermarkMode.NONE

    @property
    def reads_records(self) -> bool:
        """Whether planning looks at the records that a micro-batch reads: the heads of batches do
        not have their times.
        """
        return self.has_watermark and (
            self.mode is WatermarkMode.PUNCTUATED or self.header is not None
        )

    @property
    def needs_walk(self) -> bool:
        """Whether planning looks at the headers of the batches that a micro-batch reads."""
        return self.bytes_max is not None or (self.has_watermark and not self.reads_records)


def parse_event_time(
    given: Mapping[str, str], records_max: int | None, *, is_copartitioned: bool
) -> EventTimeOptions:
    """`given` has option names in lower case.

    Raises ConfigError for what is malformed, and for what would have no effect.
    """
    options = EventTimeOptions(
        mode=choice("watermark", given.get("watermark", "none"), WatermarkMode),
        function=given.get(WATERMARK_FUNCTION.lower()),
        header=given.get(EVENT_TIME_HEADER.lower()),
        disorder_max_ms=duration_ms(given, "maxOutOfOrderness") or 0,
        idle_timeout_ms=duration_ms(given, "idleTimeout"),
        drift_max_ms=duration_ms(given, "maxWatermarkDrift"),
        bytes_max=optional_number(given, "maxBytesPerTrigger"),
        is_sliced=_is_sliced(given, records_max),
        offsets_min=optional_number(given, "minOffsetsPerTrigger"),
        delay_max_ms=DELAY_MS
        if (delay_ms := duration_ms(given, "maxTriggerDelay")) is None
        else delay_ms,
        bad_timestamps=choice(BAD_TIMESTAMPS, given.get("badtimestamps", "fail"), BadTimestamps),
    )
    _require_use_of_watermark(given, options)
    if "maxtriggerdelay" in given and options.offsets_min is None:
        raise ConfigError(
            "maxTriggerDelay is how long to wait for minOffsetsPerTrigger, which is not given"
        )
    if (
        options.offsets_min is not None
        and records_max is not None
        and options.offsets_min > records_max
    ):
        raise ConfigError(
            f"minOffsetsPerTrigger ({options.offsets_min}) is above maxOffsetsPerTrigger ({records_max})"
        )
    if is_copartitioned and (options.has_watermark or options.bytes_max is not None):
        raise ConfigError(
            "copartition reads topics up to the same time by itself: leave out watermark and maxBytesPerTrigger"
        )
    return options


def _is_sliced(given: Mapping[str, str], records_max: int | None) -> bool:
    """Whether micro-batches are slices of time: all that have a limit, but for those with a watermark of each
    partition, which ends behind whole batches.
    """
    is_limited = records_max is not None or "maxbytespertrigger" in given
    name = SLICE_BY_TIMESTAMP.lower()
    if name in given and not is_limited:
        raise ConfigError(
            f"{SLICE_BY_TIMESTAMP} has a use only with maxRecordsPerTrigger or maxBytesPerTrigger: without a limit a micro-batch has all that is there"
        )
    is_other = given.get("watermark", "none").strip().lower() != "none"
    is_other = is_other or given.get("replay", "").strip().lower() == "opaque"
    is_wanted = flag(given, SLICE_BY_TIMESTAMP, default=not is_other)
    if is_wanted and is_other and "watermark" in given:
        raise ConfigError(
            f"{SLICE_BY_TIMESTAMP} and watermark do not go together: wm is right with micro-batches of any kind, and maxWatermarkDrift keeps "
            "partitions together"
        )
    return is_limited and is_wanted


def _require_use_of_watermark(given: Mapping[str, str], options: EventTimeOptions) -> None:
    for name in ("maxOutOfOrderness", "idleTimeout", "maxWatermarkDrift"):
        if name.lower() in given and not options.has_watermark:
            raise ConfigError(
                f"{name} has a use only with a watermark: .option('watermark', 'periodic')"
            )
    is_punctuated = options.mode is WatermarkMode.PUNCTUATED
    if options.function is not None and not is_punctuated:
        raise ConfigError(f"{WATERMARK_FUNCTION} has a use only with watermark=punctuated")
    if is_punctuated:
        if options.function is None:
            raise ConfigError(
                f"watermark=punctuated needs the function that is asked for watermarks: .option('{WATERMARK_FUNCTION}', 'module:function')"
            )
        function_named(WATERMARK_FUNCTION, options.function)
        if "maxoutoforderness" in given:
            raise ConfigError(
                f"maxOutOfOrderness does nothing with watermark=punctuated: {WATERMARK_FUNCTION} returns the watermark itself"
            )
    if options.header == "":
        raise ConfigError(f"{EVENT_TIME_HEADER} is the name of a header, and is empty")
    if options.drift_max_ms is not None and options.reads_records:
        reason = WATERMARK_FUNCTION if is_punctuated else EVENT_TIME_HEADER
        raise ConfigError(
            f"maxWatermarkDrift and {reason} do not go together: it goes by the timestamps in the heads of batches, before a record is "
            "read: leave it out"
        )


def require_batch_options(options: EventTimeOptions) -> None:
    """Raises ConfigError where options of micro-batches are given to a batch read, which has none."""
    if options != EventTimeOptions(header=options.header, bad_timestamps=options.bad_timestamps):
        raise ConfigError(
            "watermark and its options, maxBytesPerTrigger, minOffsetsPerTrigger and maxTriggerDelay are of "
            "micro-batches (readStream); a batch (read) reads all between startingOffsets and endingOffsets"
        )
