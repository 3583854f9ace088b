"""Worlds for the tests of groups. Fixtures build, they assert nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.coordinator.group.config import ClassicGroupConfig, GroupCoordinatorConfig
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.coordinator import SimCoordinator


@pytest.fixture
def group() -> SimGroup:
    """A group that does not wait for more members before its first generation."""
    return SimGroup(
        SimCoordinator(
            GroupCoordinatorConfig(classic=ClassicGroupConfig(initial_rebalance_delay_ms=0))
        )
    )


@pytest.fixture
def group_with() -> Callable[..., SimGroup]:
    """The same, with other limits of classic groups or of offsets."""

    def build(
        *, initial_rebalance_delay_ms: int = 0, max_size: int = 100, **others: int
    ) -> SimGroup:
        classic = ClassicGroupConfig(
            initial_rebalance_delay_ms=initial_rebalance_delay_ms, max_size=max_size
        )
        config = GroupCoordinatorConfig(classic=classic, **others)  # type: ignore[arg-type]  # by name
        return SimGroup(SimCoordinator(config))

    return build
