"""Serves one client connection: reads frames, hands them to the request handler, answers in order.

Requests are handled one at a time, in order, as Kafka does; only requests the handler calls overlapping (produces) are
started while earlier ones of their kind still wait. Their responses are kept back until every earlier one has been
sent. While a request may not be started the socket is not read, apart from what one read gave, and while the client
leaves answers unread none is started.

    readable -> FrameReceiver -> RequestHandler.handle -> response at once ----------------> SocketWriter -> socket
                                                       -> awaitable -> task -> _Unanswered --^

How long a connection goes on before others have their turn is the business of `net.turns`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final, cast

from millstream.errors import KafkaError, ProtocolError
from millstream.net.frame_receiver import FrameReceiver, ImpossibleFrameSize
from millstream.net.server.client_connection import ClientConnection
from millstream.net.server.connection_owner import ConnectionOwner, TlsTransport
from millstream.net.server.request_handler import LastAnswer, RequestHandler, Response
from millstream.net.server.socket_writer import SocketWriter
from millstream.net.server.turns import TURN_S
from millstream.quoting import shortened

_LOGGER = logging.getLogger(__name__)
_READ_BYTES_PER_TURN: Final = 1024 * 1024
"""Ours: of a request that is not complete; half a millisecond as measured, from a client on the
same machine."""
_UNSENT_BYTES_PER_TURN: Final = 64 * 1024
"""Ours: of answers that leave together; more would gain nothing, as a system call costs little beside so many bytes."""
_LAST_ANSWER_S: Final = 0.05
"""Ours: from a last answer to the end of its connection: longer than a client on a busy machine takes to read it by
itself."""
_UNTOLD_BYTES_MAX: Final = 4096
"""Ours: small requests are not worth the telling. What is not told is no more than this for each connection."""


class _Unanswered:
    """A request whose response has not been queued for sending."""

    __slots__ = ("answered", "held_bytes", "refusal", "response", "task")

    def __init__(self, held_bytes: int) -> None:
        self.held_bytes = held_bytes
        self.answered = False
        self.response: Response | None = None
        self.refusal: ProtocolError | None = None
        """Ends the connection when its turn has come."""
        self.task: asyncio.Task[None] | None = None


class ServerConnection:
    """Owns the socket. All methods run on the loop that accepted it."""

    def __init__(
        self,
        connected: socket.socket | TlsTransport,
        peer: ClientConnection,
        handler: RequestHandler,
        owner: ConnectionOwner[ServerConnection],
    ) -> None:
        self.peer = peer
        self._socket = connected
        self._tls = None if isinstance(connected, socket.socket) else connected
        self._handler = handler
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._receiver = FrameReceiver(owner.receive_buffer, owner.limits.request_bytes_max)
        self._writer = (
            SocketWriter(connected)
            if isinstance(connected, socket.socket)
            else SocketWriter(None, connected)
        )
        self._unanswered: deque[_Unanswered] = deque()
        self._unanswered_bytes = 0
        self._overlapping = False
        """Every unanswered request allows others of its kind beside it."""
        self._next: memoryview | None = None
        """A whole request that may not be started yet."""
        self._held_bytes = 0
        """Of requests, as the owner was told last."""
        self._held_in_request = False
        """Whether some are of a request that is not complete."""
        self._held_unsent_bytes = 0
        self._reading = False
        self._pause: asyncio.TimerHandle | None = None
        """Ends the wait for a quota: until then no request is started, and none is read that could not be started."""
        self._writing = False
        """Answers wait for the socket."""
        self._hung_up = False
        self._wait_before_refusal: Callable[[], Coroutine[None, None, None]] | None = None
        """What comes before a frame of an impossible size ends the connection; None: nothing."""
        self.is_closed = False
        peer.pause = self.pause
        self._read_if_wanted()

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def is_half_received(self) -> bool:
        """Whether only a part of a request has arrived, though it is read."""
        return (
            not self._receiver.between_frames
            and not self._owner.request_memory.is_waiting(self)
            and self._wants_bytes()
        )

    @property
    def is_idle(self) -> bool:
        """Whether nothing is unanswered and nothing unsent.

        What has arrived while it waits for its quota is not begun.
        """
        is_begun = self._next is not None or not self._receiver.needs_bytes
        return (
            not self._unanswered
            and (self._pause is not None or not is_begun)
            and not self._writer.unsent_bytes
        )

    # Logging in

    def guard(
        self, frame_bytes_max: int, wait_before_refusal: Callable[[], Coroutine[None, None, None]]
    ) -> None:
        """Takes no longer frames than those from now on, and lets a client wait that sends one, as
        whoever cannot log in waits.
        """
        self._receiver.limit(frame_bytes_max)
        self._wait_before_refusal = wait_before_refusal

    def serve_by(self, handler: RequestHandler) -> None:
        """Has the next requests handled by `handler`, and takes them in their full length."""
        self._handler = handler
        self._receiver.limit(self._owner.limits.request_bytes_max)

    # Quotas

    def pause(self, wait_ms: int) -> None:
        """Starts no request for so long. Answers leave at once, so that clients learn how long they wait (KIP-219).

        Who has hung up learns nothing, and would keep a connection for as long.
        """
        if self._hung_up:
            return
        end_s = self._loop.time() + wait_ms / 1000
        before = self._pause
        if before is None or before.when() < end_s:
            self._stop_pause()
            self._pause = self._loop.call_at(end_s, self._end_pause)

    def _end_pause(self) -> None:
        self._pause = None
        self._go_on()

    def _stop_pause(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    # Reading

    def _wants_bytes(self) -> bool:
        """Whether the next request could be started if it were here."""
        return (
            self._next is None
            and not self._writing
            and self._pause is None
            and self._receiver.needs_bytes
            and (not self._unanswered or self._another_may_overlap())
        )

    def _another_may_overlap(self) -> bool:
        return (
            self._overlapping and len(self._unanswered) < self._owner.limits.requests_in_flight_max
        )

    def _read_if_wanted(self) -> None:
        """Readers that turn out not to be wanted are removed when bytes come: most clients send
        none before their answer.
        """
        if (self._hung_up or not self._reading or self._tls is not None) and self._wants_bytes():
            if self._reads_untold():
                self._owner.turns.ask(self)
            elif not self._reading:
                self._reading = True
                self._loop.add_reader(self._socket, self._on_readable)

    def _reads_untold(self) -> bool:
        """Whether the loop will not tell of what can be read: it tells only once of a connection that was
        reset, and never of what TLS holds.
        """
        return self._hung_up or (self._tls is not None and self._tls.holds_bytes)

    def resume_reading(self) -> None:
        """Reads again, since memory is no longer short.

        The time for a request to be complete begins anew: nobody has looked what its client has sent.
        """
        self._read_if_wanted()
        self._owner.on_active(self)

    def _on_readable(self) -> None:
        if not self._wants_bytes():
            self._stop_reading()
            return
        memory = self._owner.request_memory
        if memory.is_short and memory.must_wait(self, not self._receiver.between_frames):
            self._stop_reading()
            self._owner.on_active(self)
            return
        try:
            turns = self._owner.turns
            self._read_requests(turns.now_s() + turns.turn_s)
        except ProtocolError as error:
            self._refuse(error)
        if not self.is_closed:
            self._end_turn()
            self._owner.on_active(self)

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._socket)

    def _receive(self) -> int:
        """One read; 0 when there is nothing to read."""
        try:
            count = self._socket.recv_into(self._receiver.target())
        except (BlockingIOError, InterruptedError):
            self._hung_up = False  # else the end could be read
            if self._tls is not None and self._tls.must_write:
                self._wait_for_room()
            return 0
        except OSError as error:
            self.close(f"read failed: {error}", logging.DEBUG)
            return 0
        if count == 0:
            self.close("closed by the client", logging.DEBUG)
            return 0
        self._receiver.note_received(count)
        return count

    def on_hang_up(self) -> None:
        """Notes that the client waits for no more answers.

        Requests it sent before are still read: some of them want no answer.

        So are they while it waits for a quota, which counts them: they are no more than its socket
        holds, and a wait may be hours.
        """
        self._hung_up = True
        self._stop_pause()
        broken = [each.refusal for each in self._unanswered if each.refusal is not None]
        self._forget_unanswered()
        if broken:
            self._end(broken[0])
        else:
            self._owner.turns.ask(self)

    # Starting requests

    def take_turn(self) -> None:
        """Starts what may be started, for the time of one turn."""
        self._start_until(self._owner.turns.now_s() + TURN_S)

    def _go_on(self) -> None:
        """The same without having asked: shorter while others wait for their turn."""
        turns = self._owner.turns
        self._start_until(turns.now_s() + turns.turn_s)

    def _start_until(self, end_s: float) -> None:
        try:
            self._start_requests(end_s)
            if self._reads_untold() and self._wants_bytes():
                self._read_requests(end_s)
        except ProtocolError as error:
            self._refuse(error)
        if not self.is_closed:
            self._end_turn()
            if not self._receiver.between_frames:
                self._owner.on_active(self)

    def _read_requests(self, end_s: float) -> None:
        """One read, and more while a request is not complete."""
        left = _READ_BYTES_PER_TURN
        while left > 0 and (count := self._receive()):
            left -= count
            self._start_requests(end_s)
            if self._receiver.between_frames or not self._wants_bytes():
                return

    def _start_requests(self, end_s: float) -> None:
        while (frame := self._next_to_start()) is not None:
            self._start(frame)
            if (
                self._writer.unsent_bytes >= _UNSENT_BYTES_PER_TURN
                or self._owner.turns.now_s() >= end_s
            ):
                if not self._receiver.between_frames:
                    self._owner.turns.ask(self)
                return

    def _next_to_start(self) -> memoryview | None:
        """The next request, if it is here and may be started."""
        if (
            self._writing
            or self._pause is not None
            or self.is_closed
            or (self._unanswered and not self._another_may_overlap())
        ):
            return None
        frame = self._next
        if frame is None:
            frame = self._receiver.next_frame()
        if frame is not None and self._unanswered and not self._handler.may_overlap(frame):
            self._next = frame
            return None
        self._next = None
        return frame

    def _end_turn(self) -> None:
        between_frames = self._receiver.between_frames
        if not between_frames:
            self._receiver.keep_rest()
        if self._unanswered or self._held_bytes or not between_frames:
            self._hold_memory(not between_frames)
        if self._writer.unsent_bytes and not self._writing:
            self._send()
        if not self.is_closed:
            self._read_if_wanted()

    def _hold_memory(self, in_request: bool) -> None:
        held_bytes = self._unanswered_bytes + self._receiver.held_bytes
        if self._next is not None:
            held_bytes += len(self._next)
        if (
            abs(held_bytes - self._held_bytes) > _UNTOLD_BYTES_MAX
            or in_request != self._held_in_request
        ):
            self._held_bytes, self._held_in_request = held_bytes, in_request
            self._owner.request_memory.hold(self, held_bytes, in_request)

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
        self._unanswered_bytes += unanswered.held_bytes
        self._unanswered.append(unanswered)
        waiting = cast("Awaitable[Response | None]", result)
        unanswered.task = self._owner.start_task(self._finish(unanswered, waiting))
        if self._hung_up:
            self._forget_unanswered()

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
            if self._hung_up:  # it was forgotten then, and nobody waits for the answers before it
                self._end(error)
                return
            unanswered.refusal = error
            self._overlapping = False
        unanswered.answered = True
        if self._unanswered and self._unanswered[0].answered and not self.is_closed:
            self._answer_in_order()

    def _answer_in_order(self) -> None:
        while self._unanswered and self._unanswered[0].answered and not self.is_closed:
            head = self._unanswered.popleft()
            self._unanswered_bytes -= head.held_bytes
            if head.refusal is not None:
                self._end(head.refusal)
                return
            if head.response is not None:
                self._write(head.response)
        if not self.is_closed:
            if self._next is None and self._receiver.needs_bytes:
                self._end_turn()
            else:
                self._go_on()
            if self.is_idle:
                self._owner.on_idle()

    def _forget_unanswered(self) -> None:
        for unanswered in self._unanswered:
            if unanswered.task is not None:
                # Not before its first step: a coroutine that never began would be reported as forgotten.
                self._loop.call_soon(unanswered.task.cancel)
                # What cancels it holds its frames, and so this: without the end of the circle all of it would stay for the garbage collector.
                unanswered.task = None
        self._unanswered.clear()
        self._unanswered_bytes = 0

    # Writing

    def _write(self, response: Response) -> None:
        try:
            self._writer.write(response)
        except (KafkaError, OSError) as error:  # a splice that had to be read, and could not
            self.close(f"a response could not be read: {error}", logging.WARNING)

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
                self._owner.on_writes_moved(self)
                self._owner.on_idle()
        elif not self._writing:
            self._wait_for_room()
        elif self._writer.unsent_bytes < before:
            self._owner.on_writes_moved(self)
            self._owner.on_writes_stalled(self)
        if self._writing or self._held_unsent_bytes:
            self._hold_unsent(self._writer.buffered_bytes)

    def _wait_for_room(self) -> None:
        """Goes on when the client takes bytes; nothing is read or started meanwhile."""
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._socket, self._on_writable)
            self._owner.on_writes_stalled(self)

    def _hold_unsent(self, buffered_bytes: int) -> None:
        change = buffered_bytes - self._held_unsent_bytes
        if change:
            self._held_unsent_bytes = buffered_bytes
            self._owner.hold_unsent(change)

    def _on_writable(self) -> None:
        self._send()
        if not (self.is_closed or self._writing):
            self._go_on()

    # End

    def _refuse(self, error: ProtocolError) -> None:
        """Refuses a broken request once all before it are answered: Kafka would not have read it earlier."""
        if not self._unanswered:
            self._end(error)
            return
        refused = _Unanswered(0)
        refused.refusal = error
        refused.answered = True
        self._unanswered.append(refused)
        self._overlapping = False

    def _end(self, error: ProtocolError) -> None:
        """Ends the connection. What was answered still leaves, as far as the socket takes it at once."""
        level = logging.WARNING
        if isinstance(error, LastAnswer):
            level = error.level
            if error.response is not None and not self.is_closed:
                self._close_after(error.response, str(error), level)
                return
        elif isinstance(error, ImpossibleFrameSize) and self._wait_before_refusal is not None:
            self._refuse_later(error, self._wait_before_refusal())
            return
        if self._writer.unsent_bytes and not self._writing:
            self._send()
        self.close(str(error), level)

    def _close_after(self, response: Response, reason: str, level: int) -> None:
        """Sends a last response, and closes a moment later: some clients drop what they read
        together with the end of the stream.

        Nothing is read meanwhile, since something is unanswered. Whoever hangs up meanwhile has its next
        request refused by the handler.
        """
        self._write(response)
        self._unanswered.append(_Unanswered(0))
        self._overlapping = False
        if not self._writing:
            self._send()
        self._loop.call_later(_LAST_ANSWER_S, self.close, reason, level)

    def _refuse_later(self, error: ProtocolError, wait: Coroutine[None, None, None]) -> None:
        """Nothing is read meanwhile, since something is unanswered beside which nothing may overlap."""
        refused = _Unanswered(0)
        self._unanswered.append(refused)
        self._overlapping = False
        refused.task = self._owner.start_task(self._finish(refused, _raise_after(wait, error)))

    def close(self, reason: str, level: int) -> None:
        """Drops the connection with one log line; unanswered requests are cancelled, unsent bytes forgotten."""
        if self.is_closed:
            return
        self.is_closed = True
        reason = shortened(reason)
        again = None
        if level > logging.DEBUG:
            again = self._owner.closings.note(self.peer.client_host, reason)
        _LOGGER.log(
            logging.DEBUG if again is None else level,
            "connection %d from %s closed: %s%s",
            self.peer.connection_id, self.peer, reason, again or "",
        )  # fmt: skip
        # Else these would keep each other until the garbage collector comes, which never looks at what it has frozen (`LongLivedObjects`):
        # 11 KB for each client that hangs up before it has logged in. And a timer of hours would keep a connection that is gone.
        self.peer.pause = None
        self._handler = _ENDED
        self._wait_before_refusal = None
        self._stop_pause()
        self._stop_reading()
        if self._writing:
            self._loop.remove_writer(self._socket)
        self._hold_unsent(0)
        self._forget_unanswered()
        self._owner.on_closed(self)
        self._socket.close()


class _Ended:
    """Handles the requests of a connection that is closed: there are none."""

    def may_overlap(self, frame: memoryview) -> bool:
        del frame
        return False

    def handle(self, frame: memoryview, connection: ClientConnection) -> None:
        del frame, connection
        raise ProtocolError("the connection is closed")


_ENDED: Final = _Ended()


async def _raise_after(wait: Coroutine[None, None, None], error: ProtocolError) -> None:
    """Raises what is refused at once, with the words of `error`."""
    await wait
    raise ProtocolError(str(error))
