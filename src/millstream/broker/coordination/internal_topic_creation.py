"""Creates the topic of a coordinator when it is needed for the first time."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.internal_topics import internal_topic
from millstream.broker.services import ControllerClient, Metadata
from millstream.controller.topics.create_topics import CREATE_TOPICS
from millstream.errors import RequestTimedOut, TopicAlreadyExists, error_for
from millstream.metadata.image import TopicImage
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest

_CREATION_TIMEOUT_MS: Final = 5_000
"""Ours: an election of the controller takes less, and who asks for a coordinator asks again."""
_APPLIED_POLL_S: Final = 0.01
"""The image tells nobody when it comes."""


class InternalTopics:
    """The topics in which coordinators keep their records."""

    def __init__(
        self, metadata: Metadata, controller: ControllerClient, config: DynamicConfig
    ) -> None:
        self._metadata = metadata
        self._controller = controller
        self._config = config

    async def ensure(self, name: str) -> TopicImage:
        """Returns the topic, created now if it does not exist.

        Raises a KafkaError that says why it cannot be created.
        """
        topic = self._metadata.image.topic(name)
        if topic is None:
            creatable = internal_topic(name, self._config.current)
            assert creatable is not None, f"no coordinator here keeps its records in {name}"
            await self._create(creatable)
            topic = await self._applied(name)
        return topic

    async def _applied(self, name: str) -> TopicImage:
        """Returns the topic once this node has read of it: where another one leads, its answer may come before.

        Raises RequestTimedOut.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CREATION_TIMEOUT_MS / 1000):
                while (topic := self._metadata.image.topic(name)) is None:  # noqa: ASYNC110 - it comes with the log
                    await asyncio.sleep(_APPLIED_POLL_S)
                return topic
        raise RequestTimedOut(f"{name} was created and is not in the metadata of this node yet")

    async def _create(self, topic: CreatableTopic) -> None:
        """Creates the topic; another broker may have been faster, which is as good."""
        request = CreateTopicsRequest(topics=[topic], timeout_ms=_CREATION_TIMEOUT_MS)
        response = await self._controller.ask(CREATE_TOPICS, request)
        (result,) = response.topics
        if result.error_code not in (0, TopicAlreadyExists.code):
            raise error_for(result.error_code, result.error_message)
