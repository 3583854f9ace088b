"""What counts for one share group: its own configuration, else the broker's."""

from __future__ import annotations

from millstream.broker.config.broker_config import broker_config
from millstream.broker.share.group_settings import ShareGroupSettings
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage, frozen_mapping
from millstream.protocol.enums import ConfigResourceType
from tests.support.handler_services import GivenMetadata


class World:
    def __init__(self, **broker: str) -> None:
        self.metadata = GivenMetadata(MetadataImage())
        named = {f"group.share.{name.replace('_', '.')}": value for name, value in broker.items()}
        self.settings = ShareGroupSettings(self.metadata, broker_config(named))

    def configure(self, group_id: str, **configs: str) -> None:
        resource = ConfigResource(ConfigResourceType.GROUP, group_id)
        named = {f"share.{name.replace('_', '.')}": value for name, value in configs.items()}
        self.metadata.image = MetadataImage(
            configs=frozen_mapping({resource: frozen_mapping(named)})
        )


def test_the_broker_s_defaults_are_those_of_kafka() -> None:
    values = World().settings.of("workers")
    assert (values.limits.record_locks_max, values.limits.delivery_count_max) == (2_000, 5)
    assert values.limits.lock_duration_ms == 30_000
    assert values.auto_offset_reset == "latest"
    assert not values.is_read_committed
    assert values.limits.may_renew


def test_the_group_s_own_configuration_counts_at_once() -> None:
    world = World()
    world.settings.of("workers")
    world.configure(
        "workers", delivery_count_limit="3", isolation_level="read_committed",
        auto_offset_reset="earliest", renew_acknowledge_enable="false",
    )  # fmt: skip
    values = world.settings.of("workers")
    assert values.limits.delivery_count_max == 3
    assert values.is_read_committed
    assert values.auto_offset_reset == "earliest"
    assert not values.limits.may_renew
    assert world.settings.of("others").limits.delivery_count_max == 5


def test_what_was_worked_out_is_remembered() -> None:
    world = World()
    assert world.settings.of("workers") is world.settings.of("workers")


def test_the_broker_s_settings_count_where_the_group_has_none() -> None:
    world = World(delivery_count_limit="7", max_delivery_count_limit="8")
    world.configure("strict", delivery_count_limit="9")
    assert world.settings.of("workers").limits.delivery_count_max == 7
    assert world.settings.of("strict").limits.delivery_count_max == 8, "the broker's limit"
