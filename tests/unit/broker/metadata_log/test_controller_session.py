"""What the active controller does of itself, again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.metadata_log import controller_session
from millstream.broker.metadata_log.controller_session import ControllerSession
from millstream.broker.node_state import NodeIdentity
from millstream.controller.partitions.balancing import plan_balance, plan_unclean_elections
from millstream.errors import ClusterAuthorizationFailed, NotController
from millstream.metadata.features import METADATA_VERSION
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from tests.patience import until
from tests.sim.virtual_time import VirtualClock, run_in_virtual_time

NOW_AND_THEN = {
    "leader.imbalance.check.interval.seconds": "0",
    "unclean.leader.election.interval.ms": "0",
}


@dataclass
class Runner:
    """Answers that more is due as often as it is told to, then that nothing is."""

    more: list[bool | Exception] = field(default_factory=list)
    is_leader: bool = True
    asked: list[object] = field(default_factory=list)
    image: MetadataImage = field(default_factory=MetadataImage)

    def leads(self) -> bool:
        return self.is_leader

    async def submit(self, handle: object, _request: None) -> bool:
        self.asked.append(handle)
        await asyncio.sleep(0)
        answer = self.more.pop(0) if self.more else False
        if isinstance(answer, Exception):
            raise answer
        return answer


def session(runner: Runner, settings: dict[str, str] = NOW_AND_THEN) -> ControllerSession:
    nothing = cast("Any", None)  # Any: what these tasks do not look at
    config = broker_config(settings)
    return ControllerSession(
        cast("Any", runner), nothing, nothing, config, nothing
    )  # Any: of the runner two methods


@pytest.mark.parametrize(
    ("task", "handle"),
    [
        (ControllerSession.balance_leaders, plan_balance),
        (ControllerSession.elect_uncleanly, plan_unclean_elections),
    ],
)
async def test_a_run_that_leaves_something_is_followed_by_another_at_once(
    task: Callable[[ControllerSession], Coroutine[None, None, None]],
    handle: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(controller_session, "_SHORTEST_S", 0)
    runner = Runner(more=[True, True, False, NotController("moved"), True, False])
    running = asyncio.create_task(task(session(runner)))
    await until(lambda: len(runner.asked) > 6)
    running.cancel()
    assert set(runner.asked) == {handle}
    assert runner.more == []


async def test_an_interval_of_0_does_not_ask_without_end() -> None:
    runner = Runner()
    running = [
        asyncio.create_task(session(runner).balance_leaders()),
        asyncio.create_task(session(runner).elect_uncleanly()),
    ]
    for _ in range(50):
        await asyncio.sleep(0)
    for task in running:
        task.cancel()
    assert runner.asked == []


def test_an_interval_below_a_second_is_one() -> None:
    asked_s: list[float] = []

    class Watched(Runner):
        async def submit(self, handle: object, request: None) -> bool:
            asked_s.append(round(asyncio.get_running_loop().time(), 3))
            return await super().submit(handle, request)

    async def story() -> None:
        often = session(Watched(), {"unclean.leader.election.interval.ms": "200"})
        running = asyncio.create_task(often.elect_uncleanly())
        await asyncio.sleep(0.7)
        running.cancel()
        await asyncio.wait([running])

    run_in_virtual_time(story())
    assert asked_s == [0.2, 0.4, 0.6]


async def test_a_controller_that_does_not_lead_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(controller_session, "_SHORTEST_S", 0)
    runner = Runner(is_leader=False)
    running = asyncio.create_task(session(runner).balance_leaders())
    for _ in range(5):
        await asyncio.sleep(0)
    running.cancel()
    assert runner.asked == []


def test_who_may_not_fence_any_more_lets_the_loop_write_that_down() -> None:
    """A node that learns of another leader refuses at once, and leads for itself until that is on its disk."""

    class Moving(Runner):
        is_written = False

        def session_deadline_ms(self) -> int | None:
            return None if self.is_written else 0

        async def submit(self, handle: object, _request: None) -> bool:
            self.asked.append(handle)
            assert len(self.asked) < 1_000, "nothing else has its turn"
            raise NotController

    async def story() -> None:
        runner = Moving()
        nothing = cast("Any", None)
        fencing = ControllerSession(
            cast("Any", runner), nothing, nothing, broker_config({}), VirtualClock()
        )
        running = asyncio.create_task(fencing.fence_expired())
        await asyncio.sleep(0.12)  # the disk takes its time
        runner.is_written = True
        await asyncio.sleep(60)
        assert len(runner.asked) == 3
        running.cancel()
        await asyncio.wait([running])

    run_in_virtual_time(story())


def test_a_controller_that_may_not_register_asks_again_and_its_node_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A node that ended for that would take its vote along."""

    class Refusing:
        asked = 0

        async def ask(self, _api: object, _request: object) -> None:
            self.asked += 1
            raise ClusterAuthorizationFailed

    async def story() -> None:
        runner, leader = Runner(), Refusing()
        runner.image = MetadataImage(features={METADATA_VERSION: 30})
        identity = NodeIdentity(BrokerId(2), "cluster", b"d" * 16, b"i" * 16)
        member = ControllerSession(
            cast("Any", runner), cast("Any", leader), identity, broker_config({}), VirtualClock()
        )  # Any: what this task does not ask them
        running = asyncio.create_task(member.stay_registered([]))
        await asyncio.sleep(3.5)
        assert not running.done()
        assert leader.asked == 4
        running.cancel()
        await asyncio.wait([running])

    run_in_virtual_time(story())
    (told,) = caplog.messages
    assert "does not register" in told
