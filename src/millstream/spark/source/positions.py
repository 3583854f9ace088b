"""Positions at which a query begins and a batch ends: `startingOffsets`, `endingOffsets` and their forms by time.

Pure. A position is what a user writes; an offset is what the facts of a partition make of it, with the reason for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.spark.format_options import UNITS_MS
from millstream.streams.runtime.errors import DataLoss

EARLIEST: Final = Offset(-2)
LATEST: Final = Offset(-1)
"""Allowed for single partitions in JSON, as in Spark's Kafka connector."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_TIME_MS_MAX: Final = 2**63 - 1
_RELATIVE: Final = re.compile(rf"-\s*(\d+)\s+(offset|{'|'.join(UNITS_MS)})s?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Earliest:
    """The start of the log."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The end of the log, for readers with read_committed the last stable offset."""


@dataclass(frozen=True, slots=True)
class Exact:
    """An offset."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class Back:
    """So many offsets before the end, and not before the start."""

    offsets: int


@dataclass(frozen=True, slots=True)
class Ago:
    """The first record that is not older than this; the end where all are."""

    duration_ms: int


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record at or after a time; where none is that late the end, or an error."""

    timestamp_ms: int
    or_latest: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """The offset that the group has committed. `otherwise`, where it has none; None: that is an error.

    `behind_max`: a commit that is further than this behind the end counts as none.
    """

    otherwise: Earliest | Latest | None = Earliest()
    behind_max: int | None = None


Position = Earliest | Latest | Exact | Back | Ago | AtTime | Committed


@dataclass(frozen=True, slots=True)
class PositionRules:
    """The position of each partition: its own, that of its topic, or the default."""

    default: Position
    topics: Mapping[str, Position] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, Position] = field(default_factory=dict)

    def of(self, partition: TopicPartition) -> Position:
        own = self.partitions.get(partition)
        return own if own is not None else self.topics.get(partition.topic, self.default)

    def limited(self, behind_max: int) -> PositionRules:
        """The same, with commits that are further than this behind the end counted as none."""

        def limited(position: Position) -> Position:
            return (
                replace(position, behind_max=behind_max)
                if isinstance(position, Committed)
                else position
            )

        return PositionRules(
            limited(self.default),
            {topic: limited(each) for topic, each in self.topics.items()},
            {partition: limited(each) for partition, each in self.partitions.items()},
        )

    def all(self) -> list[Position]:
        return [self.default, *self.topics.values(), *self.partitions.values()]


class PartitionFacts(NamedTuple):
    """The facts of a partition that decide.

    `at_time` is the first offset that is late enough, for positions by time.
    """

    start: Offset
    end: Offset
    committed: Offset | None = None
    at_time: Offset | None = None


class ChosenOffset(NamedTuple):
    """The next offset to read, and why."""

    offset: Offset
    reason: str


def chosen(partition: TopicPartition, position: Position, facts: PartitionFacts) -> ChosenOffset:
    """Raises ConfigError where a position cannot be had, and DataLoss where what was committed is
    no longer in the log.
    """
    match position:
        case Earliest():
            return ChosenOffset(facts.start, "earliest")
        case Latest():
            return ChosenOffset(facts.end, "latest")
        case Exact(offset):
            return ChosenOffset(offset, "given")
        case Back(offsets):
            offset = Offset(max(facts.start, facts.end - offsets))
            return ChosenOffset(offset, f"{offsets} offsets before the end")
        case Ago(duration_ms):
            return ChosenOffset(
                facts.end if facts.at_time is None else facts.at_time, f"{duration_ms} ms ago"
            )
        case AtTime(timestamp_ms, or_latest):
            if facts.at_time is not None:
                return ChosenOffset(facts.at_time, f"timestamp {timestamp_ms}")
            if or_latest:
                return ChosenOffset(facts.end, f"latest: no record at or after {timestamp_ms}")
            raise ConfigError(
                f"{partition} has no record at or after timestamp {timestamp_ms}: give an earlier one, or set "
                "startingOffsetsByTimestampStrategy=latest to begin at the end there"
            )
        case Committed():
            return _chosen_committed(partition, position, facts)


def _chosen_committed(
    partition: TopicPartition, position: Committed, facts: PartitionFacts
) -> ChosenOffset:
    offset = facts.committed
    if offset is None:
        why = "nothing committed"
    elif position.behind_max is not None and facts.end - offset > position.behind_max:
        why = f"committed {offset} is more than {position.behind_max} behind the end {facts.end}"
    elif not facts.start <= offset <= facts.end:
        raise DataLoss(
            f"the group has committed offset {offset} of {partition}, and the log holds {facts.start} to {facts.end}: retention "
            "or a delete was faster, or the topic was made anew. Set failOnDataLoss=false to go on with what is left, or give "
            "startingOffsets"
        )
    else:
        return ChosenOffset(offset, "committed")
    match position.otherwise:
        case None:
            raise ConfigError(
                f"the group has committed nothing for {partition}: write startingOffsets=committed:earliest or committed:latest "
                "to say where to begin then"
                if offset is None
                else f"{partition}: {why}, and startingOffsets=committed:fail says to stop then"
            )
        case Earliest():
            return ChosenOffset(facts.start, f"earliest: {why}")
        case Latest():
            return ChosenOffset(facts.end, f"latest: {why}")


def parse_positions(name: str, text: str, unnamed: Position) -> PositionRules:
    """One position for all, or JSON: `{"orders": {"0": 12, "1": "latest"}, "payments": "-10 minutes"}`.

    `unnamed` is that of partitions that JSON does not name. Raises ConfigError.
    """
    if not text.lstrip().startswith("{"):
        return PositionRules(parse_position(name, text))
    document = _json(name, text)
    topics: dict[str, Position] = {}
    partitions: dict[TopicPartition, Position] = {}
    for topic, value in document.items():
        if isinstance(value, str):
            topics[topic] = parse_position(name, value)
        elif isinstance(value, Mapping):
            for number, each in value.items():
                partitions[_partition(name, topic, number)] = parse_position(name, each)
        else:
            raise _malformed(name, text)
    return PositionRules(unnamed, topics, partitions)


def parse_timestamp(name: str, text: str, *, or_latest: bool) -> PositionRules:
    """`startingTimestamp`: a time for all partitions, as `time_ms` reads it."""
    return PositionRules(AtTime(time_ms(name, text), or_latest))


def parse_timestamps(name: str, text: str, unnamed: Position, *, or_latest: bool) -> PositionRules:
    """`startingOffsetsByTimestamp`: `{"orders": {"0": 1700000000000}}`, or one time for a topic."""
    topics: dict[str, Position] = {}
    partitions: dict[TopicPartition, Position] = {}
    for topic, value in _json_of_times(name, text).items():
        if isinstance(value, Mapping):
            for number, each in value.items():
                at = AtTime(time_ms(name, each), or_latest)
                partitions[_partition(name, topic, number)] = at
        else:
            topics[topic] = AtTime(time_ms(name, value), or_latest)
    return PositionRules(unnamed, topics, partitions)


def parse_position(name: str, value: object) -> Position:
    """An offset or a word of `startingOffsets`, or a datetime: the end where no record is that late.

    Raises ConfigError, which calls it `name`.
    """
    if isinstance(value, datetime):
        return AtTime(time_ms(name, value), or_latest=True)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _malformed(name, value)
    if isinstance(value, int):
        if value < EARLIEST:
            raise _malformed(name, value)
        special: dict[int, Position] = {EARLIEST: Earliest(), LATEST: Latest()}
        return special.get(value) or Exact(Offset(value))
    text = value.strip().lower()
    if (found := _WORDS.get(text)) is not None:
        return found
    relative = _RELATIVE.fullmatch(text)
    if relative is None:
        raise _malformed(name, value)
    count, unit = int(relative[1]), relative[2].lower()
    return Back(count) if unit == "offset" else Ago(count * UNITS_MS[unit])


_WORDS: Final[Mapping[str, Position]] = {
    "earliest": Earliest(),
    "latest": Latest(),
    "committed": Committed(),
    "committed:earliest": Committed(Earliest()),
    "committed:latest": Committed(Latest()),
    "committed:fail": Committed(None),
}


def _json(name: str, text: str) -> Mapping[str, object]:
    document = _object(text)
    if document is None:
        raise _malformed(name, text)
    return document


def _json_of_times(name: str, text: str) -> Mapping[str, object]:
    document = _object(text)
    if document is None:
        raise ConfigError(
            f'{name} is JSON like {{"topic": {{"0": 1700000000000, "1": "2026-11-29T05:00:00Z"}}}}, not {text!r}'
        )
    return document


def _object(text: str) -> Mapping[str, object] | None:
    """None for text that is no object of JSON."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return None
    return document if isinstance(document, Mapping) else None


def _partition(name: str, topic: str, number: object) -> TopicPartition:
    if not (isinstance(number, str) and number.isascii() and number.isdigit()):
        raise ConfigError(f"{name}: {number!r} is no partition of {topic}")
    return TopicPartition(topic, int(number))


def time_ms(name: str, value: object) -> int:
    """Returns milliseconds since 1970 of a number, of ISO 8601 (UTC without a zone) or of a datetime.

    Raises ConfigError.

    A part of a millisecond counts as a whole one: a record at or after 0.5 ms is one at or after 1 ms.
    """
    text = str(value).strip()
    if text.isascii() and text.isdigit() and not isinstance(value, bool):
        found = int(text)
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ConfigError(
                f"{name} needs a time, milliseconds since 1970 or ISO 8601 ('2026-11-29T05:00:00Z'), not {value!r}"
            ) from None
        zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        found = -((_EPOCH - zoned) // _MILLISECOND)
    if not 0 <= found <= _TIME_MS_MAX:
        raise ConfigError(f"{name} needs a time from 1970 on that 64 bits hold, not {value!r}")
    return found


def _malformed(name: str, value: object) -> ConfigError:
    return ConfigError(
        f'{name} is earliest, latest, committed, "-10 minutes", "-100 offsets" or JSON like {{"topic": {{"0": 12, "1": "latest"}}}}, '
        f"not {value!r}"
    )
