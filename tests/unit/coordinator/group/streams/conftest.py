"""Worlds for the tests of streams groups. Fixtures build, they assert nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.coordinator.group.config import GroupCoordinatorConfig, Limited, StreamsGroupConfig
from tests.support.coordinators.coordinator import SimCoordinator
from tests.support.coordinators.streams_group import SimStreamsGroup, subtopology

BuildGroup = Callable[..., SimStreamsGroup]


@pytest.fixture
def group_with() -> BuildGroup:
    """A group on the topic `in` of four partitions that assigns at once; `limits` are those of StreamsGroupConfig."""

    def build(
        *subtopologies: object, sizes: dict[str, int] | None = None, **limits: object
    ) -> SimStreamsGroup:
        limits.setdefault(
            "initial_rebalance_delay_ms",
            Limited("streams.initial.rebalance.delay.ms", 0, 0, 60_000),
        )
        limits.setdefault(
            "assignment_interval_ms", Limited("streams.assignment.interval.ms", 0, 0, 60_000)
        )
        config = GroupCoordinatorConfig(streams=StreamsGroupConfig(**limits))  # type: ignore[arg-type]  # by name
        chosen = subtopologies or (subtopology(sources=["in"]),)
        return SimStreamsGroup(SimCoordinator(config), sizes or {"in": 4}, *chosen)  # type: ignore[arg-type]  # by name

    return build


@pytest.fixture
def group(group_with: BuildGroup) -> SimStreamsGroup:
    return group_with()
