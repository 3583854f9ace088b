"""The settings of group coordinators: what must fit together, and what coordinators are given."""

from __future__ import annotations

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.coordinator.group.config import (
    ConsumerGroupConfig,
    GroupCoordinatorConfig,
    Limited,
    MigrationPolicy,
)
from millstream.errors import ConfigError


def test_without_settings_consumer_groups_have_kafkas_defaults() -> None:
    assert broker_config({}).read(GroupCoordinatorConfig).consumer == ConsumerGroupConfig()


def test_settings_of_consumer_groups_reach_their_coordinator() -> None:
    settings = {
        "group.consumer.session.timeout.ms": "50000",
        "group.consumer.assignors": "range",
        "group.consumer.migration.policy": "UPGRADE",
        "group.consumer.max.size": "7",
        "group.consumer.regex.refresh.interval.ms": "20000",
    }
    config = broker_config(settings).read(GroupCoordinatorConfig).consumer
    assert config == ConsumerGroupConfig(
        session_timeout_ms=Limited("consumer.session.timeout.ms", 50_000, 45_000, 60_000),
        assignors=("range",),
        migration_policy=MigrationPolicy.UPGRADE,
        max_size=7,
        regex_refresh_interval_ms=20_000,
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"group.coordinator.rebalance.protocols": "consumer"},
        {"group.coordinator.rebalance.protocols": "classic,other"},
        {"group.consumer.session.timeout.ms": "1000"},
        {"group.consumer.assignors": "sticky"},
        {"group.consumer.migration.policy": "sometimes"},
        {
            "group.consumer.min.session.timeout.ms": "5000",
            "group.consumer.session.timeout.ms": "5000",
        },
    ],
    ids=lambda settings: "-".join(settings),
)
def test_settings_that_do_not_fit_together_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        broker_config(settings)
