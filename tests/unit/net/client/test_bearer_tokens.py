"""When a bearer token is fetched, who waits for it, and what becomes of them when there is none to be had."""

from __future__ import annotations

import asyncio

import pytest

from millstream.errors import KafkaError, SaslAuthenticationFailed
from millstream.net.client.bearer_tokens import BearerTokens
from millstream.net.client.config.connection import ConnectionConfig
from millstream.net.client.core.credentials import ProvidedToken
from millstream.runtime.system import SystemRandom
from millstream.security.sasl_client import OAuthBearerToken
from tests.unit.streams.application.manual_clock import MovedClock

LIFE_MS = 100_000


class World:
    """Tokens are numbered. While `is_down` there are none."""

    def __init__(self) -> None:
        self.clock = MovedClock()
        self.is_down = False
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.tokens = BearerTokens(
            ProvidedToken(self._give), ConnectionConfig(), self.clock, SystemRandom()
        )

    async def _give(self) -> OAuthBearerToken:
        self.asked += 1
        await self.may_answer.wait()
        if self.is_down:
            raise OSError("the endpoint is down")
        return OAuthBearerToken(f"token {self.asked}", self.clock.now().wall_ms + LIFE_MS)

    async def get(self) -> str:
        return (await self.tokens.get()).value


async def test_many_who_ask_at_once_share_one_token_which_is_fetched_anew_after_four_fifths() -> (
    None
):
    world = World()
    assert await asyncio.gather(*[world.get() for _ in range(5)]) == ["token 1"] * 5
    world.clock.pass_ms(LIFE_MS * 8 // 10 - 1)
    assert await world.get() == "token 1"
    world.clock.pass_ms(1)
    assert await world.get() == "token 2"


async def test_many_who_wait_for_a_token_that_is_not_to_be_had_share_the_failure() -> None:
    """Else each would wait for as many attempts as there are before it in the queue."""
    world = World()
    world.is_down = True
    world.may_answer.clear()
    asked = [asyncio.ensure_future(world.get()) for _ in range(5)]
    await asyncio.sleep(0)
    world.may_answer.set()
    told = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(each) for each in told} == {SaslAuthenticationFailed}
    assert world.asked == 1
    world.is_down = False
    assert await world.get() == "token 2"


async def test_a_token_that_is_good_is_used_until_its_end_while_there_is_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As Java's clients do: an endpoint that is down for a while ends no login."""
    world = World()
    await world.get()
    world.is_down = True
    world.clock.pass_ms(LIFE_MS * 9 // 10)
    assert [await world.get() for _ in range(3)] == ["token 1"] * 3
    assert (world.asked, caplog.text.count("the one of before is used")) == (2, 1)
    world.clock.pass_ms(LIFE_MS // 10)
    with pytest.raises(KafkaError, match="the endpoint is down"):
        await world.get()
    world.is_down = False
    assert await world.get() == "token 4"
