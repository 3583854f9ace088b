"""The topics and partitions of a query: `subscribe`, `subscribePattern` or `assign`. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from millstream.errors import ConfigError
from millstream.model import TopicPartition

OPTIONS: Final = ("subscribe", "subscribePattern", "assign")


@dataclass(frozen=True, slots=True)
class Topics:
    """All partitions of topics by name."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return ",".join(self.names)

    def names_among(self, existing: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002 - by name, whatever exists
        return self.names

    def has(self, partition: TopicPartition) -> bool:
        return partition.topic in self.names


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """All partitions of the topics whose whole name a regular expression matches.

    Internal topics are not among them.
    """

    pattern: str

    def __str__(self) -> str:
        return self.pattern

    def names_among(self, existing: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(name for name in existing if re.fullmatch(self.pattern, name)))

    def has(self, partition: TopicPartition) -> bool:
        return re.fullmatch(self.pattern, partition.topic) is not None


@dataclass(frozen=True, slots=True)
class AssignedPartitions:
    """Partitions by number; none that comes later."""

    partitions: frozenset[TopicPartition]

    def __str__(self) -> str:
        return ",".join(f"{topic}-{number}" for topic, number in sorted(self.partitions))

    def names_among(self, existing: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002 - by name, whatever exists
        return tuple(sorted({partition.topic for partition in self.partitions}))

    def has(self, partition: TopicPartition) -> bool:
        return partition in self.partitions


Subscription = Topics | TopicPattern | AssignedPartitions


def parse_subscription(given: Mapping[str, str]) -> Subscription:
    """`given` has option names in lower case. Raises ConfigError unless exactly one way to name topics is given."""
    ways = [name for name in OPTIONS if given.get(name.lower(), "").strip()]
    if not ways:
        raise ConfigError(
            'format millstream needs topics: .option("subscribe", "orders,payments"), or subscribePattern, or assign'
        )
    if len(ways) > 1:
        raise ConfigError("give one of subscribe, subscribePattern and assign, not several")
    text = given[ways[0].lower()]
    match ways[0]:
        case "subscribe":
            names = dict.fromkeys(each.strip() for each in text.split(",") if each.strip())
            if not names:
                raise ConfigError("format millstream needs topics: subscribe names none")
            return Topics(tuple(names))
        case "subscribePattern":
            return _pattern(text)
        case _:
            return _assigned(text)


def _pattern(text: str) -> TopicPattern:
    try:
        re.compile(text)
    except re.error as error:
        raise ConfigError(f"subscribePattern {text!r} is no regular expression: {error}") from error
    return TopicPattern(text)


def _assigned(text: str) -> AssignedPartitions:
    malformed = ConfigError(f'assign is JSON like {{"orders": [0, 1]}}, not {text!r}')
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise malformed from error
    if not isinstance(document, Mapping) or not document:
        raise malformed
    partitions = set()
    for topic, numbers in document.items():
        if not isinstance(numbers, list) or not numbers:
            raise malformed
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise malformed
            partitions.add(TopicPartition(topic, number))
    return AssignedPartitions(frozenset(partitions))
