"""Looks for all copies of a stream thread at once whether they lack something, and less often while nothing comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.clients.admin import OffsetSpec
from millstream.model import TopicPartition
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.tasks.standby_task import StandbyTask

LOOK_FIRST_MS: Final = 500
LOOK_LAST_MS: Final = 2_000
ANSWER_MS: Final = 5_000
"""A partition that has no answer by then is left to its own copy, which finds out why."""


async def copies_behind(
    clients: TaskClients, group_id: str, copies: Mapping[StreamsTaskId, StandbyTask]
) -> set[StreamsTaskId]:
    """Returns the copies that lack something, or of which it cannot be said.

    Few requests for all: who coordinates and what is committed, who leads, and the ends of changelogs of each leader.
    """
    committed = await clients.committed_offsets(
        group_id, {each for copy in copies.values() for each in copy.inputs}
    )
    changelogs = {each for copy in copies.values() for each in copy.changelogs}
    listed = await clients.admin.list_offsets(
        dict.fromkeys(changelogs, OffsetSpec.LATEST),
        read_committed=clients.is_read_committed,
        timeout_ms=ANSWER_MS,
    )
    failed = listed.errors().keys()
    ends = {each: listed.result(each).offset for each in changelogs - failed}
    return {
        task
        for task, copy in copies.items()
        if failed & copy.changelogs
        or copy.lacks(_by_topic(committed, copy.inputs), _by_topic(ends, copy.changelogs))
    }


def next_pause_ms(pause_ms: int, first_ms: int, *, has_news: bool) -> int:
    """Returns how long to wait until the next look, after this pause."""
    return first_ms if has_news else min(2 * pause_ms, LOOK_LAST_MS)


def _by_topic(
    offsets: Mapping[TopicPartition, int], of: frozenset[TopicPartition]
) -> dict[str, int]:
    return {each.topic: offsets[each] for each in of if each in offsets}
