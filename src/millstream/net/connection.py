"""One client connection: reads frames, hands them to the request handler, answers in order.

Requests are handled one at a time, in order, as Kafka does; only requests the handler calls overlapping (produces) are started
while earlier ones of their kind still wait. Their responses are kept back until every earlier one has been sent.

    readable -> FrameReceiver -> RequestHandler.handle -> response at once ----------------> SocketWriter -> socket
                                                       -> awaitable -> task -> _Unanswered --^
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Awaitable, Coroutine
from typing import Protocol, cast

from millstream.errors import KafkaError, ProtocolError
from millstream.net.client_connection import ClientConnection
from millstream.net.frame_receiver import FrameReceiver
from millstream.net.limits import ConnectionLimits
from millstream.net.request_handler import RequestHandler, Response
from millstream.net.socket_writer import SocketWriter

_LOGGER = logging.getLogger(__name__)
_READS_PER_WAKE_UP = 16
"""Of a request that is not complete."""


class ConnectionOwner(Protocol):
    """What a connection needs of the server that accepted it."""

    limits: ConnectionLimits
    receive_buffer: memoryview
    memory_is_short: bool
    """No new frame may be started."""

    def start_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]: ...
    def was_active(self, connection: Connection) -> None:
        """Bytes arrived."""
        ...

    def writes_stalled(self, connection: Connection) -> None:
        """The socket takes no more."""
        ...

    def writes_moved(self, connection: Connection) -> None:
        """The socket took some."""
        ...

    def became_idle(self) -> None:
        """The last response of a connection was sent."""
        ...

    def hold_bytes(self, change: int) -> None:
        """So many more (or, negative, fewer) bytes of unanswered requests are in memory."""
        ...

    def queue_requests(self, change: int) -> None:
        """So many more (or, negative, fewer) requests wait for an earlier one of their connection."""
        ...

    def wait_for_memory(self, connection: Connection) -> None:
        """Calls `resume_reading` once memory is no longer short."""
        ...

    def closed(self, connection: Connection) -> None: ...


class _Unanswered:
    """A request whose response has not been queued for sending."""

    __slots__ = ("answered", "held_bytes", "response", "task")

    def __init__(self, held_bytes: int) -> None:
        self.held_bytes = held_bytes
        self.answered = False
        self.response: Response | None = None
        self.task: asyncio.Task[None] | None = None


class Connection:
    """Owns the socket. All methods run on the loop that accepted it."""

    def __init__(
        self,
        connected: socket.socket,
        peer: ClientConnection,
        handler: RequestHandler,
        owner: ConnectionOwner,
    ) -> None:
        self.peer = peer
        self._socket = connected
        self._handler = handler
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._receiver = FrameReceiver(owner.receive_buffer, owner.limits.request_bytes_max)
        self._writer = SocketWriter(connected)
        self._unanswered: deque[_Unanswered] = deque()
        self._overlapping = False
        """Every unanswered request allows others of its kind beside it."""
        self._waiting: deque[memoryview] = deque()
        """Frames that may not be started yet."""
        self._half_received_bytes = 0
        self._reading = False
        self._writing = False
        self.is_closed = False
        self._update_reading()

    @property
    def is_between_frames(self) -> bool:
        return self._receiver.between_frames

    @property
    def is_idle(self) -> bool:
        """Nothing unanswered and nothing unsent."""
        return not (self._unanswered or self._waiting or self._writer.unsent_bytes)

    # Reading

    def _on_readable(self) -> None:
        if self._owner.memory_is_short and self._receiver.between_frames:
            self._update_reading()
            return
        received = self._receive()
        # A reset that came together with bytes wakes us once, on uvloop. Behind a whole request the answer finds it out.
        for _ in range(_READS_PER_WAKE_UP - 1):
            if not received or self._receiver.between_frames:
                break
            received = self._receive()
        if not self.is_closed:
            self._hold_half_received()
            self._owner.was_active(self)
            self._flush()

    def _receive(self) -> bool:
        """One read, and the requests it completes; False when there is nothing more to read."""
        try:
            count = self._socket.recv_into(self._receiver.target())
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            self.close(f"read failed: {error}", logging.DEBUG)
            return False
        if count == 0:
            self.close("closed by the client", logging.DEBUG)
            return False
        try:
            for frame in self._receiver.received(count):
                self._take(frame)
                if self.is_closed:
                    return False
        except ProtocolError as error:
            self._refuse(error)
            return False
        return True

    def _hold_half_received(self) -> None:
        """The whole frame is counted as soon as its size is known, so that every frame that was begun can be completed."""
        held = self._receiver.expected_bytes
        if held != self._half_received_bytes:
            self._owner.hold_bytes(held - self._half_received_bytes)
            self._half_received_bytes = held

    def _take(self, frame: memoryview) -> None:
        """Starts a request, or queues it behind those that must be answered first."""
        if self._unanswered and not (
            self._overlapping and not self._waiting and self._handler.may_overlap(frame)
        ):
            self._waiting.append(frame)
            self._owner.queue_requests(1)
            self._owner.hold_bytes(len(frame))
        else:
            self._start(frame)

    def _start(self, frame: memoryview) -> None:
        try:
            result = self._handler.handle(frame, self.peer)
        except ProtocolError:
            raise
        except Exception as error:
            # A handler that breaks its promise must not take the loop's other connections with it.
            _LOGGER.exception("a request of connection %d failed", self.peer.connection_id)
            raise ProtocolError("the request could not be handled") from error
        if result is None:
            return
        if isinstance(result, list):  # asking for Awaitable costs more
            if self._unanswered:
                self._answer_later(result)
            else:
                self._write(result)
            return
        if not self._unanswered:
            self._overlapping = self._handler.may_overlap(frame)
        unanswered = _Unanswered(len(frame))
        self._owner.hold_bytes(unanswered.held_bytes)
        self._unanswered.append(unanswered)
        waiting = cast("Awaitable[Response | None]", result)
        unanswered.task = self._owner.start_task(self._finish(unanswered, waiting))

    def _answer_later(self, response: Response) -> None:
        """A response that is ready while earlier ones are not."""
        ready = _Unanswered(0)
        ready.response = response
        ready.answered = True
        self._unanswered.append(ready)

    async def _finish(self, unanswered: _Unanswered, result: Awaitable[Response | None]) -> None:
        try:
            unanswered.response = await result
        except ProtocolError as error:
            self._refuse(error)
            return
        unanswered.answered = True
        if self._unanswered and self._unanswered[0].answered and not self.is_closed:
            self._answer_in_order()

    def _answer_in_order(self) -> None:
        while self._unanswered and self._unanswered[0].answered and not self.is_closed:
            head = self._unanswered.popleft()
            self._owner.hold_bytes(-head.held_bytes)
            if head.response is not None:
                self._write(head.response)
        try:
            self._start_waiting()
        except ProtocolError as error:
            self._refuse(error)
            return
        self._flush()
        if self.is_idle:
            self._owner.became_idle()

    def _start_waiting(self) -> None:
        while self._waiting and not self.is_closed:
            frame = self._waiting[0]
            if self._unanswered and not (self._overlapping and self._handler.may_overlap(frame)):
                return
            self._waiting.popleft()
            self._owner.queue_requests(-1)
            self._owner.hold_bytes(-len(frame))
            self._start(frame)

    # Writing

    def _write(self, response: Response) -> None:
        try:
            self._writer.write(response)
        except (KafkaError, OSError) as error:  # a splice that had to be read, and could not
            self.close(f"a response could not be read: {error}", logging.WARNING)

    def _flush(self) -> None:
        if self._writer.unsent_bytes and not self._writing and not self.is_closed:
            self._send()
        if not self.is_closed:
            self._update_reading()

    def _send(self) -> None:
        before = self._writer.unsent_bytes
        try:
            all_sent = self._writer.flush()
        except OSError as error:
            self.close(f"write failed: {error}", logging.DEBUG)
            return
        if all_sent:
            if self._writing:
                self._writing = False
                self._loop.remove_writer(self._socket)
                self._owner.writes_moved(self)
                self._owner.became_idle()
            return
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._socket, self._on_writable)
            self._owner.writes_stalled(self)
        elif self._writer.unsent_bytes < before:
            self._owner.writes_moved(self)
            self._owner.writes_stalled(self)

    def _on_writable(self) -> None:
        self._send()
        if not self.is_closed:
            self._update_reading()

    # Back-pressure and end

    def resume_reading(self) -> None:
        """Memory is no longer short."""
        if not self.is_closed:
            self._update_reading()

    def _update_reading(self) -> None:
        limits = self._owner.limits
        wanted = (
            len(self._unanswered) + len(self._waiting) < limits.requests_in_flight_max
            and self._writer.unsent_bytes < limits.unsent_bytes_max
        )
        if wanted and self._owner.memory_is_short and self._receiver.between_frames:
            self._owner.wait_for_memory(self)
            wanted = False
        if wanted and not self._reading:
            self._reading = True
            self._loop.add_reader(self._socket, self._on_readable)
        elif not wanted and self._reading:
            self._reading = False
            self._loop.remove_reader(self._socket)

    def _refuse(self, error: ProtocolError) -> None:
        """What was answered before the broken request still leaves, as far as the socket takes it at once."""
        if self._writer.unsent_bytes and not self._writing:
            self._send()
        self.close(str(error), logging.WARNING)

    def close(self, reason: str, level: int) -> None:
        """Drops the connection with one log line; unanswered requests are cancelled, unsent bytes forgotten."""
        if self.is_closed:
            return
        self.is_closed = True
        _LOGGER.log(
            level, "connection %d from %s closed: %s", self.peer.connection_id, self.peer, reason
        )
        if self._reading:
            self._loop.remove_reader(self._socket)
        if self._writing:
            self._loop.remove_writer(self._socket)
        self._socket.close()
        held = sum(each.held_bytes for each in self._unanswered) + sum(map(len, self._waiting))
        held += self._half_received_bytes
        self._owner.queue_requests(-len(self._waiting))
        self._owner.hold_bytes(-held)
        for unanswered in self._unanswered:
            if unanswered.task is not None:
                # Not before its first step: a coroutine that never began would be reported as forgotten.
                self._loop.call_soon(unanswered.task.cancel)
        self._unanswered.clear()
        self._waiting.clear()
        self._owner.closed(self)
