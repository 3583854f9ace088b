"""Random inputs in partitions that come forward at different speeds, with disorder within and beyond any grace.

Every record has its partition and its time. A partition is like others, ten times as long, empty, ends early, begins late, or pauses.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from live_cases.conversion import Input
from streams.case_runner import encode

PARTITIONS_MAX = 6
KEYS = 8
KINDS = ("plain", "plain", "plain", "long", "dense", "empty", "ends", "begins", "pauses")
LONG_TIMES = 10


@dataclass(frozen=True, slots=True)
class Pace:
    """How the records of one case are spread over its time. `disorder`: so many of them are up to `late_ms` older."""

    span_ms: int
    records: int
    disorder: float
    late_ms: int


def random_pace(rng: random.Random, *, late_ms: int | None = None) -> Pace:
    return Pace(
        span_ms=rng.choice((500, 2_000, 6_000)),
        records=rng.choice((8, 20, 40)),
        disorder=rng.choice((0, 0.05, 0.3)),
        late_ms=rng.choice((10, 60, 300)) if late_ms is None else late_ms,
    )


def random_partitions(topics: Mapping[str, dict], rng: random.Random) -> dict[str, int]:
    """How many partitions each topic of a specification has."""
    return {name: rng.randint(1, PARTITIONS_MAX) for name in topics}


def random_inputs(
    topics: Mapping[str, dict], partitions: Mapping[str, int], pace: Pace, rng: random.Random
) -> list[Input]:
    """Partition by partition, each in the order of its log."""
    made = []
    for name, topic in topics.items():
        if "in" not in topic:
            continue
        kinds = [rng.choice(KINDS) for _ in range(partitions[name])]
        if set(kinds) == {"empty"}:
            kinds[0] = "plain"
        for partition, kind in enumerate(kinds):
            for number, time in enumerate(_times(kind, pace, rng)):
                key, value = _row(topic, partition, number, rng)
                made.append(Input(name, partition, key, value, time, ()))
    return made


def _times(kind: str, pace: Pace, rng: random.Random) -> list[int]:
    count, first, span = pace.records, 0, pace.span_ms
    match kind:
        case "empty":
            return []
        case "dense":
            count *= LONG_TIMES
        case "long":
            count, span = count * LONG_TIMES, span * 2
        case "ends":
            span //= 5
        case "begins":
            first = span * 4 // 5
    times = sorted(rng.randint(first, span) for _ in range(count))
    if kind == "pauses":
        times = [time for time in times if not span * 0.3 < time < span * 0.7]
    return [
        max(0, time - rng.randint(1, pace.late_ms)) if rng.random() < pace.disorder else time
        for time in times
    ]


def _row(
    topic: dict, partition: int, number: int, rng: random.Random
) -> tuple[bytes | None, bytes | None]:
    key = f"k{rng.randrange(KEYS)}"
    value: object = rng.randint(0, 99)
    if topic["value"] == "string":
        value = f"{rng.choice('abcd')}{rng.randrange(KEYS)}:{partition}.{number}"
        if rng.random() < 0.02:
            value = None
    return encode(topic["key"], key), encode(topic["value"], value)
