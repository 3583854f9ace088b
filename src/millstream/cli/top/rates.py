"""Rates between two looks at a cluster: what comes into topics and brokers, how fast groups read it, and who is behind.

Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from millstream.model import TopicPartition

if TYPE_CHECKING:
    from millstream.cli.rows import Row
    from millstream.errors import KafkaError

TOPIC_COLUMNS: Final = ("topic", "partitions", "records_s")
GROUP_COLUMNS: Final = (
    "group", "state", "members", "lag", "lag_s", "records_s", "catches_up", "slowest", "slowest_lag", "client_id",
)  # fmt: skip
BROKER_COLUMNS: Final = ("broker", "leads", "records_s")
_NEVER: Final = "never"


class GroupSample(NamedTuple):
    """A group at one time.

    `lags` by partition: where its next record is and the log ends; for share groups the broker's own count.
    """

    state: str
    members: int
    positions: Mapping[TopicPartition, int]
    lags: Mapping[TopicPartition, int]
    owners: Mapping[TopicPartition, str]
    """The client ids of the members that read the partitions."""


class Sample(NamedTuple):
    """A cluster at one time.

    `ends` and `leaders` by partition; a partition that has no leader, or did not answer, is not among the ends.
    `partitions`: how many each topic has. `silent`: what did not answer, by its name.
    """

    time_ms: int
    ends: Mapping[TopicPartition, int]
    leaders: Mapping[TopicPartition, int]
    groups: Mapping[str, GroupSample]
    partitions: Mapping[str, int]
    silent: Mapping[str, KafkaError]


def topic_rows(before: Sample, now: Sample) -> list[Row]:
    """Returns a row for each topic, the busiest first."""
    rates: defaultdict[str, float] = defaultdict(float)
    for key, rate in _rates(before, now).items():
        rates[key.topic] += rate
    return [
        {"topic": topic, "partitions": count, "records_s": round(rates[topic])}
        for topic, count in sorted(
            now.partitions.items(), key=lambda each: (-rates[each[0]], each[0])
        )
    ]


def broker_rows(before: Sample, now: Sample) -> list[Row]:
    """Returns a row for each broker that leads something, by id."""
    leads = Counter(now.leaders.values())
    rates: defaultdict[int, float] = defaultdict(float)
    for key, rate in _rates(before, now).items():
        if key in now.leaders:
            rates[now.leaders[key]] += rate
    return [
        {"broker": broker, "leads": count, "records_s": round(rates[broker])}
        for broker, count in sorted(leads.items())
    ]


def group_rows(before: Sample, now: Sample) -> list[Row]:
    """Returns a row for each group, the one that is most behind first.

    `lag_s`: by how much the lag grows in a second.
    """
    lags = {name: sum(group.lags.values()) for name, group in now.groups.items()}
    names = sorted(lags, key=lambda name: (-lags[name], name))
    return [_group_row(name, lags[name], before, now) for name in names]


def _group_row(name: str, lag: int, before: Sample, now: Sample) -> Row:
    group, earlier = now.groups[name], before.groups.get(name)
    seconds = _seconds(before, now)
    read = grown = 0.0
    if earlier is not None:
        read = _gained(earlier.positions, group.positions) / seconds
        known = group.lags.keys() & earlier.lags.keys()
        grown = sum(group.lags[key] - earlier.lags[key] for key in known) / seconds
    behind = {key: each for key, each in group.lags.items() if each > 0}
    slowest = max(sorted(behind), key=behind.__getitem__, default=None)
    return {
        "group": name,
        "state": group.state,
        "members": group.members,
        "lag": lag,
        "lag_s": round(grown),
        "records_s": round(read),
        "catches_up": _catches_up(lag, grown),
        "slowest": None if slowest is None else str(slowest),
        "slowest_lag": None if slowest is None else behind[slowest],
        "client_id": None if slowest is None else group.owners.get(slowest),
    }


def _catches_up(lag: int, grown: float) -> str | None:
    """In how many seconds the lag is gone if all goes on as it does."""
    if lag == 0:
        return None
    return _NEVER if grown >= 0 else f"{lag / -grown:.0f} s"


def _seconds(before: Sample, now: Sample) -> float:
    return max(1, now.time_ms - before.time_ms) / 1000


def _rates(before: Sample, now: Sample) -> dict[TopicPartition, float]:
    seconds = _seconds(before, now)
    return {
        key: max(0, end - before.ends[key]) / seconds
        for key, end in now.ends.items()
        if key in before.ends
    }


def _gained(before: Mapping[TopicPartition, int], now: Mapping[TopicPartition, int]) -> int:
    """A group that was moved back has read nothing meanwhile."""
    return sum(max(0, now[key] - before[key]) for key in now.keys() & before.keys())
