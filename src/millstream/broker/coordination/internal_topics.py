"""The topics in which coordinators keep their records: their names and configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.broker.config.broker_config import BrokerConfig
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
)

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"


def internal_topic(name: str, config: BrokerConfig) -> CreatableTopic | None:
    """Returns the internal topic with the configs that Kafka gives it; None for a topic that no
    coordinator here needs.
    """
    match name:
        case "__consumer_offsets":
            return _consumer_offsets(config)
        case "__transaction_state":
            return _transaction_state(config)
        case "__share_group_state":
            return _share_group_state(config)
        case _:
            return None


def _consumer_offsets(config: BrokerConfig) -> CreatableTopic:
    overrides = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(config.offsets_topic_segment_bytes),
    }
    return CreatableTopic(
        name=CONSUMER_OFFSETS,
        num_partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs=_configs(overrides),
    )


def _transaction_state(config: BrokerConfig) -> CreatableTopic:
    overrides = {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": str(config.transaction_state_log_min_isr),
        "segment.bytes": str(config.transaction_state_log_segment_bytes),
        "unclean.leader.election.enable": "false",
    }
    return CreatableTopic(
        name=TRANSACTION_STATE,
        num_partitions=config.transaction_state_log_num_partitions,
        replication_factor=config.transaction_state_log_replication_factor,
        configs=_configs(overrides),
    )


def _share_group_state(config: BrokerConfig) -> CreatableTopic:
    """Not compacted: its coordinators delete what later snapshots have made redundant."""
    overrides = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": str(config.share_coordinator_state_topic_min_isr),
        "retention.ms": "-1",
        "segment.bytes": str(config.share_coordinator_state_topic_segment_bytes),
    }
    return CreatableTopic(
        name=SHARE_GROUP_STATE,
        num_partitions=config.share_coordinator_state_topic_num_partitions,
        replication_factor=config.share_coordinator_state_topic_replication_factor,
        configs=_configs(overrides),
    )


def _configs(overrides: Mapping[str, str]) -> list[CreatableTopicConfig]:
    return [CreatableTopicConfig(name, value) for name, value in overrides.items()]
