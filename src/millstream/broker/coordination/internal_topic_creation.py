"""Makes the topic of a coordinator when somebody needs it for the first time."""

from __future__ import annotations

from typing import Final

from millstream.broker.coordination.internal_topics import internal_topic
from millstream.broker.node.node import Node
from millstream.controller.controller import Controller
from millstream.errors import TopicAlreadyExists, error_for
from millstream.metadata.image import TopicImage
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest

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


async def _create(node: Node, topic: CreatableTopic) -> None:
    """Somebody else may be faster; that is as good."""
    request = CreateTopicsRequest(topics=[topic], timeout_ms=_CREATION_TIMEOUT_MS)
    response = await node.controller.submit(Controller.handle_create_topics, request)
    (result,) = response.topics
    if result.error_code not in (0, TopicAlreadyExists.code):
        raise error_for(result.error_code, result.error_message)
