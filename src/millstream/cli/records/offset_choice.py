"""Parses where `consume -o` starts and ends: kcat's notation and Kafka's words. Connects to nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

import click

from millstream.model import TopicPartition

StartKind = Literal["beginning", "end", "stored", "offset", "tail", "time"]

_WORDS: Final[Mapping[str, StartKind]] = {
    "beginning": "beginning", "earliest": "beginning", "smallest": "beginning",
    "end": "end", "latest": "end", "largest": "end", "stored": "stored",
}  # fmt: skip
_UNIT_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_RANGE: Final = re.compile(r"(?P<start>\d*):(?P<stop>\d+)")
_ISO_DURATION: Final = re.compile(
    r"P(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)


@dataclass(frozen=True, slots=True)
class Start:
    """`number` is an offset, a count of records before the end, or a timestamp in ms."""

    kind: StartKind
    number: int = 0


@dataclass(frozen=True, slots=True)
class Bounds:
    """The offset to start at, and the timestamp (ms) or the offset to stop at; None where the user gave none."""

    start: Start | None = None
    stop_ms: int | None = None
    stop_offset: int | None = None


def parse_bounds(items: Iterable[str], since: str | None, now_ms: int) -> Bounds:
    """Parses the offsets to begin and to end with. Raises click.BadParameter saying what can be written."""
    start: Start | None = None
    if since is not None:
        start = Start("time", max(0, now_ms - duration_ms(since)))
    stop_ms: int | None = None
    stop_offset: int | None = None
    for item in items:
        if item.startswith("e@"):
            stop_ms = timestamp_ms(item[2:])
            continue
        if (found := _RANGE.fullmatch(item)) is not None:
            stop_offset = _int64(int(found["stop"]), "an offset", "-o")
            item = found["start"]
            if not item:
                continue
        if start is not None:
            raise click.BadParameter("the start is given twice", param_hint="-o")
        start = _start(item)
    if stop_ms is not None and stop_offset is not None:
        raise click.BadParameter("the end is given twice", param_hint="-o")
    return Bounds(start, stop_ms, stop_offset)


def _start(item: str) -> Start:
    if item in _WORDS:
        return Start(_WORDS[item])
    if item.startswith(("s@", "@")):
        return Start("time", timestamp_ms(item.partition("@")[2]))
    if re.fullmatch(r"-?\d+", item):
        number = int(item)
        if item.startswith("-"):
            return Start("tail", -number)
        return Start("offset", _int64(number, "an offset", "-o"))
    raise click.BadParameter(
        f"{item!r} is not one of beginning, end, stored, OFFSET, OFFSET:END, -COUNT, @TIME, s@TIME, e@TIME",
        param_hint="-o",
    )


def timestamp_ms(text: str) -> int:
    """Parses milliseconds since 1970, or ISO 8601; a time without a zone is UTC, as in Kafka's tools."""
    try:
        if text.isdecimal():
            return _int64(int(text), "a time")
        time = datetime.fromisoformat(text)
        zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
        return _int64(round(zoned.timestamp() * 1000), "a time")
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a time; write milliseconds since 1970, or 2026-01-31T12:00:00"
        ) from None


def _int64(number: int, what: str, hint: str | None = None) -> int:
    """Raises BadParameter for what Kafka's 64 bits cannot hold, and for numbers below 0."""
    if not 0 <= number < 2**63:
        raise click.BadParameter(
            f"{what} must be between 0 and 2**63 - 1, not {number}", param_hint=hint
        )
    return number


def duration_ms(text: str) -> int:
    """10m, 2h, 1d, 500ms; or ISO 8601, as in P1DT2H."""
    plain = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text)
    if plain is not None:
        return int(plain[1]) * _UNIT_MS[plain[2]]
    iso = _ISO_DURATION.fullmatch(text)
    if iso is None or not any(iso.groups()):
        raise click.BadParameter(f"{text!r} is not a duration; write 10m, 2h, 1d or PT10M")
    return round(sum(float(amount) * _UNIT_MS[unit] for unit, amount in iso.groupdict("0").items()))


@dataclass(frozen=True, slots=True)
class Lookups:
    """The questions that a choice asks of a cluster, for given partitions."""

    beginning: Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]]
    end: Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]]
    at_time: Callable[[Iterable[TopicPartition], int], Mapping[TopicPartition, int | None]]
    """None where no record is so late."""


def start_offsets(
    start: Start, partitions: list[TopicPartition], ask: Lookups
) -> Mapping[TopicPartition, int]:
    """Returns the offset to begin with in each partition; none for `stored`, which the consumer looks up itself."""
    match start.kind:
        case "beginning":
            return ask.beginning(partitions)
        case "end":
            return ask.end(partitions)
        case "offset":
            return dict.fromkeys(partitions, start.number)
        case "time":
            return offsets_at(start.number, partitions, ask)
        case "tail":
            first, last = ask.beginning(partitions), ask.end(partitions)
            return {tp: max(first[tp], last[tp] - start.number) for tp in partitions}
        case "stored":
            return {}


def offsets_at(
    time_ms: int, partitions: list[TopicPartition], ask: Lookups
) -> Mapping[TopicPartition, int]:
    """Returns the first record at or after a time; the end where there is none."""
    found = ask.at_time(partitions, time_ms)
    missing = [tp for tp in partitions if found[tp] is None]
    ends = ask.end(missing) if missing else {}
    return {tp: ends[tp] if (at := found[tp]) is None else at for tp in partitions}
