"""Window definitions: tumbling, hopping, unlimited. Sizes are `timedelta`; inside everything is milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from millstream.foreign_names.explanation import ForeignNames, explain_construction
from millstream.streams.arguments import check_fields
from millstream.streams.serdes.windowed import MAX_TIMESTAMP

_MILLISECOND = timedelta(milliseconds=1)


def to_ms(duration: timedelta) -> int:
    """Returns a duration in whole milliseconds. Raises TypeError for what is no duration."""
    if not isinstance(duration, timedelta):
        raise TypeError(f"durations are timedelta, not {duration!r}: timedelta(milliseconds=...)")
    return duration // _MILLISECOND


def _check_not_negative(what: str, milliseconds: int) -> None:
    if milliseconds < 0:
        raise ValueError(f"{what} must not be negative, it is {milliseconds} ms")


@explain_construction
@dataclass(frozen=True, slots=True)
class TimeWindows(metaclass=ForeignNames):
    """Windows [start, start + size) that begin at multiples of `advance`; tumbling when both are equal.

    Use `TimeWindows.tumbling` and `TimeWindows.hopping`.
    """

    size_ms: int
    advance_ms: int
    grace_ms: int = 0

    def __post_init__(self) -> None:
        check_fields(self, size_ms=int, advance_ms=int, grace_ms=int)
        if self.size_ms <= 0:
            raise ValueError(f"window size must be larger than zero, not {self.size_ms} ms")
        if not 0 < self.advance_ms <= self.size_ms:
            raise ValueError(
                f"advance must be in (0, {self.size_ms}] ms, not {self.advance_ms} ms: "
                "records between two windows would be lost"
            )
        _check_not_negative("grace", self.grace_ms)

    @classmethod
    def tumbling(cls, size: timedelta, *, grace: timedelta = timedelta(0)) -> TimeWindows:
        """Makes windows of one size side by side; `grace`: how long a window stays open after its end."""
        return cls(to_ms(size), to_ms(size), to_ms(grace))

    @classmethod
    def hopping(
        cls, size: timedelta, advance: timedelta, *, grace: timedelta = timedelta(0)
    ) -> TimeWindows:
        """Overlapping windows, one every `advance`."""
        return cls(to_ms(size), to_ms(advance), to_ms(grace))

    def starts(self, timestamp: int) -> range:
        """Starts of all windows that contain the timestamp, earliest first."""
        advance = self.advance_ms
        first = max(0, timestamp - self.size_ms + advance) // advance * advance
        return range(first, timestamp + 1, advance)

    def span(self, timestamp: int) -> tuple[int, int]:
        """Timestamps [low, high) around this one that fall in the same windows."""
        since_start = timestamp % self.advance_ms
        since_end = (timestamp - self.size_ms) % self.advance_ms
        low = timestamp - min(since_start, since_end)
        return low, timestamp + self.advance_ms - max(since_start, since_end)

    @property
    def retention_ms(self) -> int:
        """The default retention of a window store."""
        return self.size_ms + self.grace_ms


@explain_construction
@dataclass(frozen=True, slots=True)
class UnlimitedWindows(metaclass=ForeignNames):
    """One window from `start_ms` on; earlier records fall in no window."""

    start_ms: int = 0
    grace_ms: int = 0

    def __post_init__(self) -> None:
        check_fields(self, start_ms=int, grace_ms=int)
        _check_not_negative("start", self.start_ms)
        _check_not_negative("grace", self.grace_ms)

    @property
    def size_ms(self) -> int:
        """The length of a window: without end."""
        return MAX_TIMESTAMP

    def starts(self, timestamp: int) -> range:
        """Returns the start of the one window, if the timestamp is in it."""
        return range(
            self.start_ms, self.start_ms + 1 if timestamp >= self.start_ms else self.start_ms
        )

    def span(self, timestamp: int) -> tuple[int, int]:
        """Timestamps [low, high) around this one that fall in the same windows."""
        if timestamp >= self.start_ms:
            return self.start_ms, MAX_TIMESTAMP + 1
        return timestamp, self.start_ms

    @property
    def retention_ms(self) -> int:
        """The default retention of a window store."""
        return MAX_TIMESTAMP


@explain_construction
@dataclass(frozen=True, slots=True)
class SlidingWindows(metaclass=ForeignNames):
    """Windows of all records within a time difference, both ends inclusive. Use `SlidingWindows.of`."""

    difference_ms: int
    grace_ms: int = 0

    def __post_init__(self) -> None:
        check_fields(self, difference_ms=int, grace_ms=int)
        _check_not_negative("time difference", self.difference_ms)
        _check_not_negative("grace", self.grace_ms)

    @classmethod
    def of(cls, difference: timedelta, *, grace: timedelta = timedelta(0)) -> SlidingWindows:
        """Makes windows of this time difference."""
        return cls(to_ms(difference), to_ms(grace))

    @property
    def size_ms(self) -> int:
        """The length of a window: the distance of its two ends."""
        return self.difference_ms

    @property
    def retention_ms(self) -> int:
        """The default retention of a window store."""
        return 2 * self.difference_ms + self.grace_ms


@explain_construction
@dataclass(frozen=True, slots=True)
class SessionWindows(metaclass=ForeignNames):
    """Sessions that end after a gap without records. Use `SessionWindows.of`."""

    gap_ms: int
    grace_ms: int = 0

    def __post_init__(self) -> None:
        check_fields(self, gap_ms=int, grace_ms=int)
        _check_not_negative("gap", self.gap_ms)
        _check_not_negative("grace", self.grace_ms)

    @classmethod
    def of(cls, gap: timedelta, *, grace: timedelta = timedelta(0)) -> SessionWindows:
        """Makes sessions with this inactivity gap."""
        return cls(to_ms(gap), to_ms(grace))

    @property
    def retention_ms(self) -> int:
        """The default retention of a session store."""
        return self.gap_ms + self.grace_ms


AnyWindows = TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows
"""What records can be aggregated by."""


def check_windows(windows: AnyWindows) -> None:
    """Raise TypeError for what is no definition of windows, or not one that records are aggregated by."""
    if not isinstance(windows, AnyWindows):
        raise TypeError(
            "windowed_by: windows are TimeWindows, UnlimitedWindows, SlidingWindows or SessionWindows, "
            f"not {type(windows).__name__}"
        )


@explain_construction
@dataclass(frozen=True, slots=True)
class JoinWindows(metaclass=ForeignNames):
    """Right records from `before` a left record's time to `after` it are its partners. Use `JoinWindows.of`."""

    before_ms: int
    after_ms: int
    grace_ms: int = 0

    def __post_init__(self) -> None:
        check_fields(self, before_ms=int, after_ms=int, grace_ms=int)
        if self.before_ms + self.after_ms < 0:
            raise ValueError(
                f"a join window must not end before it begins: before is {self.before_ms} ms, "
                f"after {self.after_ms} ms"
            )
        _check_not_negative("grace", self.grace_ms)

    @classmethod
    def of(
        cls,
        difference: timedelta,
        *,
        before: timedelta | None = None,
        after: timedelta | None = None,
        grace: timedelta = timedelta(0),
    ) -> JoinWindows:
        """Partners at most `difference` apart; `before` and `after` replace it on their side."""
        return cls(
            to_ms(difference if before is None else before),
            to_ms(difference if after is None else after),
            to_ms(grace),
        )
