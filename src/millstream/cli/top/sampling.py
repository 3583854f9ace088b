"""Looks at a cluster once for `millstream top`: ends of partitions, and what groups have read of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from millstream.cli.groups.kinds import described_groups, is_share_group
from millstream.cli.near_names import group_ids
from millstream.cli.top.rates import GroupSample, Sample
from millstream.clients.admin import OffsetSpec
from millstream.errors import GroupIdNotFound, KafkaError, UnknownTopicOrPartition
from millstream.model import TopicPartition

if TYPE_CHECKING:
    from millstream.clients.admin import GroupDescription
    from millstream.clients.blocking import Admin


Offsets = Mapping[TopicPartition, int]
Key = TypeVar("Key")
Value = TypeVar("Value")


def sample(admin: Admin, time_ms: int, topics: str | None, groups: str | None) -> Sample:
    """`topics` and `groups`: patterns of whole names; None: all. What is deleted meanwhile is left out.

    Raises KafkaError where nobody answers, or for no topic.
    """
    silent: dict[str, KafkaError] = {}
    names = [name for name in admin.list_topics() if topics is None or re.fullmatch(topics, name)]
    topics_there = _answered(admin.describe_topics(names), silent)
    if silent and not topics_there:
        raise next(iter(silent.values()))
    leaders = {
        TopicPartition(topic.name, each.partition): each.leader
        for topic in topics_there.values()
        for each in topic.partitions
        if each.leader >= 0
    }
    wanted = [name for name in group_ids(admin) if groups is None or re.fullmatch(groups, name)]
    described = [*_answered(described_groups(admin, wanted), silent, "group ").values()]
    positions, lags = _positions(admin, described, silent)
    read = {key for each in positions.values() for key in each}
    found = admin.list_offsets(dict.fromkeys(leaders.keys() | read, OffsetSpec.LATEST))
    ends = {key: each.offset for key, each in _answered(found, silent).items()}
    samples = {
        group.group_id: _group_sample(group, positions[group.group_id], lags, ends)
        for group in described
        if group.group_id in positions
    }
    of_leaders = {key: ends[key] for key in ends if key in leaders}
    partitions = {name: len(topic.partitions) for name, topic in topics_there.items()}
    return Sample(time_ms, of_leaders, leaders, samples, partitions, silent)


def _answered(
    found: Mapping[Key, Value | KafkaError], silent: dict[str, KafkaError], whose: str = ""
) -> dict[Key, Value]:
    """Returns what has answered, and notes the errors of the others by name; what is deleted has none."""
    answers: dict[Key, Value] = {}
    for key, each in found.items():
        if not isinstance(each, KafkaError):
            answers[key] = each
        elif not isinstance(each, UnknownTopicOrPartition | GroupIdNotFound):
            silent[f"{whose}{key}"] = each
    return answers


def _positions(
    admin: Admin, groups: Iterable[GroupDescription], silent: dict[str, KafkaError]
) -> tuple[dict[str, Offsets], dict[str, Offsets]]:
    """Where each group is in each partition, and, of share groups, what the broker says is before it."""
    shared = [group.group_id for group in groups if is_share_group(group)]
    others = [group.group_id for group in groups if not is_share_group(group)]
    positions: dict[str, Offsets] = {}
    lags: dict[str, Offsets] = {}
    committed = admin.list_consumer_group_offsets(others) if others else {}
    for name, offsets in _answered(committed, silent, "group ").items():
        of_group = _answered(offsets, silent, f"group {name}: ")
        positions[name] = {key: each.offset for key, each in of_group.items()}
    starts = admin.list_share_group_offsets(shared) if shared else {}
    for name, of_share_group in _answered(starts, silent, "group ").items():
        told = _answered(of_share_group, silent, f"group {name}: ")
        positions[name] = {key: each.start_offset for key, each in told.items()}
        lags[name] = {key: each.lag for key, each in told.items() if each.lag is not None}
    return positions, lags


def _group_sample(
    group: GroupDescription, positions: Offsets, lags: Mapping[str, Offsets], ends: Offsets
) -> GroupSample:
    behind = {key: max(0, ends[key] - at) for key, at in positions.items() if key in ends}
    return GroupSample(
        str(group.state),
        len(group.members),
        positions,
        behind | dict(lags.get(group.group_id, {})),
        {key: member.client_id for member in group.members for key in member.assignment},
    )
