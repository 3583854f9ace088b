"""Worlds for the tests of share groups. Fixtures build, they assert nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.coordinator.group.config import GroupCoordinatorConfig, Limited, ShareGroupConfig
from tests.support.coordinators.coordinator import SimCoordinator
from tests.support.coordinators.share_group import SimShareGroup

BuildGroup = Callable[..., SimShareGroup]


@pytest.fixture
def group_with() -> BuildGroup:
    """A group on the topic `orders` of four partitions that assigns at once; `limits` are those of ShareGroupConfig."""

    def build(sizes: dict[str, int] | None = None, **limits: object) -> SimShareGroup:
        limits.setdefault(
            "assignment_interval_ms", Limited("share.assignment.interval.ms", 0, 0, 15_000)
        )
        config = GroupCoordinatorConfig(share=ShareGroupConfig(**limits))  # type: ignore[arg-type]  # by name
        return SimShareGroup(SimCoordinator(config), sizes or {"orders": 4})

    return build


@pytest.fixture
def group(group_with: BuildGroup) -> SimShareGroup:
    return group_with()
