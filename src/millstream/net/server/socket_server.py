"""Listens, accepts within the limits, and watches over all connections of one node.

Ports are bound early, so that a wrong port fails before anything else happens and clients that connect while the node
starts wait in the backlog; `serve` answers them.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

from millstream.metadata.broker_registration import SecurityProtocol
from millstream.net.frame_receiver import RECEIVE_BUFFER_BYTES
from millstream.net.listening_socket import LOST_CONNECTION
from millstream.net.network import Network, SystemNetwork
from millstream.net.server.admission import Admission, ConnectionRates
from millstream.net.server.client_connection import ClientConnection, LoginCounts
from millstream.net.server.closings import Closings
from millstream.net.server.connection import ServerConnection
from millstream.net.server.deadline_queue import DeadlineQueue
from millstream.net.server.hang_ups import HangUps
from millstream.net.server.limits import ConnectionLimits
from millstream.net.server.request_handler import RequestHandler
from millstream.net.server.request_memory import RequestMemory
from millstream.net.server.turns import TURN_S, Turns
from millstream.runtime import Clock
from millstream.security.principal import host_text

if TYPE_CHECKING:
    from millstream.net.server.handshakes import Handshakes, TlsListener
    from millstream.net.server.login_gate import LoginRules
    from millstream.net.server.tls_socket import TlsSocket

_LOGGER = logging.getLogger(__name__)
_OUT_OF_DESCRIPTORS_PAUSE_S = 1.0
"""As asyncio's servers."""
_HANDSHAKES_PAUSE_S = 0.01
"""A young handshake of an honest client is over by then, or one of another is old enough to make room. At
2,000 a second the default backlog of 50 holds who comes in the meantime; whom it cannot hold tries again
after a second, and then after two."""
_STRANGERS_MS: Final = 3_000
"""A login that takes longer makes room where connections are too many: an honest one needs five round trips
and a tenth of a second of work."""
_STRANGERS_PAUSE_S: Final = 0.05
"""Ours: so often somebody who waits looks whether one of them has had its time."""
_EXPELLED_MAX: Final = 1_000
"""Connections that came too fast from their address and wait to be closed; of more, the oldest is closed at
once. They cost a descriptor."""
_SAID_AGAIN_MS: Final = 60_000
"""At a limit one connection comes for each that goes: that is said once a minute."""
_OUT_OF_DESCRIPTORS: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class SocketServer:
    """All listeners and connections of a node. Everything runs on one loop."""

    def __init__(
        self,
        limits: ConnectionLimits,
        clock: Clock,
        now_s: Callable[[], float] = time.perf_counter,
        network: Network | None = None,
        rates: ConnectionRates | None = None,
        *,
        keeps_descriptors: bool = True,
    ) -> None:
        """`now_s` measures how long a connection's turn takes, finer than `clock` does.

        `rates` measures how fast connections come. `keeps_descriptors`: the last ones are for files, and for brokers.
        """
        self.limits = limits
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        """Shared: a read and the cutting of its frames happen in one call of one connection."""
        self.request_memory = RequestMemory(limits.request_bytes_held_max)
        self.closings = Closings(lambda: clock.now().monotonic_ms)
        self.turns = Turns(now_s, lambda run: asyncio.get_running_loop().call_soon(run))
        self._handler: RequestHandler | None = None
        self._on_closed: Callable[[ClientConnection], None] = lambda _connection: None
        self._clock = clock
        self._network = SystemNetwork() if network is None else network
        self._descriptor_max = self._network.descriptor_max() if keeps_descriptors else sys.maxsize
        self._listeners: list[tuple[str, socket.socket]] = []
        self._protocols: dict[str, SecurityProtocol] = {}
        """Of each listener, by name."""
        self._logins: dict[str, LoginRules] = {}
        """Of each listener where clients log in, by name."""
        self.login_counts: dict[str, LoginCounts] = {}
        """By the name of these listeners."""
        self._tls: dict[str, TlsListener] = {}
        """Of each listener with TLS, by name."""
        self._handshakes: Handshakes | None = None
        """None where no listener has TLS: nothing of it is loaded then."""
        self._connections: set[ServerConnection] = set()
        self._admission = Admission(limits, rates)
        self._waiting_for_room: list[Callable[[], None]] = []
        """Called when a connection is closed: listeners that accept again, and connections that were let wait
        before."""
        self._held: dict[socket.socket, asyncio.TimerHandle] = {}
        """Connections that were accepted and wait, to be let in or to be closed."""
        self._expelled: OrderedDict[socket.socket, None] = OrderedDict()
        """Those that wait to be closed, the oldest first."""
        self._said_ms: dict[str, int] = {}
        """When it was said last of a limit that connections wait."""
        self._connection_ids = count(1)
        self._tasks: asyncio.TaskGroup | None = None
        self._hang_ups: HangUps | None = None
        self._unsent_bytes = 0
        self._idle: DeadlineQueue[ServerConnection] = DeadlineQueue(limits.idle_ms)
        self._half_received: DeadlineQueue[ServerConnection] = DeadlineQueue(limits.frame_ms)
        self._stalled: DeadlineQueue[ServerConnection] = DeadlineQueue(limits.stalled_write_ms)
        self._logging_in: DeadlineQueue[ServerConnection] = DeadlineQueue(limits.login_ms)
        self._new_deadline = asyncio.Event()
        self._became_idle = asyncio.Event()

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def bind(
        self,
        listener_name: str,
        host: str,
        port: int,
        backlog: int,
        protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT,
    ) -> int:
        """Opens a port and returns its number. Raises ConfigError with a sentence for the operator."""
        listening = self._network.listen(host, port, backlog)
        if self.limits.receive_buffer_bytes >= 0:  # inherited; the window is agreed before accept()
            listening.setsockopt(
                socket.SOL_SOCKET, socket.SO_RCVBUF, self.limits.receive_buffer_bytes
            )
        self._listeners.append((listener_name, listening))
        self._protocols[listener_name] = protocol
        bound: int = listening.getsockname()[1]
        return bound

    def require_login(self, listener_name: str, rules: LoginRules) -> None:
        """Serves only clients of this listener that have logged in. To be called before `serve`."""
        self._logins[listener_name] = rules
        self.login_counts.setdefault(listener_name, LoginCounts())

    def require_tls(self, listener_name: str, tls: TlsListener) -> None:
        """Serves only clients of this listener that speak TLS. To be called before `serve`."""
        from millstream.net.server.handshakes import Handshakes

        self._tls[listener_name] = tls
        self.login_counts.setdefault(listener_name, LoginCounts())
        if self._handshakes is None:
            now_ms = self._clock.now
            self._handshakes = Handshakes(
                self, self.turns.now_s, lambda: now_ms().monotonic_ms, self.closings
            )

    def change_limits(self, limits: ConnectionLimits) -> None:
        """Takes over new limits; open connections stay open.

        The times that connections may be silent are fixed at the start.
        """
        self.limits = limits
        self._admission.change_limits(limits)
        self.request_memory.change_limit(limits.request_bytes_held_max)
        self._accept_again()

    async def serve(
        self,
        handler: RequestHandler,
        on_closed: Callable[[ClientConnection], None] = lambda _connection: None,
    ) -> None:
        """Accepts and answers until cancelled; then every connection is closed.

        `on_closed` is called when a connection is gone; it must not raise.
        """
        for name, protocol in self._protocols.items():
            has = (name in self._tls, name in self._logins)
            assert has == (protocol.has_tls, protocol.has_sasl), (
                f"listener {name} would be less protected than {protocol.name}"
            )
        self._handler = handler
        self._on_closed = on_closed
        self._hang_ups = HangUps()
        async with asyncio.TaskGroup() as self._tasks:
            try:
                for name, listening in self._listeners:
                    self._resume_accepting(name, listening)
                await self._watch_deadlines()
            finally:
                # Before the group waits for its tasks, which may take their time to end: it starts no other meanwhile,
                # and a connection that is open would have more to start.
                self.close()
                self._hang_ups.close()
                await asyncio.sleep(0)  # a request of this turn has a task that has not begun

    async def drain(self, timeout_s: float) -> bool:
        """Stops accepting and waits until nothing is unanswered or unsent; False when time ran out first."""
        self.stop_accepting()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not all(connection.is_idle for connection in self._connections):
                    self._became_idle.clear()
                    await self._became_idle.wait()
                return True
        return False

    def stop_accepting(self) -> None:
        """Closes the listening sockets; connections live on."""
        loop = asyncio.get_running_loop()
        for _, listening in self._listeners:
            loop.remove_reader(listening)
            listening.close()
        self._listeners.clear()
        for connected in list(self._held):
            self._drop_held(connected)

    def close(self) -> None:
        """Closes all connections at once."""
        self.stop_accepting()
        if self._handshakes is not None:
            self._handshakes.close()
        for connection in list(self._connections):
            connection.close("the node is shutting down", logging.DEBUG)

    # Accepting

    def _resume_accepting(self, listener_name: str, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            asyncio.get_running_loop().add_reader(listening, self._accept, listener_name, listening)

    def _accept(self, listener_name: str, listening: socket.socket) -> None:
        now_s = self.turns.now_s
        end_s = now_s() + TURN_S  # in a flood there is always one more, for which others would wait
        while True:
            resume = partial(self._resume_accepting, listener_name, listening)
            if self._must_wait(listener_name, listening, resume):
                return
            try:
                connected, address = listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in LOST_CONNECTION:
                    return
                if error.errno not in _OUT_OF_DESCRIPTORS:
                    raise
                self._say_waiting(f"listener {listener_name} pauses accepting: {error.strerror}")
                self._pause_accepting(listening, _OUT_OF_DESCRIPTORS_PAUSE_S, resume)
                return
            if connected.fileno() > self._descriptor_max and not self._admission.is_protected(
                listener_name
            ):
                connected.close()
                self._say_waiting(
                    f"listener {listener_name} pauses accepting: the node has nearly as many files and connections as it may (ulimit -n)"
                )
                self._pause_accepting(listening, _OUT_OF_DESCRIPTORS_PAUSE_S, resume)
                return
            wait_ms = self._admission.wait_ms(listener_name, self._clock.now().monotonic_ms)
            if wait_ms:
                self._admit_later(listener_name, listening, connected, address, wait_ms)
                return
            self._admit(listener_name, connected, address)
            if now_s() >= end_s or self._admission.is_full(listener_name):
                return  # nobody makes room until somebody has come for it

    def _must_wait(
        self, listener_name: str, listening: socket.socket, go_on: Callable[[], None]
    ) -> bool:
        """Whether the next connection has to wait for room. Its listener accepts none then, until `go_on` is called."""
        while self._admission.is_full(listener_name):
            makers = self._makers_of_room(listener_name)
            stranger, begun_ms = self._first_stranger(makers)
            if stranger is not None and self._has_had_its_time(stranger, begun_ms):
                continue
            handshakes = self._handshakes
            if handshakes is not None and handshakes.make_room(makers):
                continue
            if stranger is not None or (handshakes is not None and handshakes.has_some_of(makers)):
                self._pause_accepting(listening, _STRANGERS_PAUSE_S, go_on)
                return True
            self._say_waiting(
                f"listener {listener_name} accepts no more: there are too many connections (max.connections)"
            )
            asyncio.get_running_loop().remove_reader(listening)
            self._waiting_for_room.append(go_on)
            return True
        if (
            listener_name in self._tls
            and self._handshakes is not None
            and not self._handshakes.has_room()
        ):
            self._pause_accepting(listening, _HANDSHAKES_PAUSE_S, go_on)
            return True
        return False

    def _makers_of_room(self, listener_name: str) -> frozenset[str]:
        """The listeners of which one connection less is room for one of `listener_name`."""
        return frozenset(
            each
            for each in self._protocols
            if not self._admission.is_full(listener_name, without=each)
        )

    def _first_stranger(self, listeners: frozenset[str]) -> tuple[ServerConnection | None, int]:
        """The connection of these listeners that has been logging in for the longest time, and since when."""
        if listeners:
            for stranger, begun_ms in self._logging_in.oldest_times_first():
                if stranger.peer.listener_name in listeners:
                    return stranger, begun_ms
        return None, 0

    def _has_had_its_time(self, stranger: ServerConnection, begun_ms: int) -> bool:
        """Closes a connection that has not logged in for a while.

        Else who holds all of them, and never logs in, would keep everybody out.
        """
        if self._clock.now().monotonic_ms - begun_ms < _STRANGERS_MS:
            return False
        stranger.close("others wait, and it had not logged in", logging.INFO)
        return True

    def _say_waiting(self, what: str) -> None:
        now_ms = self._clock.now().monotonic_ms
        said_ms = self._said_ms.get(what)
        if said_ms is None or now_ms - said_ms >= _SAID_AGAIN_MS:
            self._said_ms[what] = now_ms
            _LOGGER.warning("%s", what)

    def _admit_later(
        self,
        listener_name: str,
        listening: socket.socket,
        connected: socket.socket,
        address: tuple[str, int],
        wait_ms: int,
    ) -> None:
        """Lets a connection in after its wait; until then its listener accepts no other."""
        self._say_waiting(
            f"listener {listener_name} lets connections wait: they come too fast (max.connection.creation.rate)"
        )
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)

        def admit() -> None:
            if connected not in self._held:
                return  # the node has stopped accepting
            if self._must_wait(listener_name, listening, admit):
                return  # other listeners have taken the room meanwhile
            del self._held[connected]
            try:
                self._admit(listener_name, connected, address)
            except BaseException:
                connected.close()
                raise
            finally:  # a connection that cannot be served must not make its listener deaf
                self._resume_accepting(listener_name, listening)

        self._held[connected] = loop.call_later(wait_ms / 1000, admit)

    def _expel_later(self, connected: socket.socket, wait_ms: int) -> None:
        """Closes a connection after its wait: who is told at once comes back at once."""
        if len(self._expelled) >= _EXPELLED_MAX:
            self._drop_held(next(iter(self._expelled)))
        self._expelled[connected] = None
        self._held[connected] = asyncio.get_running_loop().call_later(
            wait_ms / 1000, self._drop_held, connected
        )

    def _drop_held(self, connected: socket.socket) -> None:
        self._held.pop(connected).cancel()
        self._expelled.pop(connected, None)
        connected.close()

    def _accept_again(self) -> None:
        """Accepts again, since there may be room for another connection."""
        waiting, self._waiting_for_room = self._waiting_for_room, []
        for go_on in waiting:  # soon: the connection that makes room is still being closed
            asyncio.get_running_loop().call_soon(go_on)

    def _pause_accepting(
        self, listening: socket.socket, pause_s: float, go_on: Callable[[], None]
    ) -> None:
        """The pending connection stays in the backlog, so the socket stays readable: without a pause we would spin."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        loop.call_later(pause_s, go_on)

    def _admit(
        self, listener_name: str, connected: socket.socket, address: tuple[str, int]
    ) -> None:
        host, port = host_text(address[0]), address[1]
        now_ms = self._clock.now().monotonic_ms
        expulsion_ms = self._admission.expulsion_ms(listener_name, host, now_ms)
        if expulsion_ms:
            self._expel_later(connected, expulsion_ms)
            return
        refusal = self._admission.refusal(host)
        if refusal:
            again = self.closings.note(host, refusal)
            level = logging.DEBUG if again is None else logging.INFO
            _LOGGER.log(
                level, "connection from %s:%d refused: %s%s", host, port, refusal, again or ""
            )
            connected.close()
            return
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self.limits.send_buffer_bytes >= 0:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.limits.send_buffer_bytes)
        peer = ClientConnection(
            next(self._connection_ids),
            host,
            port,
            listener_name,
            security_protocol=self._protocols[listener_name],
        )
        self._admission.admit(listener_name, host)
        if self._admission.is_exceeded:
            self._make_room()
        tls = self._tls.get(listener_name)
        if tls is None:
            self._open(connected, peer)
        else:
            self._shake_hands(connected, peer, tls)

    def _shake_hands(
        self, connected: socket.socket, peer: ClientConnection, tls: TlsListener
    ) -> None:
        from millstream.net.server.tls_socket import TlsSocket

        assert self._handshakes is not None, "a listener with TLS has handshakes"
        try:
            sealed = TlsSocket(connected, tls.context)
        except OSError as error:
            _LOGGER.debug("connection %d from %s closed: %s", peer.connection_id, peer, error)
            self._forget(peer)
            return
        if not self._handshakes:
            self._new_deadline.set()
        self._handshakes.begin(sealed, peer, tls)

    def on_handshake_ended(self, peer: ClientConnection, tls: TlsSocket | None) -> None:
        """Goes on with a client after its handshake, or forgets one that had none (`handshakes.HandshakeOwner`)."""
        counts = self.login_counts[peer.listener_name]
        if tls is None:
            counts.failed += 1
            self._forget(peer)
            return
        if peer.listener_name not in self._logins:
            counts.successful += 1
        self._open(tls, peer)

    def _forget(self, peer: ClientConnection) -> None:
        self._admission.leave(peer.listener_name, peer.client_host)
        self._accept_again()

    def _make_room(self) -> None:
        """Closes the connection that was silent for the longest time, of those that do not come from brokers."""
        for connection in self._idle.oldest_first():
            if not self._admission.is_protected(connection.peer.listener_name):
                connection.close("brokers need room (max.connections)", logging.INFO)
                return

    def _open(self, connected: socket.socket | TlsSocket, peer: ClientConnection) -> None:
        connection = self._connection(connected, peer)
        self._connections.add(connection)
        assert self._hang_ups is not None, "a connection was accepted before serve() began"
        self._hang_ups.watch(connection.fileno(), connection.on_hang_up)
        self.on_active(connection)

    def _connection(
        self, connected: socket.socket | TlsSocket, peer: ClientConnection
    ) -> ServerConnection:
        """A connection whose requests are handled, or one that logs in first."""
        assert self._handler is not None, "a connection was accepted before serve() began"
        rules = self._logins.get(peer.listener_name)
        if rules is None:
            return ServerConnection(connected, peer, self._handler, self)
        from millstream.net.server.login_gate import LoginGate

        counts = self.login_counts[peer.listener_name]
        gate = LoginGate(rules, self._handler, self._clock, counts, self.closings)
        connection = ServerConnection(connected, peer, gate, self)
        gate.guard(connection, lambda: self._logging_in.discard(connection))
        self._begin(self._logging_in, connection, self._clock.now().monotonic_ms)
        return connection

    # What connections report (net.server.connection_owner.ConnectionOwner)

    def start_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        assert self._tasks is not None, "a connection was accepted before serve() began"
        return self._tasks.create_task(work)

    def on_active(self, connection: ServerConnection) -> None:
        now_ms = self._clock.now().monotonic_ms
        if not self._idle:
            self._new_deadline.set()
        self._idle.touch(connection, now_ms)
        if connection.is_half_received:
            self._begin(self._half_received, connection, now_ms)
        else:
            self._half_received.discard(connection)

    def on_writes_stalled(self, connection: ServerConnection) -> None:
        self._begin(self._stalled, connection, self._clock.now().monotonic_ms)

    def on_writes_moved(self, connection: ServerConnection) -> None:
        self._stalled.discard(connection)

    def on_idle(self) -> None:
        self._became_idle.set()

    def hold_unsent(self, change: int) -> None:
        self._unsent_bytes += change
        while change > 0 and self._unsent_bytes > self.limits.unsent_bytes_max:
            oldest = self._stalled.oldest()
            if oldest is None:
                return
            oldest.close("it takes no answers, and the memory for answers is full", logging.WARNING)

    def on_closed(self, connection: ServerConnection) -> None:
        self._connections.discard(connection)
        self.turns.forget(connection)
        self.request_memory.forget(connection)
        if self._hang_ups is not None:
            self._hang_ups.forget(connection.fileno())
        for queue in self._deadline_queues():
            queue.discard(connection)
        self._forget(connection.peer)
        self._became_idle.set()
        self._on_closed(connection.peer)

    # Deadlines

    def _begin(
        self, queue: DeadlineQueue[ServerConnection], connection: ServerConnection, now_ms: int
    ) -> None:
        if not queue:
            self._new_deadline.set()
        queue.begin(connection, now_ms)

    async def _watch_deadlines(self) -> None:
        while True:
            self._new_deadline.clear()
            now_ms = self._clock.now().monotonic_ms
            self._close_expired(now_ms)
            deadlines = [
                deadline
                for queue in self._deadline_queues()
                if (deadline := queue.next_deadline_ms()) is not None
            ]
            if self._handshakes is not None:
                self._handshakes.close_expired(now_ms)
                deadline = self._handshakes.next_deadline_ms()
                deadlines += [] if deadline is None else [deadline]
            wait_s = (min(deadlines) - now_ms) / 1000 if deadlines else None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._new_deadline.wait()

    def _deadline_queues(self) -> tuple[DeadlineQueue[ServerConnection], ...]:
        return (self._idle, self._half_received, self._stalled, self._logging_in)

    def _close_expired(self, now_ms: int) -> None:
        for connection in self._logging_in.take_expired(now_ms):
            connection.close(f"no login within {self.limits.login_ms} ms", logging.INFO)
        # Looked at before one is closed, which may let another be read that has waited for memory.
        late = [each for each in self._half_received.take_expired(now_ms) if each.is_half_received]
        for connection in late:
            connection.close(
                f"a request was not complete after {self.limits.frame_ms} ms", logging.WARNING
            )
        for connection in self._stalled.take_expired(now_ms):
            connection.close(
                f"the client took no byte for {self.limits.stalled_write_ms} ms", logging.WARNING
            )
        for connection in self._idle.take_expired(now_ms):
            if connection.is_idle:
                connection.close(f"idle for {self.limits.idle_ms} ms", logging.INFO)
            else:
                self._idle.touch(connection, now_ms)
