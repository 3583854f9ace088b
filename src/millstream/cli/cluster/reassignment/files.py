"""The JSON of kafka-reassign-partitions: which replicas partitions shall have, and which topics shall move. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from millstream.errors import ConfigError
from millstream.model import TopicPartition

ANY_DIRECTORY: Final = "any"
_VERSION: Final = 1

Replicas = Mapping[TopicPartition, tuple[int, ...]]
"""The replicas of each partition, the preferred leader first."""


@dataclass(frozen=True, slots=True)
class ReassignmentTarget:
    """The replicas that partitions shall have, and the directories of those that shall live in a certain one."""

    replicas: Replicas
    directories: Mapping[tuple[TopicPartition, int], str]
    """By partition and broker: a path there."""

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(partition.topic for partition in self.replicas))


def read_target(text: str, file: str) -> ReassignmentTarget:
    """Reads what `--reassignment-json-file` of Kafka's tool is. Raises ConfigError."""
    replicas: dict[TopicPartition, tuple[int, ...]] = {}
    directories: dict[tuple[TopicPartition, int], str] = {}
    for entry in _entries(text, file, "partitions"):
        key = _partition(entry, file)
        if key in replicas:
            raise ConfigError(f"{file} names {key} more than once")
        replicas[key] = _replicas(entry.get("replicas"), key, file)
        paths = _directories(entry.get("log_dirs"), len(replicas[key]), key, file)
        directories.update(
            ((key, broker_id), path)
            for broker_id, path in zip(replicas[key], paths, strict=True)
            if path != ANY_DIRECTORY
        )
    if not replicas:
        raise ConfigError(f"{file} names no partitions")
    return ReassignmentTarget(replicas, directories)


def read_topics(text: str, file: str) -> list[str]:
    """Reads what `--topics-to-move-json-file` of Kafka's tool is. Raises ConfigError."""
    names = [_topic(entry, file) for entry in _entries(text, file, "topics")]
    if len(set(names)) != len(names):
        raise ConfigError(f"{file} names a topic more than once")
    return names


def read_partitions(text: str, file: str) -> list[TopicPartition]:
    """Reads what `--path-to-json-file` of kafka-leader-election is. Raises ConfigError."""
    found = [_partition(entry, file) for entry in _entries(text, file, "partitions")]
    if not found:
        raise ConfigError(f"{file} names no partitions")
    return list(dict.fromkeys(found))


def target_text(replicas: Replicas) -> str:
    """Returns replicas as Kafka's tool reads and prints them, on one line."""
    partitions = [
        {
            "topic": key.topic,
            "partition": key.partition,
            "replicas": [*wanted],
            "log_dirs": [ANY_DIRECTORY] * len(wanted),
        }
        for key, wanted in sorted(replicas.items())
    ]
    return json.dumps({"version": _VERSION, "partitions": partitions}, separators=(",", ":"))


Object = dict[str, Any]  # Any: what stands in somebody's JSON, looked at before it is used


def _entries(text: str, file: str, name: str) -> Iterable[Object]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is no JSON: {error}") from error
    if not isinstance(read, dict) or not isinstance(read.get(name), list):
        raise ConfigError(f'{file} has to be like {{"version":1,"{name}":[...]}}')
    if read.get("version", _VERSION) != _VERSION:
        raise ConfigError(f"{file} is of version {read['version']!r}, and only 1 is known")
    entries: list[Object] = []
    for entry in read[name]:
        if not isinstance(entry, dict):
            raise ConfigError(f"{file}: {entry!r} in {name} is no object")
        entries.append(entry)
    return entries


def _topic(entry: Object, file: str) -> str:
    topic = entry.get("topic")
    if not isinstance(topic, str) or not topic:
        raise ConfigError(f"{file}: {json.dumps(entry)} names no topic")
    return topic


def _partition(entry: Object, file: str) -> TopicPartition:
    number = entry.get("partition")
    if number is None or not _is_number(number):
        raise ConfigError(f"{file}: {json.dumps(entry)} has no number of a partition")
    return TopicPartition(_topic(entry, file), number)


def _replicas(given: object, key: TopicPartition, file: str) -> tuple[int, ...]:
    if not isinstance(given, list) or not given or not all(map(_is_number, given)):
        raise ConfigError(f"{file}: the replicas of {key} have to be a list of broker ids")
    if len(set(given)) != len(given):
        raise ConfigError(f"{file} names a broker more than once among the replicas of {key}")
    return tuple(given)


def _directories(given: object, count: int, key: TopicPartition, file: str) -> Sequence[str]:
    if given is None:
        return [ANY_DIRECTORY] * count
    if not isinstance(given, list) or not all(isinstance(each, str) and each for each in given):
        raise ConfigError(f"{file}: log_dirs of {key} have to be a list of paths or {ANY_DIRECTORY!r}")  # fmt: skip
    if len(given) != count:
        raise ConfigError(f"{file}: {key} has {count} replicas and {len(given)} log_dirs")
    return given


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
