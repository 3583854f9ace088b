"""The settings of the broker as its group coordinator takes them, for groups of every kind. A mapping, nothing else."""

from __future__ import annotations

from typing import Final

from millstream.broker.config.broker_config import BrokerConfig
from millstream.coordinator.group.classic.config import ClassicGroupConfig
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.consumer.config import ConsumerGroupConfig, MigrationPolicy
from millstream.coordinator.group.dynamic_config import Limited
from millstream.coordinator.group.share.config import ShareGroupConfig
from millstream.coordinator.group.streams.config import INT_MAX, StreamsGroupConfig

_MINUTE_MS: Final = 60_000


def group_coordinator_config(config: BrokerConfig) -> GroupCoordinatorConfig:
    return GroupCoordinatorConfig(
        classic=ClassicGroupConfig(
            min_session_timeout_ms=config.group_min_session_timeout_ms,
            max_session_timeout_ms=config.group_max_session_timeout_ms,
            initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
            max_size=config.group_max_size,
        ),
        offset_metadata_max_bytes=config.offset_metadata_max_bytes,
        offsets_retention_ms=config.offsets_retention_minutes * _MINUTE_MS,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        consumer=_consumer_group_config(config),
        share=_share_group_config(config),
        streams=_streams_group_config(config),
    )


def _consumer_group_config(config: BrokerConfig) -> ConsumerGroupConfig:
    return ConsumerGroupConfig(
        session_timeout_ms=Limited(
            config.group_consumer_session_timeout_ms,
            config.group_consumer_min_session_timeout_ms,
            config.group_consumer_max_session_timeout_ms,
        ),
        heartbeat_interval_ms=Limited(
            config.group_consumer_heartbeat_interval_ms,
            config.group_consumer_min_heartbeat_interval_ms,
            config.group_consumer_max_heartbeat_interval_ms,
        ),
        assignment_interval_ms=Limited(
            config.group_consumer_assignment_interval_ms,
            config.group_consumer_min_assignment_interval_ms,
            config.group_consumer_max_assignment_interval_ms,
        ),
        max_size=config.group_consumer_max_size,
        assignors=config.group_consumer_assignors,
        migration_policy=MigrationPolicy(config.group_consumer_migration_policy.lower()),
        regex_refresh_interval_ms=config.group_consumer_regex_refresh_interval_ms,
    )


def _share_group_config(config: BrokerConfig) -> ShareGroupConfig:
    return ShareGroupConfig(
        session_timeout_ms=Limited(
            config.group_share_session_timeout_ms,
            config.group_share_min_session_timeout_ms,
            config.group_share_max_session_timeout_ms,
        ),
        heartbeat_interval_ms=Limited(
            config.group_share_heartbeat_interval_ms,
            config.group_share_min_heartbeat_interval_ms,
            config.group_share_max_heartbeat_interval_ms,
        ),
        assignment_interval_ms=Limited(
            config.group_share_assignment_interval_ms,
            config.group_share_min_assignment_interval_ms,
            config.group_share_max_assignment_interval_ms,
        ),
        max_size=config.group_share_max_size,
        initialize_retry_interval_ms=config.group_share_initialize_retry_interval_ms,
    )


def _streams_group_config(config: BrokerConfig) -> StreamsGroupConfig:
    return StreamsGroupConfig(
        session_timeout_ms=Limited(
            config.group_streams_session_timeout_ms,
            config.group_streams_min_session_timeout_ms,
            config.group_streams_max_session_timeout_ms,
        ),
        heartbeat_interval_ms=Limited(
            config.group_streams_heartbeat_interval_ms,
            config.group_streams_min_heartbeat_interval_ms,
            config.group_streams_max_heartbeat_interval_ms,
        ),
        assignment_interval_ms=Limited(
            config.group_streams_assignment_interval_ms,
            config.group_streams_min_assignment_interval_ms,
            config.group_streams_max_assignment_interval_ms,
        ),
        initial_rebalance_delay_ms=Limited(
            config.group_streams_initial_rebalance_delay_ms, 0, INT_MAX
        ),
        num_standby_replicas=Limited(
            config.group_streams_num_standby_replicas,
            0,
            config.group_streams_max_standby_replicas,
        ),
        max_size=config.group_streams_max_size,
    )
