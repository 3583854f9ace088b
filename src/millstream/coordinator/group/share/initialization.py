"""Share state of the partitions a share group reads: what is to be initialised, and what became of it.

The share coordinator may be on another node. The group's record says what it was asked for and what it has done, so
that nothing is assigned too early and nothing is forgotten when the group is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.context import GroupContext, TopicsChanged
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.share.records import state_partitions_record
from millstream.coordinator.group.share.requests import (
    InitializedPartitions,
    PartitionsInitialized,
    PartitionsNotInitialized,
)
from millstream.coordinator.group.share.state_partitions import StatePartitions, union, without
from millstream.coordinator.result import CoordinatorResult
from millstream.model import Uuid


@dataclass(frozen=True, slots=True)
class Initialization:
    """To be asked of the share coordinator, then told to the group coordinator."""

    group_id: str
    state_epoch: int
    partitions: Partitions
    start_offsets: Mapping[tuple[Uuid, int], int] = field(default_factory=dict)
    """Where an administrator wants the group to begin; elsewhere the first leader decides."""


def begin_initialization(
    context: GroupContext, group: ShareGroup, topic_names: Collection[str], group_epoch: int
) -> Initialization | None:
    """Returns the partitions that are read and have no state.

    Those asked for a moment ago are left to the heartbeat that asked.
    """
    missing = without(_partitions_of(context, topic_names), group.state_partitions.initialized)
    if not missing:
        return None
    now_ms = context.now.monotonic_ms
    asked_since_ms = now_ms - context.config.share.initialize_retry_interval_ms
    initializing = group.state_partitions.initializing
    asked_ms = {
        **dict.fromkeys(initializing, now_ms),  # known from the log alone
        **group.soft.asked_to_initialize_ms,
    }
    asked = {
        topic_id: partitions
        for topic_id, partitions in initializing.items()
        if asked_ms[topic_id] > asked_since_ms
    }
    missing = without(missing, asked)
    asked_ms.update(dict.fromkeys(missing, now_ms))
    if asked_ms != group.soft.asked_to_initialize_ms:
        context.replace_soft(group, replace(group.soft, asked_to_initialize_ms=asked_ms))
    if not missing:
        return None
    write_state_partitions(context, group, group.state_partitions.with_initializing(missing))
    return Initialization(group.group_id, group_epoch, missing)


def finish_initialization(
    context: GroupContext, request: PartitionsInitialized
) -> CoordinatorResult:
    """The share coordinator has them: they can be assigned with the next heartbeat."""
    group = context.groups.find(request.group_id)
    if isinstance(group, ShareGroup):
        _forget_asking(context, group, request.partitions)
        state = group.state_partitions.with_initialized(request.partitions)
        write_state_partitions(context, group, state)
    return context.reply(None)


def abandon_initialization(
    context: GroupContext, request: PartitionsNotInitialized
) -> CoordinatorResult:
    """The share coordinator has refused: the next heartbeat asks again."""
    group = context.groups.find(request.group_id)
    if isinstance(group, ShareGroup):
        _forget_asking(context, group, request.partitions)
        if group.state_partitions.initializing:
            state = group.state_partitions.without_initializing(request.partitions)
            write_state_partitions(context, group, state)
    return context.reply(None)


def list_initialized(context: GroupContext, request: InitializedPartitions) -> CoordinatorResult:
    """Replies with `Partitions`."""
    group = context.groups.find(request.group_id)
    known = group.state_partitions.initialized if isinstance(group, ShareGroup) else {}
    return context.reply(known)


def forget_deleted_topics(context: GroupContext, request: TopicsChanged) -> CoordinatorResult:
    """Forgets the share state of topics that are gone: the share coordinator learns of it by itself."""
    del request
    for group in context.groups.of_kind(ShareGroup):
        gone = group.state_partitions.topic_ids() - context.image.topics.by_id.keys()
        if gone:
            write_state_partitions(context, group, group.state_partitions.without_topics(gone))
    return context.reply(None)


def write_state_partitions(
    context: GroupContext, group: ShareGroup, state: StatePartitions
) -> None:
    context.result.records.append(
        state_partitions_record(group.group_id, state, context.image.topics.by_id)
    )


def all_with_state(context: GroupContext, group: ShareGroup) -> Partitions:
    """Returns the partitions that the share coordinator may have state of, half-done deletions included."""
    state = group.state_partitions
    known = union(state.initialized, state.initializing)
    topics = context.image.topics.by_id
    deleting = {
        topic_id: frozenset(range(len(topics[topic_id].partitions)))
        for topic_id in state.deleting
        if topic_id in topics
    }
    return union(known, deleting)


def _partitions_of(context: GroupContext, topic_names: Collection[str]) -> Partitions:
    topics = context.image.topics.by_name
    read = (topics[name] for name in topic_names if name in topics)
    return {topic.topic_id: frozenset(range(len(topic.partitions))) for topic in read}


def _forget_asking(context: GroupContext, group: ShareGroup, partitions: Partitions) -> None:
    asked_ms = {
        topic_id: asked_ms
        for topic_id, asked_ms in group.soft.asked_to_initialize_ms.items()
        if topic_id not in partitions
    }
    context.replace_soft(group, replace(group.soft, asked_to_initialize_ms=asked_ms))
