"""A goodbye that is cancelled in the middle is said again by whoever leaves next."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from millstream.clients.consumer.call_guard import CallGuard
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.consumer.group_subscription import GroupSubscription
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.group.heartbeats import Heartbeats
from millstream.clients.group.owned_partitions import commit_nothing
from millstream.errors import CoordinatorNotAvailable
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope


class Coordinator:
    """Plays the cluster and the connection to its coordinator, who answers once `answers` is set."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.asked, self.answers = asyncio.Event(), asyncio.Event()
        self.is_lost = False

    @property
    def metadata(self) -> Coordinator:
        return self

    def use_all_topics(self, wanted: bool) -> None:
        assert not wanted

    async def coordinator(self, _group_id: str) -> int:
        if self.is_lost:
            raise CoordinatorNotAvailable
        return 1

    async def connection(self, _node_id: int, _lane: object) -> Coordinator:
        return self

    def forget_coordinator(self, _group_id: str) -> None:
        self.is_lost = True

    def now_ms(self) -> int:
        return 0

    async def ask(self, _connection: object, request: str) -> None:
        self.heard.append(request)
        self.asked.set()
        await self.answers.wait()


class NobodyPolls:
    """The decisions for a member whose application is stuck: it leaves at once."""

    max_poll_interval_ms = 1

    def wait_ms(self, _now_ms: int) -> int:
        return 0

    def is_unpolled(self, _now_ms: int) -> bool:
        return True


def heartbeats_of(coordinator: Coordinator, leave_unpolled: Any = None) -> Any:
    parts: Any = (coordinator, TaskScope("test"), "g", NobodyPolls(), coordinator.ask)
    return Heartbeats(*parts, lambda _: None, leave_unpolled)


async def test_what_an_unsubscribe_began_is_said_again_by_close() -> None:
    coordinator = Coordinator()
    heartbeats = heartbeats_of(coordinator)
    unsubscribing = asyncio.ensure_future(heartbeats.say_goodbye("bye"))
    await coordinator.asked.wait()
    unsubscribing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await unsubscribing
    coordinator.answers.set()
    await heartbeats.say_goodbye(None)
    assert coordinator.heard == ["bye", "bye"]
    await heartbeats.say_goodbye(None)
    assert coordinator.heard == ["bye", "bye"], "it was answered"


class Subscriber:
    """A subscription whose unsubscribe() was cancelled while the coordinator was told."""

    def __init__(self, coordinator: Coordinator) -> None:
        heartbeats = heartbeats_of(coordinator)

        class Member:
            async def leave(self) -> None:
                await heartbeats.say_goodbye("bye")

        self.state = SubscriptionState()
        self.state.subscribe(["t"])
        self.state.set_partitions([TopicPartition("t", 0)])
        parts: Any = (None, coordinator, self.state, None, TaskScope("test"), CallGuard("consumer"))
        self.subscription = GroupSubscription(*parts, before_giving_up=commit_nothing)
        self.subscription._member = cast("Any", Member())
        self._coordinator = coordinator

    async def cancel_unsubscribe(self) -> None:
        unsubscribing = asyncio.ensure_future(self.subscription.unsubscribe())
        await self._coordinator.asked.wait()
        unsubscribing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await unsubscribing
        self._coordinator.answers.set()


async def test_close_leaves_the_group_that_a_cancelled_unsubscribe_was_leaving() -> None:
    coordinator = Coordinator()
    subscriber = Subscriber(coordinator)
    await subscriber.cancel_unsubscribe()
    await subscriber.subscription.leave()
    assert coordinator.heard == ["bye", "bye"]


async def test_a_cancelled_unsubscribe_leaves_nothing_to_read_and_is_made_again() -> None:
    coordinator = Coordinator()
    subscriber = Subscriber(coordinator)
    await subscriber.cancel_unsubscribe()
    assert not subscriber.state.partitions, "of a group that it is no member of"
    with pytest.raises(IllegalState, match="nothing to read"):
        await subscriber.subscription.poll(0)
    await subscriber.subscription.unsubscribe()
    assert coordinator.heard == ["bye", "bye"]
    await subscriber.subscription.leave()
    assert coordinator.heard == ["bye", "bye"], "it has left"


async def test_what_a_member_began_that_nobody_polled_is_said_again_when_it_ends() -> None:
    coordinator = Coordinator()
    heartbeats = heartbeats_of(coordinator, lambda: heartbeats.say_goodbye("bye"))
    heartbeats.keep_beating(0)
    await coordinator.asked.wait()
    await heartbeats.stop()
    coordinator.answers.set()
    await heartbeats.say_goodbye(None)
    assert coordinator.heard == ["bye", "bye"]


async def test_who_cannot_be_told_is_not_told_again() -> None:
    """The session ends it, as in Kafka, whose goodbye is sent once."""
    coordinator = Coordinator()
    coordinator.is_lost = True
    heartbeats = heartbeats_of(coordinator)
    await heartbeats.say_goodbye("bye")
    coordinator.is_lost = False
    await heartbeats.say_goodbye(None)
    assert coordinator.heard == []
