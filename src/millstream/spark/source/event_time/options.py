"""Options of event time and of the limits of a micro-batch, from text to values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from millstream.errors import ConfigError
from millstream.spark.format_options import choice, duration_ms, optional_number

OPTIONS: Final = (
    "watermark", "maxoutoforderness", "idletimeout", "maxwatermarkdrift",
    "maxbytespertrigger", "minoffsetspertrigger", "maxtriggerdelay",
)  # fmt: skip
WATERMARK_COLUMN: Final = "wm"
DELAY_MS: Final = 15 * 60_000
"""The maxTriggerDelay of Spark's Kafka connector."""


class WatermarkMode(Enum):
    NONE = "none"
    PERIODIC = "periodic"
    """The largest timestamp of each partition, less `maxOutOfOrderness`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTimeOptions:
    """`idle_timeout_ms`: after so long at its end a partition holds the watermark back no longer; None: it always does.

    `drift_max_ms`: no partition is read further ahead of the one that is furthest behind. `offsets_min` and `delay_max_ms`:
    a micro-batch waits until so much is there, or so long. `bytes_max`: of one micro-batch, as they lie in the log.
    """

    mode: WatermarkMode = WatermarkMode.NONE
    disorder_max_ms: int = 0
    idle_timeout_ms: int | None = None
    drift_max_ms: int | None = None
    bytes_max: int | None = None
    offsets_min: int | None = None
    delay_max_ms: int = DELAY_MS

    @property
    def has_watermark(self) -> bool:
        return self.mode is not WatermarkMode.NONE

    @property
    def needs_walk(self) -> bool:
        """Whether planning looks at the headers of the batches that a micro-batch reads."""
        return self.has_watermark or self.bytes_max is not None


def parse_event_time(
    given: Mapping[str, str], records_max: int | None, *, is_copartitioned: bool
) -> EventTimeOptions:
    """`given` has option names in lower case. Raises ConfigError for what is malformed, and for what would have no effect."""
    options = EventTimeOptions(
        mode=choice("watermark", given.get("watermark", "none"), WatermarkMode),
        disorder_max_ms=duration_ms(given, "maxOutOfOrderness") or 0,
        idle_timeout_ms=duration_ms(given, "idleTimeout"),
        drift_max_ms=duration_ms(given, "maxWatermarkDrift"),
        bytes_max=optional_number(given, "maxBytesPerTrigger"),
        offsets_min=optional_number(given, "minOffsetsPerTrigger"),
        delay_max_ms=DELAY_MS
        if (delay_ms := duration_ms(given, "maxTriggerDelay")) is None
        else delay_ms,
    )
    for name in ("maxOutOfOrderness", "idleTimeout", "maxWatermarkDrift"):
        if name.lower() in given and not options.has_watermark:
            raise ConfigError(
                f"{name} has a use only with a watermark: .option('watermark', 'periodic')"
            )
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
    if is_copartitioned and options.needs_walk:
        raise ConfigError(
            "copartition reads topics up to the same time by itself: leave out watermark and maxBytesPerTrigger"
        )
    return options


def require_batch_options(options: EventTimeOptions) -> None:
    """Raises ConfigError where options of micro-batches are given to a batch read, which has none."""
    if options != EventTimeOptions():
        raise ConfigError(
            "watermark and its options, maxBytesPerTrigger, minOffsetsPerTrigger and maxTriggerDelay are of "
            "micro-batches (readStream); a batch (read) reads all between startingOffsets and endingOffsets"
        )
