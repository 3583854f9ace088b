"""Worlds for the tests of consumer groups. Fixtures build, they assert nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.coordinator.group.config import (
    ClassicGroupConfig,
    ConsumerGroupConfig,
    GroupCoordinatorConfig,
)
from tests.support.coordinators.consumer_group import SimConsumerGroup
from tests.support.coordinators.coordinator import SimCoordinator


@pytest.fixture
def consumers_with() -> Callable[..., SimConsumerGroup]:
    """A group on the topics `t` (4 partitions) and `u` (2), under other limits than Kafka's."""

    def build(**limits: object) -> SimConsumerGroup:
        config = GroupCoordinatorConfig(
            classic=ClassicGroupConfig(initial_rebalance_delay_ms=0),
            consumer=ConsumerGroupConfig(**limits),  # type: ignore[arg-type]  # whatever the test says
        )
        group = SimConsumerGroup(SimCoordinator(config))
        group.set_topics({"t": 4, "u": 2})
        return group

    return build


@pytest.fixture
def consumers(consumers_with: Callable[..., SimConsumerGroup]) -> SimConsumerGroup:
    return consumers_with()
