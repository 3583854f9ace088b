"""What is late, and what is begun no more, with real sockets: a client is not blamed for what this side does not read."""

from __future__ import annotations

import asyncio

from millstream.net.server.limits import ConnectionLimits
from millstream.net.server.socket_server import SocketServer
from millstream.runtime.system import SystemClock
from tests.integration.net.test_socket_server import Edge, HandClock, Script, edge, framed
from tests.patience import eventually, until


async def test_a_frame_is_not_late_while_an_earlier_request_keeps_it_from_being_read() -> None:
    clock = HandClock()
    async with edge(ConnectionLimits(frame_ms=100), clock) as running:
        client, late = await running.connect(), await running.connect()
        half = framed(b"x" * 1000)
        client.writer.write(framed(b"wait") + half[:500])
        await running.has_started(b"wait")
        late.writer.write(half[:500])

        async def is_closed() -> bool:
            clock.monotonic_ms += (
                100  # again and again: when the server has read the half is not known
            )
            return late.reader.at_eof() or late.reader.exception() is not None

        await eventually(is_closed)
        client.writer.write(half[500:])
        running.script.released.set()
        assert [await client.read(), await client.read()] == [b"wait", b"x" * 1000]


async def test_a_frame_is_not_late_while_requests_of_others_leave_no_memory_for_it() -> None:
    """One at a time may complete its request then, and that one's client has stopped in the middle of it."""
    clock = HandClock()
    limits = ConnectionLimits(request_bytes_held_max=100_000, frame_ms=100)
    async with edge(limits, clock) as running:
        memory = running.server.request_memory
        stalled, waiting, other = [await running.connect() for _ in range(3)]
        frame = framed(b"w+" + bytes(80_000))
        for held_bytes, client in ((40_000, stalled), (80_000, waiting)):
            client.writer.write(frame[:40_004])
            await until(lambda least=held_bytes: memory._total >= least)
        other.send(b"w+" + bytes(60_000))
        await until(lambda: memory.is_short)
        stalled.writer.write(frame[40_004:40_005])
        await until(lambda: memory._completing is not None)
        waiting.writer.write(frame[40_004:])
        await until(lambda: bool(memory._waiting))
        clock.monotonic_ms += 100
        assert await stalled.at_end()
        running.script.released.set()
        assert len(await waiting.read()) == 80_002


async def test_nothing_is_started_once_the_server_ends_though_a_request_takes_long_to_end() -> None:
    """As one that waits for work in a thread, which is waited for though the client has gone."""
    failures: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    script = Script()
    server = SocketServer(ConnectionLimits(), SystemClock())
    running = Edge(server, server.bind("TEST", "127.0.0.1", 0, 50), script)
    serving = asyncio.ensure_future(server.serve(script))
    first, second = await running.connect(), await running.connect()
    first.send(b"wait stubbornly")
    await running.has_started(b"wait stubbornly")
    serving.cancel()
    await asyncio.sleep(0)
    second.send(b"wait")
    assert await second.at_end()
    assert not serving.done()
    script.released.set()
    await asyncio.wait({serving})
    assert (serving.cancelled(), failures, script.started) == (True, [], [b"wait stubbornly"])
    for client in running.clients:
        client.writer.close()


async def test_a_request_that_has_not_begun_when_the_server_ends_is_ended_with_it() -> None:
    """Its task is cancelled after its first step: before that, its coroutine would be told as forgotten."""
    script = Script()
    server = SocketServer(ConnectionLimits(), SystemClock())
    running = Edge(server, server.bind("TEST", "127.0.0.1", 0, 50), script)
    serving = asyncio.ensure_future(server.serve(script))
    client = await running.connect()
    await until(lambda: server.connection_count == 1)
    (connection,) = server._connections
    client.send(b"wait")
    loop = asyncio.get_running_loop()
    read = connection._on_readable
    cancelled = loop.create_future()

    def cancel_and_read() -> None:
        loop.remove_reader(connection.fileno())
        serving.cancel()
        read()
        cancelled.set_result(None)

    loop.remove_reader(connection.fileno())
    loop.add_reader(connection.fileno(), cancel_and_read)
    await cancelled
    await asyncio.wait({serving})
    assert (script.started, script.cancelled) == ([b"wait"], 1)
    client.writer.close()
