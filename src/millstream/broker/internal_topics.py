"""The topics coordinators keep their records in: how they are made when somebody needs them for the first time."""

from __future__ import annotations

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
_CREATION_TIMEOUT_MS: Final = 5_000


async def ensure_consumer_offsets(node: Node) -> TopicImage:
    """The topic, made now if nobody has made it yet. Raises a KafkaError that says why it cannot be made."""
    topic = node.metadata.image.topic(CONSUMER_OFFSETS)
    if topic is None:
        await _create(node, consumer_offsets_topic(node.config))
        topic = node.metadata.image.topic(CONSUMER_OFFSETS)
        assert topic is not None, "a created topic is in the image when the controller has answered"
    return topic


def consumer_offsets_topic(config: BrokerConfig) -> CreatableTopic:
    """With the configs Kafka gives it."""
    overrides = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(config.offsets_topic_segment_bytes),
    }
    return CreatableTopic(
        name=CONSUMER_OFFSETS,
        num_partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs=[CreatableTopicConfig(name, value) for name, value in overrides.items()],
    )


async def _create(node: Node, topic: CreatableTopic) -> None:
    """Somebody else may be faster; that is as good."""
    request = CreateTopicsRequest(topics=[topic], timeout_ms=_CREATION_TIMEOUT_MS)
    response = await node.controller.submit(Controller.handle_create_topics, request)
    (result,) = response.topics
    if result.error_code not in (0, TopicAlreadyExists.code):
        raise error_for(result.error_code, result.error_message)
