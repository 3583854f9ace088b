"""Internal topics made on behalf of streams members: one attempt at a time, and none again right after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from millstream.broker.coordination.streams_internal_topics import (
    FAILURES_MAX,
    StreamsInternalTopics,
)
from millstream.broker.long_work import LongWork
from millstream.coordinator.group.streams.configured_topology import ConfiguredInternalTopic
from millstream.errors import InvalidConfig, NotController, TopicAlreadyExists
from millstream.protocol.generated.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.runtime import Instant
from millstream.security.principal import KafkaPrincipal
from tests.support.handler_services import request_context

RETRY_AFTER_MS = 10_000


class World:
    """A controller that answers with `codes` by topic, a clock that stands still, and tasks that run when told."""

    def __init__(self, **codes: int) -> None:
        self.codes = codes
        self.unreachable = False
        self.now_ms = 0
        self.asked: list[list[str]] = []
        self.client = request_context(7, principal=KafkaPrincipal("User", "alice"))
        self.waiting: list[Coroutine[None, None, None]] = []
        self.topics = StreamsInternalTopics(
            self, self, self, timeout_ms=30_000, long_work=LongWork(lambda: 0.0)
        )  # type: ignore[arg-type]  # plays the controller

    def now(self) -> Instant:
        return Instant(0, self.now_ms)

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None:
        del name
        self.waiting.append(coroutine)

    async def ask(
        self, _api: object, request: CreateTopicsRequest, caller: object = None
    ) -> CreateTopicsResponse:
        assert caller is self.client, "internal topics are made for whoever wants them"
        self.asked.append([topic.name for topic in request.topics])
        if self.unreachable:
            raise NotController
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(
                    name=topic.name,
                    error_code=self.codes.get(topic.name, 0),
                    error_message=f"no {topic.name}",
                )
                for topic in request.topics
            ]
        )

    def create(self, *names: str) -> None:
        topics = {name: ConfiguredInternalTopic(name, 1, 0, {}) for name in names}
        self.topics.create(topics, RETRY_AFTER_MS, self.client)

    def run(self) -> None:
        for coroutine in self.waiting:
            asyncio.run(_finished(coroutine))
        self.waiting.clear()


async def _finished(coroutine: Coroutine[None, None, None]) -> None:
    await coroutine


def test_missing_topics_are_created_together() -> None:
    world = World()
    world.create("a", "b")
    world.run()
    assert world.asked == [["a", "b"]]
    assert world.topics.failures({"a", "b"}) == {}


def test_a_topic_that_is_being_created_is_not_asked_for_again() -> None:
    world = World()
    world.create("a")
    world.create("a", "b")
    world.run()
    assert world.asked == [["a"], ["b"]]


def test_a_failure_is_told_and_not_repeated_for_a_while() -> None:
    world = World(a=InvalidConfig.code)
    world.create("a")
    world.run()
    assert world.topics.failures({"a", "b"}) == {"a": "no a"}
    world.create("a")
    assert world.waiting == []
    world.now_ms = RETRY_AFTER_MS
    assert world.topics.failures({"a"}) == {}
    world.create("a")
    world.run()
    assert world.asked == [["a"], ["a"]]


def test_a_controller_that_is_not_there_is_a_failure_of_every_topic() -> None:
    world = World()
    world.unreachable = True
    world.create("a", "b")
    world.run()
    assert set(world.topics.failures({"a", "b"})) == {"a", "b"}


def test_a_topic_that_somebody_else_made_is_as_good() -> None:
    world = World(a=TopicAlreadyExists.code)
    world.create("a")
    world.run()
    assert world.topics.failures({"a"}) == {}


def test_failures_do_not_pile_up() -> None:
    names = [f"t{number}" for number in range(FAILURES_MAX + 1)]
    world = World(**dict.fromkeys(names, InvalidConfig.code))
    world.create(*names)
    world.run()
    assert len(world.topics.failures(set(names))) == FAILURES_MAX
