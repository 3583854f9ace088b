"""Bugs of share groups and streams groups, for `group_scenarios` to find: each is a patch of one function."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.broker.share.persister import SharePersister
from millstream.coordinator.group.context import GroupTimerKind
from millstream.coordinator.group.streams import heartbeat, sessions
from millstream.coordinator.group.streams.reconciliation import reconcile as true_reconcile
from millstream.coordinator.group.streams.task_owners import TaskOwners

Patch = pytest.MonkeyPatch


def acknowledgements_are_not_stored(patch: Patch) -> None:
    """A leader tells members that what they accepted is accepted, and keeps it to itself."""

    async def write(self: SharePersister, *_: Any) -> None:
        return None

    patch.setattr(SharePersister, "write", write)


def a_new_coordinator_waits_a_moment_for_members(patch: Patch) -> None:
    """And not for a whole session, in which each of them beats."""

    def resume(context: Any, group: Any, member: Any) -> None:
        context.start_timer(sessions._timer(GroupTimerKind.SESSION, group, member), _A_MOMENT_MS)

    patch.setattr(sessions, "resume", resume)


_A_MOMENT_MS = 1_000


def tasks_are_given_before_they_are_given_back(patch: Patch) -> None:
    def reconcile(member: Any, target: Any, owners: Any, owned: Any) -> Any:
        return true_reconcile(member, target, TaskOwners(), owned)

    patch.setattr(heartbeat, "reconcile", reconcile)
