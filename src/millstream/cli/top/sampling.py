"""Looks at a cluster once for `millstream top`: ends of partitions, and what groups have read of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from millstream.cli.groups.kinds import described_groups, is_share_group
from millstream.cli.near_names import group_ids
from millstream.cli.top.rates import GroupSample, Sample
from millstream.clients.admin import OffsetSpec
from millstream.errors import KafkaError
from millstream.model import TopicPartition

if TYPE_CHECKING:
    from millstream.clients.admin import GroupDescription
    from millstream.clients.blocking import Admin


def sample(admin: Admin, time_ms: int, topics: str | None, groups: str | None) -> Sample:
    """`topics` and `groups`: patterns of whole names; None: all. What is deleted meanwhile is left out.

    Raises KafkaError where nobody answers.
    """
    names = [name for name in admin.list_topics() if topics is None or re.fullmatch(topics, name)]
    leaders = {
        TopicPartition(topic.name, each.partition): each.leader
        for topic in admin.describe_topics(names).values()
        if not isinstance(topic, KafkaError)
        for each in topic.partitions
        if each.leader >= 0
    }
    wanted = [name for name in group_ids(admin) if groups is None or re.fullmatch(groups, name)]
    described = [
        group
        for group in described_groups(admin, wanted).values()
        if not isinstance(group, KafkaError)
    ]
    positions, lags = _positions(admin, described)
    read = {key for each in positions.values() for key in each}
    found = admin.list_offsets(dict.fromkeys(leaders.keys() | read, OffsetSpec.LATEST))
    ends = {key: each.offset for key, each in found.items() if not isinstance(each, KafkaError)}
    samples = {
        group.group_id: _group_sample(group, positions[group.group_id], lags, ends)
        for group in described
        if group.group_id in positions
    }
    return Sample(time_ms, {key: ends[key] for key in ends if key in leaders}, leaders, samples)


Offsets = Mapping[TopicPartition, int]


def _positions(
    admin: Admin, groups: Iterable[GroupDescription]
) -> tuple[dict[str, Offsets], dict[str, Offsets]]:
    """Where each group is in each partition, and, of share groups, what the broker says is before it."""
    shared = [group.group_id for group in groups if is_share_group(group)]
    others = [group.group_id for group in groups if not is_share_group(group)]
    positions: dict[str, Offsets] = {}
    lags: dict[str, Offsets] = {}
    for name, committed in admin.list_consumer_group_offsets(others).items() if others else ():
        if not isinstance(committed, KafkaError):
            positions[name] = {key: each.offset for key, each in committed.items() if not isinstance(each, KafkaError)}  # fmt: skip
    for name, starts in admin.list_share_group_offsets(shared).items() if shared else ():
        if not isinstance(starts, KafkaError):
            told = {key: each for key, each in starts.items() if not isinstance(each, KafkaError)}
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
