"""Creates topics that clients ask for and that do not exist yet, with the defaults of the broker."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.internal_topics import internal_topic
from millstream.broker.node.services import ControllerClient
from millstream.controller.controller import Controller
from millstream.errors import KafkaError, TopicAlreadyExists
from millstream.metadata.topic_names import CLUSTER_METADATA_TOPIC, is_internal
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from millstream.quoting import shortened, some_of

_LOGGER = logging.getLogger(__name__)
_CREATION_TIMEOUT_MS: Final = 5_000
_DEFAULT: Final = -1


class AutoTopicCreation:
    """Creates topics that clients name and that do not exist (`auto.create.topics.enable`)."""

    def __init__(self, controller: ControllerClient, config: DynamicConfig) -> None:
        self._controller = controller
        self._config = config

    @property
    def is_enabled(self) -> bool:
        return self._config.current.auto_create_topics_enable

    async def create(self, names: Sequence[str], client_id: str) -> None:
        """Creates what can be created, and logs for which client. A refusal is logged and no more: the client finds the
        topic still unknown, and asks again.
        """
        topics = [topic for name in names if (topic := self._topic(name)) is not None]
        if not topics:
            return
        request = CreateTopicsRequest(topics=topics, timeout_ms=_CREATION_TIMEOUT_MS)
        try:
            response = await self._controller.submit(Controller.handle_create_topics, request)
        except KafkaError as error:
            _LOGGER.warning(
                "topics %s were asked for and could not be created: %s", some_of(names), error
            )
            return
        _tell(response.topics, client_id)

    def _topic(self, name: str) -> CreatableTopic | None:
        """Internal topics come with the configuration their coordinator needs; those without a coordinator here do not come at all."""
        if is_internal(name):
            return internal_topic(name, self._config.current)
        if name == CLUSTER_METADATA_TOPIC:
            return None
        return CreatableTopic(name=name, num_partitions=_DEFAULT, replication_factor=_DEFAULT)


def _tell(results: Sequence[CreatableTopicResult], client_id: str) -> None:
    """Logs the outcome in two lines at most, however many names the client asked for."""
    created = [result.name for result in results if result.error_code == 0]
    refused = [
        f"{result.name} ({result.error_message})"
        for result in results
        if result.error_code not in (0, TopicAlreadyExists.code)
    ]
    if created:
        _LOGGER.info(
            "%s %s did not exist and %s created, because client %r asked for it (auto.create.topics.enable)",
            "topic" if len(created) == 1 else "topics", some_of(created),
            "was" if len(created) == 1 else "were", shortened(client_id),
        )  # fmt: skip
    if refused:
        _LOGGER.info(
            "asked for by client %r and not created: %s", shortened(client_id), some_of(refused)
        )
