"""A call that waits for a task of the client is told when another task has failed: it is not cancelled for that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from millstream.clients.config.consumer import ConsumerConfig
from millstream.clients.consumer.call_guard import CallGuard
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.consumer.group_subscription import GroupSubscription
from millstream.clients.group.classic_member import ClassicMember
from millstream.clients.group.owned_partitions import commit_nothing
from millstream.net.client.core.outages import Backoff
from millstream.net.client.tasks import TaskScope
from millstream.runtime.system import SystemRandom


class Cluster:
    """As much of one as a member asks that is not in a group yet."""

    backoff = Backoff(100, 1_000)
    random = SystemRandom()

    def now_ms(self) -> int:
        return 0


async def forever() -> None:
    await asyncio.Event().wait()


async def test_a_poll_that_waits_for_a_join_tells_of_a_task_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scope = TaskScope("consumer")
    cluster: Any = Cluster()
    nothing: Any = None
    member = ClassicMember(
        ConsumerConfig(group_id="g"), cluster, SubscriptionState(), nothing, scope
    )
    monkeypatch.setattr(member, "_join", forever)
    polling = asyncio.ensure_future(member._joins(60_000, commit_nothing))
    await asyncio.sleep(0)
    scope.fail(ValueError("bug"))
    with pytest.raises(RuntimeError, match="a background task failed"):
        await polling


async def test_an_unsubscribe_that_a_failed_task_has_cancelled_does_not_cancel_the_close() -> None:
    scope = TaskScope("consumer")

    class Member:
        async def leave(self) -> None:
            await forever()

    class Cluster:
        """Its metadata too."""

        def __init__(self) -> None:
            self.metadata = self

        def use_all_topics(self, wanted: bool) -> None:
            assert not wanted

    parts: Any = (None, Cluster(), SubscriptionState(), None, scope, CallGuard("consumer"))
    subscription = GroupSubscription(*parts, before_giving_up=commit_nothing)
    member: Any = Member()
    subscription._member = member
    subscription.unsubscribe_soon()
    await asyncio.sleep(0)
    scope.fail(ValueError("bug"))
    await subscription.end_unsubscribing()
