"""Worlds for the tests of groups. Fixtures build, they assert nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.coordinator.group.config import GroupCoordinatorConfig
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.coordinator import SimCoordinator


@pytest.fixture
def group() -> SimGroup:
    """A group that does not wait for more members before its first generation."""
    return SimGroup(SimCoordinator(GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0)))


@pytest.fixture
def group_with() -> Callable[..., SimGroup]:
    """The same, with other limits."""

    def build(**limits: int) -> SimGroup:
        limits.setdefault("group_initial_rebalance_delay_ms", 0)
        return SimGroup(SimCoordinator(GroupCoordinatorConfig(**limits)))

    return build
