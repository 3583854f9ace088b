"""Which connection is used, when one is made, and what failures cost. The dialer is played; nothing is sent."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from millstream.errors import (
    KafkaError,
    NetworkException,
    RequestTimedOut,
    SaslAuthenticationFailed,
)
from millstream.net.client.connections import (
    AllRefused,
    Connections,
    DialPolicy,
    Lane,
    NoBrokerReachable,
)
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.outages import Backoff
from millstream.net.client.dialer import NotConnected
from millstream.net.client.tasks import ClientClosed, TaskScope

A, B = Address("a", 1), Address("b", 2)


class Steady:
    def random(self) -> float:
        return 0.5

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


class PlayedConnection:
    def __init__(self, in_flight_count: int = 0) -> None:
        self.is_closed = False
        self.in_flight_count = in_flight_count

    def begin_close(self) -> None:
        self.is_closed = True

    async def close(self) -> None:
        self.begin_close()


class World:
    """Dials as `outcomes` say; an address without one hangs until `release`."""

    client_id = "me"

    def __init__(self) -> None:
        self.now_ms = 0
        self.outcomes: dict[Address, KafkaError | PlayedConnection] = {}
        self.dialed: list[tuple[Address, int]] = []
        self.release = asyncio.Event()
        self.scope = TaskScope("client")
        policy = DialPolicy(Backoff(10_000, 30_000), Backoff(50, 1_000))
        dialer: Any = self
        self.connections = Connections(
            dialer,
            policy,
            self.scope,
            lambda: self.now_ms,
            Steady(),
            log=logging.getLogger("dialing"),
        )

    async def dial(self, address: Address, timeout_ms: int) -> Any:
        self.dialed.append((address, timeout_ms))
        if address not in self.outcomes:
            await self.release.wait()
        outcome = self.outcomes[address]
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome


async def test_those_who_ask_at_once_share_one_connection_per_lane() -> None:
    world = World()
    asked = [asyncio.ensure_future(world.connections.get(A, Lane.MAIN)) for _ in range(5)]
    asked.append(asyncio.ensure_future(world.connections.get(A, Lane.FETCH)))
    await asyncio.sleep(0)
    world.outcomes[A] = PlayedConnection()
    world.release.set()
    assert len(set(await asyncio.gather(*asked))) == 1
    assert world.dialed == [(A, 10_000), (A, 10_000)]


async def test_those_who_ask_while_an_address_is_silent_share_its_failure() -> None:
    """Else the hundredth of them waits for a hundred time limits, one after the other."""
    world = World()
    asked = [asyncio.ensure_future(world.connections.get(A, Lane.MAIN)) for _ in range(5)]
    await asyncio.sleep(0)
    world.outcomes[A] = RequestTimedOut("no answer from a")
    world.release.set()
    told = await asyncio.gather(*asked, return_exceptions=True)
    assert [str(each) for each in told] == ["no answer from a"] * 5
    assert {type(each) for each in told} == {RequestTimedOut}
    assert world.dialed == [(A, 10_000)]


async def test_who_asks_after_a_failure_has_the_address_tried_again() -> None:
    world = World()
    world.outcomes[A] = RequestTimedOut("no answer from a")
    with pytest.raises(RequestTimedOut):
        await world.connections.get(A, Lane.MAIN)
    world.now_ms = world.connections._next_attempt_ms(A)
    world.outcomes[A] = PlayedConnection()
    assert await world.connections.get(A, Lane.MAIN) is world.outcomes[A]


async def test_those_who_ask_with_one_who_is_cancelled_have_the_address_tried_for_them() -> None:
    world = World()
    first = asyncio.ensure_future(world.connections.get(A, Lane.MAIN))
    second = asyncio.ensure_future(world.connections.get(A, Lane.MAIN))
    await asyncio.sleep(0)
    first.cancel()
    world.outcomes[A] = PlayedConnection()
    world.release.set()
    assert await second is world.outcomes[A]


async def test_waits_and_time_limits_double_with_the_failures_of_an_address() -> None:
    """KIP-580, KIP-601."""
    world = World()
    world.outcomes = {A: NetworkException("a: refused"), B: PlayedConnection()}
    waits = []
    for _ in range(6):
        with pytest.raises(NetworkException):
            await world.connections.get(A, Lane.MAIN)
        due_ms = world.connections._next_attempt_ms(A)
        waits.append(due_ms - world.now_ms)
        world.now_ms = due_ms
    assert waits == [50, 100, 200, 400, 800, 1000]
    assert [timeout for _, timeout in world.dialed] == [10_000, 20_000, *[30_000] * 4]
    assert world.connections._next_attempt_ms(B) == 0
    world.outcomes[A] = PlayedConnection()
    await world.connections.get(A, Lane.MAIN)
    assert not world.connections.any_failed


async def test_addresses_that_never_failed_are_tried_first() -> None:
    world = World()
    world.outcomes = {A: NetworkException("a: refused"), B: PlayedConnection()}
    with pytest.raises(NetworkException):
        await world.connections.get(A, Lane.MAIN)
    assert await world.connections.first_reachable([A, B]) is world.outcomes[B]
    assert [address for address, _ in world.dialed] == [A, B]


async def test_a_silent_address_does_not_hold_up_the_next() -> None:
    world = World()
    world.outcomes = {B: PlayedConnection()}
    assert await world.connections.first_reachable([A, B]) is world.outcomes[B]
    await world.scope.close()
    assert world.scope.task_count == 0


async def test_when_nobody_is_reachable_each_reason_is_told_and_a_refusal_comes_first() -> None:
    world = World()
    world.outcomes = {A: NetworkException("a: refused"), B: NetworkException("b: unknown")}
    with pytest.raises(NoBrokerReachable, match="no broker could be reached: a: refused; b: unk"):
        await world.connections.first_reachable([A, B])
    world.now_ms = 10_000
    world.outcomes[A] = SaslAuthenticationFailed("a: go away")
    with pytest.raises(SaslAuthenticationFailed, match="a: go away"):
        await world.connections.first_reachable([A, B])


async def test_the_least_loaded_connection_for_short_requests_is_found() -> None:
    world = World()
    assert world.connections.least_loaded() is None
    world.outcomes = {A: PlayedConnection(3), B: PlayedConnection(1)}
    await world.connections.get(B, Lane.FETCH)
    await world.connections.get(A, Lane.MAIN)
    assert world.connections.least_loaded() is world.outcomes[A]
    await world.connections.get(B, Lane.MAIN)
    assert world.connections.least_loaded() is world.outcomes[B]
    await world.connections.close()
    assert world.connections.least_loaded() is None


async def test_a_connection_that_comes_after_the_client_was_closed_is_closed() -> None:
    world = World()
    late = asyncio.ensure_future(world.connections.get(A, Lane.MAIN))
    await asyncio.sleep(0)
    await world.scope.close()
    connection = world.outcomes[A] = PlayedConnection()
    world.release.set()
    with pytest.raises(ClientClosed):
        await late
    assert connection.is_closed


async def test_who_looks_for_a_broker_when_the_client_is_closed_is_told_so() -> None:
    """Not cancelled: a task that nobody has cancelled would end in silence."""
    world = World()
    looking = asyncio.ensure_future(world.connections.first_reachable([A]))
    await asyncio.sleep(0)
    await world.scope.close()
    with pytest.raises(ClientClosed):
        await looking


async def test_an_address_that_has_not_answered_yet_is_named() -> None:
    """A caller whose time is over before that of the attempt says of whom it waited."""
    world = World()
    dialling = asyncio.ensure_future(world.connections.get(A, Lane.MAIN))
    await asyncio.sleep(0)
    world.connections._note_silence(A)
    world.now_ms += 4_000
    assert world.connections.any_failed
    assert world.connections.why_unreachable() == "no answer from a:1 since 5.0 s"
    world.outcomes[A] = PlayedConnection()
    world.release.set()
    await dialling
    assert not world.connections.any_failed


async def test_that_all_refused_is_told_from_silence() -> None:
    """A tool ends at once when nothing listens anywhere; silence may be a slow start."""
    world = World()
    world.outcomes = {A: NotConnected("a: refused"), B: NotConnected("b: unknown")}
    with pytest.raises(AllRefused):
        await world.connections.first_reachable([A, B])
    world.now_ms = 10_000
    world.outcomes[B] = RequestTimedOut("b: silent")
    with pytest.raises(NoBrokerReachable) as failed:
        await world.connections.first_reachable([A, B])
    assert not isinstance(failed.value, AllRefused)


async def test_an_address_that_refuses_is_warned_of_once_and_its_return_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "dialing")
    world = World()
    world.outcomes = {A: NotConnected("cannot connect to a:1: refused")}
    for _ in range(5):
        with pytest.raises(NotConnected):
            await world.connections.get(A, Lane.MAIN)
        world.now_ms = world.connections._next_attempt_ms(A)
    assert caplog.messages == [
        "me: cannot connect to a:1: refused (2 attempts in 0.1 s; trying again)"
    ]
    world.now_ms += 60_000
    with pytest.raises(NotConnected):
        await world.connections.get(A, Lane.MAIN)
    assert caplog.messages[1:] == [
        "me: cannot connect to a:1: refused (6 attempts in 61.5 s; trying again)"
    ]
    world.now_ms += 1_000
    world.outcomes[A] = PlayedConnection()
    await world.connections.get(A, Lane.MAIN)
    assert caplog.messages[2:] == ["me: connected to a:1 after 62.5 s"]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "INFO"]


async def test_a_refusal_that_the_user_is_told_of_is_not_logged_as_well(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    world.outcomes = {A: SaslAuthenticationFailed("a: go away")}
    for _ in range(3):
        with pytest.raises(SaslAuthenticationFailed):
            await world.connections.get(A, Lane.MAIN)
        world.now_ms = world.connections._next_attempt_ms(A)
    assert caplog.messages == []
