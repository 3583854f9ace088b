"""A connection in which the far end is played: who gets which answer, when a request must wait, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from millstream.errors import KafkaError, NetworkException, RequestTimedOut
from millstream.net.client.connection import Connection, ConnectionOptions
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.first_contact import ListenerMismatch
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.frames import decode_request, encode_response
from millstream.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse

QUESTION = ApiVersionsRequest(client_software_name="test", client_software_version="1")


class PlayedTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.requests: list[tuple[int, int]] = []
        """(version, correlation id)."""
        self.is_aborted = False

    def writelines(self, pieces: Sequence[bytes]) -> None:
        frame = b"".join(bytes(piece) for piece in pieces)
        header, _ = decode_request(memoryview(frame)[4:])
        self.requests.append((header.request_api_version, header.correlation_id))

    def abort(self) -> None:
        self.is_aborted = True

    def close(self) -> None:
        pass


class World:
    """The loop's clock stands still but for `pass_time`."""

    def __init__(self) -> None:
        self.now = 100.0
        asyncio.get_running_loop().time = lambda: self.now
        options = ConnectionOptions("test", 60_000, 1_000_000, "1")
        self.connection = Connection(options, Address("h", 1))
        self.transport = PlayedTransport()
        self.connection.connection_made(self.transport)
        self.told: list[tuple[str, object]] = []

    def ask(self, name: str, timeout_ms: int = 60_000) -> bool:
        def take(response: Message | None, failure: Exception | None) -> None:
            self.told.append((name, type(failure or response)))

        return self.connection.request_at_once(
            ApiKey.API_VERSIONS, QUESTION, take, timeout_ms=timeout_ms, version_max=4
        )

    async def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for _ in range(5):  # timers, and the tasks that they wake
            await asyncio.sleep(0)

    def answer(self, *, throttle_ms: int = 0) -> None:
        version, correlation_id = self.transport.requests.pop(0)
        response = ApiVersionsResponse(throttle_time_ms=throttle_ms)
        data = b"".join(
            map(bytes, encode_response(ApiKey.API_VERSIONS, version, correlation_id, response))
        )
        while data:
            target = self.connection.get_buffer(-1)
            count = min(len(target), len(data))
            target[:count] = data[:count]
            data = data[count:]
            self.connection.buffer_updated(count)


async def test_an_answer_is_taken_as_it_comes_by_who_asked() -> None:
    world = World()
    assert world.ask("first")
    asked = asyncio.ensure_future(
        world.connection.request(ApiKey.API_VERSIONS, QUESTION, ApiVersionsResponse)
    )
    await asyncio.sleep(0)
    assert world.ask("last")
    world.answer()
    assert world.told == [("first", ApiVersionsResponse)]
    world.answer()
    world.answer()
    assert world.told[1:] == [("last", ApiVersionsResponse)]
    assert isinstance(await asked, ApiVersionsResponse)


async def test_nothing_is_sent_at_once_while_the_broker_wants_to_be_left_alone() -> None:
    world = World()
    assert world.ask("first")
    world.answer(throttle_ms=60_000)
    assert not world.ask("second")
    assert (world.transport.requests, world.told) == ([], [("first", ApiVersionsResponse)])


async def test_nothing_is_sent_at_once_past_a_request_that_waits_for_its_turn() -> None:
    world = World()
    world.ask("first")
    world.answer(throttle_ms=1_000)
    waiting = asyncio.ensure_future(
        world.connection.request(ApiKey.API_VERSIONS, QUESTION, ApiVersionsResponse)
    )
    await asyncio.sleep(0)
    world.now += 1  # the broker may be asked again, and the task has not run yet
    assert not world.ask("second")
    await world.pass_time(0)
    assert len(world.transport.requests) == 1
    assert world.ask("third")
    world.answer()
    assert isinstance(await waiting, ApiVersionsResponse)


async def test_a_shorter_wish_to_be_left_alone_ends_no_longer_one() -> None:
    """As in Java's client ("The throttle deadline should never regress")."""
    world = World()
    world.ask("first")
    world.ask("second")
    world.answer(throttle_ms=60_000)
    world.answer(throttle_ms=1_000)
    await world.pass_time(59.9)
    assert not world.ask("third")
    await world.pass_time(0.2)
    assert world.ask("third")


async def test_who_waits_for_a_throttle_to_end_waits_on_where_another_answer_asks_for_more() -> (
    None
):
    world = World()
    world.ask("first")
    world.ask("second")
    world.answer(throttle_ms=1_000)
    waiting = asyncio.ensure_future(
        world.connection.request(ApiKey.API_VERSIONS, QUESTION, ApiVersionsResponse)
    )
    await world.pass_time(0.5)
    world.answer(throttle_ms=5_000)
    await world.pass_time(4.9)
    assert world.transport.requests == []
    await world.pass_time(0.2)
    world.answer()
    assert isinstance(await waiting, ApiVersionsResponse)


async def test_a_request_is_not_late_while_the_broker_reads_nothing_of_this_connection() -> None:
    """KIP-219: what was sent before the answer that tells of the throttle is read after it."""
    world = World()
    world.ask("first")
    world.ask("second", 20_000)
    world.answer(throttle_ms=60_000)
    await world.pass_time(79)
    assert not world.connection.is_closed
    await world.pass_time(2)
    assert world.told == [("first", ApiVersionsResponse), ("second", RequestTimedOut)]


async def test_what_comes_after_a_connection_was_closed_is_passed_over() -> None:
    """TLS hands over what it has opened while it says goodbye."""
    world = World()
    world.ask("first")
    world.connection.begin_close()
    world.answer()
    assert world.told == [("first", NetworkException)]


@pytest.mark.parametrize("others", [(), (60_000,), (60_000, 50_000)])
async def test_the_first_request_that_is_late_ends_the_connection_for_all(
    others: tuple[int, ...],
) -> None:
    """One timer serves all requests; the last of them is the one that may take the least time."""
    world = World()
    for limit_ms in others:
        world.ask("patient", limit_ms)
    world.ask("impatient", 20)
    await world.pass_time(0.019)
    assert not world.connection.is_closed
    await world.pass_time(0.002)
    assert [kind for _, kind in world.told] == [RequestTimedOut] * (1 + len(others))
    assert world.transport.is_aborted
    with pytest.raises(NetworkException, match=r"did not answer API_VERSIONS within 0\.02 s"):
        world.ask("late")


async def test_a_request_that_was_answered_in_time_ends_nothing() -> None:
    world = World()
    world.ask("quick", 20)
    world.answer()
    world.ask("next")
    await world.pass_time(0.03)
    assert not world.connection.is_closed
    world.answer()
    assert [name for name, _ in world.told] == ["quick", "next"]


async def test_an_end_after_answers_says_nothing_of_the_listener() -> None:
    world = World()
    for _ in range(2):
        world.ask("served")
        world.answer()
    world.ask("first")
    world.connection.connection_lost(None)
    assert world.told[2:] == [("first", NetworkException)]


async def test_what_is_not_answered_when_a_connection_is_lost_is_told_so_once() -> None:
    world = World()
    world.ask("first")
    asked = asyncio.ensure_future(
        world.connection.request(ApiKey.API_VERSIONS, QUESTION, ApiVersionsResponse)
    )
    await asyncio.sleep(0)
    asked.cancel()
    world.connection.connection_lost(ConnectionResetError("reset"))
    await asyncio.wait([asked])
    assert (world.told, asked.cancelled()) == ([("first", ListenerMismatch)], True)
    with pytest.raises(KafkaError, match="reset"):
        world.ask("late")
