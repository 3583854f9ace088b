"""Creates topics that clients ask for and that do not exist yet, with the defaults of the broker, and those of the
coordinators they look for.

No request waits for it: the client is told that the topic is unknown, or its coordinator not available, and asks again.
A topic is created once however many ask for it meanwhile, and what is being created at a time is bounded.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.internal_topics import internal_topic
from millstream.broker.long_work import LongWork
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import BackgroundTasks, ControllerClient, Metadata
from millstream.controller.settings import RECORDS_PER_REQUEST_MAX
from millstream.controller.topics.create_topics import CREATE_TOPICS
from millstream.errors import (
    KafkaError,
    ThrottlingQuotaExceeded,
    TopicAlreadyExists,
    error_for,
)
from millstream.metadata.topic_names import CLUSTER_METADATA_TOPIC, is_internal
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from millstream.quoting import shortened, some_of

_LOGGER = logging.getLogger(__name__)
_CREATION_TIMEOUT_MS: Final = 5_000
_DEFAULT: Final = -1
_PLANNED_AT_ONCE: Final = 1_000
"""Topics. The controller plans 60 of them in a millisecond, on the loop."""
IN_FLIGHT_MAX: Final = RECORDS_PER_REQUEST_MAX
"""Names. What asks for more records than that, of which each topic needs two or more, is not created, as
Kafka's controller refuses it."""

TOPICS_MAX: Final = 50_000
"""Of the cluster. Where there are more, only who may create topics makes others: a client that asks for names makes
none by that. Kafka has no such bound."""


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """The defaults of a new topic, as this broker was started with them."""

    num_partitions: int
    default_replication_factor: int


class AutoTopicCreation:
    """Creates topics that clients name and that do not exist (`auto.create.topics.enable`)."""

    def __init__(
        self,
        controller: ControllerClient,
        config: DynamicConfig,
        tasks: BackgroundTasks,
        *,
        metadata: Metadata,
        long_work: LongWork,
        topics_max: int = TOPICS_MAX,
    ) -> None:
        self._metadata = metadata
        self._topics_max = topics_max
        self._has_said_full = False
        self._controller = controller
        self._config = config
        self._tasks = tasks
        self._long_work = long_work
        self._in_flight: set[str] = set()
        self._refusals: dict[str, str] = {}
        """By internal topic, of which there are few: why the last attempt failed."""

    @property
    def is_enabled(self) -> bool:
        """Whether clients may have topics of their own created. Those of coordinators are created whatever it says."""
        return self._config.current.auto_create_topics_enable

    def refusal_of(self, internal_name: str) -> str | None:
        """Returns why the topic of a coordinator could not be created when it was tried last."""
        return self._refusals.get(internal_name)

    def create(
        self, names: Sequence[str], client: RequestContext, *, as_broker: bool = False
    ) -> None:
        """Starts to create what can be created.

        The controller is asked for this client, which must be allowed to, or for this broker.

        A refusal is logged and no more: the client finds the topic still unknown, and asks again.
        """
        wanted = [name for name in dict.fromkeys(names) if name not in self._in_flight]
        if len(self._in_flight) + len(wanted) > IN_FLIGHT_MAX:
            _LOGGER.warning(
                "topics %s, asked for by client %r, are not created: too many at a time",
                some_of(wanted), shortened(client.client_id),
            )  # fmt: skip
        elif wanted and not as_broker and self._is_full(len(wanted)):
            if not self._has_said_full:
                self._has_said_full = True
                _LOGGER.warning(
                    "topics %s, asked for by client %r, are not created: the cluster has %d already; create them, or remove some",
                    some_of(wanted), shortened(client.client_id), self._topics_max,
                )  # fmt: skip
        elif wanted:
            self._in_flight.update(wanted)
            self._tasks.start(
                self._create(wanted, client, as_broker=as_broker), "topics that clients ask for"
            )

    def _is_full(self, more: int) -> bool:
        count = len(self._metadata.image.topics.by_name) + len(self._in_flight)
        if count + more <= self._topics_max:
            self._has_said_full = False
            return False
        return True

    async def _create(
        self, names: Sequence[str], client: RequestContext, *, as_broker: bool
    ) -> None:
        try:
            topics = [
                topic
                async for name in self._long_work.in_turns(names)
                if (topic := self._topic(name)) is not None
            ]
            if self._record_count(topics) > RECORDS_PER_REQUEST_MAX:
                # Kafka's controller refuses one request for so many. Planning them first would take a tenth of a second.
                _LOGGER.warning(
                    "topics %s, asked for by client %r, are not created: more than one creation may make",
                    some_of([topic.name for topic in topics]), shortened(client.client_id),
                )  # fmt: skip
                return
            caller = None if as_broker else client.asking(ApiKey.CREATE_TOPICS)
            results: list[CreatableTopicResult] = []
            for first in range(0, len(topics), _PLANNED_AT_ONCE):
                results += await self._submit(topics[first : first + _PLANNED_AT_ONCE], caller)
            _tell(results, client.client_id)
        finally:
            self._in_flight.difference_update(names)

    def _record_count(self, topics: Sequence[CreatableTopic]) -> int:
        default = self._config.current.num_partitions
        return sum(
            1 + (default if topic.num_partitions == _DEFAULT else topic.num_partitions)
            for topic in topics
        )

    async def _submit(
        self, topics: Sequence[CreatableTopic], caller: RequestContext | None
    ) -> list[CreatableTopicResult]:
        """Returns what is to be told of the results."""
        request = CreateTopicsRequest(topics=[*topics], timeout_ms=_CREATION_TIMEOUT_MS)
        try:
            response = await self._controller.ask(CREATE_TOPICS, request, caller)
        except KafkaError as error:
            failed = [
                CreatableTopicResult(
                    name=topic.name, error_code=error.code, error_message=str(error)
                )
                for topic in topics
            ]
            if news := self._news(failed):
                _LOGGER.warning(
                    "topics %s were asked for and could not be created: %s",
                    some_of([result.name for result in news]), error,
                )  # fmt: skip
            return []
        return self._news(response.topics)

    def _news(self, results: Sequence[CreatableTopicResult]) -> list[CreatableTopicResult]:
        """Notes what became of internal topics.

        Returns what to log: who looks for a coordinator asks many times a second.
        """
        news = []
        for result in results:
            told_before = self._refusals.pop(result.name, None)
            refusal = _refusal(result)
            if refusal is not None and is_internal(result.name):
                self._refusals[result.name] = refusal
                if refusal == told_before:
                    continue
            news.append(result)
        return news

    def _topic(self, name: str) -> CreatableTopic | None:
        """Internal topics come with the configuration their coordinator needs; those without a
        coordinator here do not come at all.

        Others have the defaults that this broker was started with, and what it was not told is the controller's
        to choose, as in Kafka: a controller apart knows of neither.
        """
        if is_internal(name):
            return internal_topic(name, self._config.current)
        if name == CLUSTER_METADATA_TOPIC:
            return None
        own = self._config.current
        defaults = own.read(TopicDefaults)
        return CreatableTopic(
            name=name,
            num_partitions=defaults.num_partitions
            if "num.partitions" in own.settings
            else _DEFAULT,
            replication_factor=defaults.default_replication_factor
            if "default.replication.factor" in own.settings
            else _DEFAULT,
        )


def _refusal(result: CreatableTopicResult) -> str | None:
    """Returns why a topic was not created; None where it is there, and where there is nothing to tell.

    That is so of a client above its quota of changes, which asks again many times a second: the
    quota's own line tells of it.
    """
    if result.error_code in (0, TopicAlreadyExists.code, ThrottlingQuotaExceeded.code):
        return None
    return result.error_message or str(error_for(result.error_code))


def _tell(results: Sequence[CreatableTopicResult], client_id: str) -> None:
    """Logs the outcome in two lines at most, however many names the client asked for."""
    created = [result.name for result in results if result.error_code == 0]
    refused = [
        f"{result.name} ({refusal})"
        for result in results
        if (refusal := _refusal(result)) is not None
    ]
    if created:
        by_setting = not all(is_internal(name) for name in created)
        _LOGGER.info(
            "%s %s did not exist and %s created, because client %r asked for it%s",
            "topic" if len(created) == 1 else "topics", some_of(created),
            "was" if len(created) == 1 else "were", shortened(client_id),
            " (auto.create.topics.enable)" if by_setting else "",
        )  # fmt: skip
    if refused:
        _LOGGER.info(
            "asked for by client %r and not created: %s", shortened(client_id), some_of(refused)
        )
