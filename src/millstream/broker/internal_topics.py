"""The topics coordinators keep their records in: how they are made when somebody needs them for the first time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.broker.config import BrokerConfig
from millstream.broker.node import Node
from millstream.controller.controller import Controller
from millstream.errors import TopicAlreadyExists, error_for
from millstream.metadata.image import TopicImage
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"
_CREATION_TIMEOUT_MS: Final = 5_000


async def ensure_internal_topic(node: Node, name: str) -> TopicImage:
    """The topic, made now if nobody has made it yet. Raises a KafkaError that says why it cannot be made."""
    topic = node.metadata.image.topic(name)
    if topic is None:
        creatable = internal_topic(name, node.config)
        assert creatable is not None, f"no coordinator here keeps its records in {name}"
        await _create(node, creatable)
        topic = node.metadata.image.topic(name)
        assert topic is not None, "a created topic is in the image when the controller has answered"
    return topic


def internal_topic(name: str, config: BrokerConfig) -> CreatableTopic | None:
    """With the configs Kafka gives it; None for a topic no coordinator here needs."""
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


async def _create(node: Node, topic: CreatableTopic) -> None:
    """Somebody else may be faster; that is as good."""
    request = CreateTopicsRequest(topics=[topic], timeout_ms=_CREATION_TIMEOUT_MS)
    response = await node.controller.submit(Controller.handle_create_topics, request)
    (result,) = response.topics
    if result.error_code not in (0, TopicAlreadyExists.code):
        raise error_for(result.error_code, result.error_message)
