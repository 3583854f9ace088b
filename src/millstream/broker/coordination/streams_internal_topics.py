"""Creates the internal topics of streams applications (KIP-1071) for members whose heartbeat found them missing.

No request waits for a creation: the member is told that topics are missing until a later heartbeat finds them. A topic
that could not be made is not tried again for a while, and its member is told why.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from millstream.broker.long_work import LongWork
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import BackgroundTasks, ControllerClient
from millstream.controller.topics.create_topics import CREATE_TOPICS
from millstream.coordinator.group.streams.configured_topology import ConfiguredInternalTopic
from millstream.errors import KafkaError, TopicAlreadyExists, error_for
from millstream.protocol.generated.create_topics import CreateTopicsRequest, CreateTopicsResponse
from millstream.quoting import some_of
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
FAILURES_MAX: Final = 1_000
"""Groups whose last failure is remembered: clients choose how many there are."""


@dataclass(frozen=True, slots=True)
class _Failure:
    message: str
    forget_at_ms: int


class StreamsInternalTopics:
    """Creates missing topics, one creation a topic at a time, and keeps the newest failures."""

    def __init__(
        self,
        controller: ControllerClient,
        tasks: BackgroundTasks,
        clock: Clock,
        timeout_ms: int,
        *,
        long_work: LongWork,
    ) -> None:
        """`timeout_ms`: how long the controller may take."""
        self._controller = controller
        self._tasks = tasks
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._long_work = long_work
        self._in_flight: set[str] = set()
        self._failures: OrderedDict[str, _Failure] = OrderedDict()

    def create(
        self,
        topics: Mapping[str, ConfiguredInternalTopic],
        retry_after_ms: int,
        client: RequestContext,
    ) -> None:
        """Starts to create the topics, by name, that are not being created and did not just fail.

        There may be tens of thousands.

        `client`: whom the controller is asked for.
        """
        names = topics.keys() - self._in_flight - self.failures(topics.keys()).keys()
        if names:
            self._in_flight |= names
            self._tasks.start(
                self._create(topics, names, retry_after_ms, client), "streams internal topics"
            )

    def failures(self, names: AbstractSet[str]) -> Mapping[str, str]:
        """Returns the reasons why topics could not be created lately, by name."""
        now_ms = self._clock.now().monotonic_ms
        return {
            name: failure.message
            for name, failure in sorted(self._failures.items())
            if name in names and failure.forget_at_ms > now_ms
        }

    async def _create(
        self,
        topics: Mapping[str, ConfiguredInternalTopic],
        names: AbstractSet[str],
        retry_after_ms: int,
        client: RequestContext,
    ) -> None:
        wanted = [
            topic.creatable()
            async for name, topic in self._long_work.in_turns(topics.items())
            if name in names
        ]
        request = CreateTopicsRequest(topics=wanted, timeout_ms=self._timeout_ms)
        try:
            response = await self._controller.ask(CREATE_TOPICS, request, client)
        except KafkaError as error:
            told = some_of([topic.name for topic in wanted])
            _LOGGER.warning("internal topics %s could not be created: %s", told, error)
            async for name in self._long_work.in_turns(names):
                self._remember(name, str(error), retry_after_ms)
        else:
            await self._note(response, retry_after_ms)
        finally:
            self._in_flight.difference_update(names)

    async def _note(self, response: CreateTopicsResponse, retry_after_ms: int) -> None:
        refused = []
        async for result in self._long_work.in_turns(response.topics):
            if result.error_code in (0, TopicAlreadyExists.code):
                self._failures.pop(result.name, None)
                continue
            message = result.error_message or str(error_for(result.error_code))
            refused.append(f"{result.name} ({message})")
            self._remember(result.name, message, retry_after_ms)
        if refused:
            _LOGGER.warning("internal topics could not be created: %s", some_of(refused))

    def _remember(self, name: str, message: str, retry_after_ms: int) -> None:
        self._failures.pop(name, None)
        forget_at_ms = self._clock.now().monotonic_ms + retry_after_ms
        self._failures[name] = _Failure(message, forget_at_ms)
        if len(self._failures) > FAILURES_MAX:
            self._failures.popitem(last=False)
