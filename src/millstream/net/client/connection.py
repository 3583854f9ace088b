"""One connection to a broker: frames in, frames out, answers to their askers.

Bytes go straight from the socket, or from TLS, into the buffer of their frame, so a fetch of megabytes is copied once.
Versions, correlation ids and decoding are `core.connection_state`'s. A request that is not answered in time ends the
connection, because answers come in order and nothing behind it would arrive either. How a connection is made is
`dialer`'s.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast

from millstream.errors import (
    IllegalSaslState,
    KafkaError,
    NetworkException,
    ProtocolError,
    RequestTimedOut,
    error_for,
)
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.api_versions import (
    UNSUPPORTED_VERSION_CODE,
    ApiVersionTable,
    next_api_versions_attempt,
)
from millstream.net.client.core.connection_state import ConnectionState
from millstream.net.client.core.first_contact import (
    FirstContact,
    ListenerMismatch,
    early_end,
    unexpected_size,
)
from millstream.net.client.core.traffic import Traffic
from millstream.net.frame_receiver import (
    RECEIVE_BUFFER_BYTES,
    FrameReceiver,
    ImpossibleFrameSize,
)
from millstream.protocol.api import VERSIONS, ApiKey, Message
from millstream.protocol.frames import Piece
from millstream.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse

_SERVED = 2
"""Answers after which a listener has let us in, or begun to: every listener gives the first, to ApiVersions."""
_CLOSE_SECONDS = 1.0
"""Ours: what a broker has not taken by then it takes no more."""

AnyResponse = TypeVar("AnyResponse", bound=Message)


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    client_id: str
    request_timeout_ms: int
    frame_bytes_max: int
    software_version: str
    security_protocol: str = "PLAINTEXT"
    idle_ms_max: int = -1
    """-1: never closed for being idle."""
    traffic: Traffic = field(default_factory=Traffic)
    """Where connections and answers are counted."""
    first_contact: FirstContact = field(default_factory=lambda: FirstContact(is_over=True))
    """Judges connections that end before anything was served."""


class Authenticator(Protocol):
    async def authenticate(self, connection: Connection) -> int | None:
        """Proves who we are, with `Connection.exchange`. Milliseconds until it must be done again, None for never."""
        ...


AnswerTaker = Callable[[Message | None, Exception | None], None]
"""Takes an answer, or why there will be none."""


@dataclass(slots=True)
class _Waiter:
    """A request that is not answered yet. `sent` and `deadline` are times of the loop."""

    key: ApiKey
    sent: float
    deadline: float
    take: AnswerTaker


class Connection:
    """Use `Dialer.dial`, which gives asyncio the methods of its protocols.

    All methods belong to the event loop that connected it.
    """

    def __init__(
        self,
        options: ConnectionOptions,
        address: Address,
        authenticator: Authenticator | None = None,
    ) -> None:
        self._options = options
        self.address = address
        self._authenticator = authenticator
        self._state = ConnectionState(options.client_id)
        self._waiters: dict[int, _Waiter] = {}
        self._transport: asyncio.Transport | None = None
        self._closed_by: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._closed = self._loop.create_future()
        self._turn = asyncio.Lock()
        self._throttled_until = 0.0  # of the loop's clock, as all times here
        self._session_ends: float | None = None
        self._last_used = self._loop.time()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._deadline_timer: asyncio.TimerHandle | None = None
        """Goes off when the first of the unanswered requests must be answered, or before: one for all of them."""
        self._answers = 0
        self._received = FrameReceiver(
            memoryview(bytearray(RECEIVE_BUFFER_BYTES)),
            options.frame_bytes_max,
            believes_sizes=True,
        )

    @property
    def versions(self) -> ApiVersionTable:
        return self._state.versions

    @property
    def is_closed(self) -> bool:
        return self._closed_by is not None

    @property
    def in_flight_count(self) -> int:
        return self._state.in_flight_count

    async def request(
        self,
        key: ApiKey,
        request: Message,
        response_type: type[AnyResponse],  # noqa: ARG002 - tells the type checker what comes back
        *,
        timeout_ms: int | None = None,
        version_max: int = 2**15,
    ) -> AnyResponse:
        """Send and wait. Raises NetworkException, RequestTimedOut, UnsupportedVersion.

        Requests go out in the order of the calls. One that must wait, because the broker throttles us or wants us to
        authenticate again, is timed from when it is sent. A cancelled caller leaves the connection usable: the answer
        is dropped when it comes. One that does not come ends the connection all the same, and so does a caller that is
        cancelled while it authenticates again: nobody knows how far the broker has got with that.
        """
        version = self.versions.choose(key, version_max)
        async with self._turn:
            await self._wait_until_allowed()
            answer = self._send(key, request, version, timeout_ms)
        return cast("AnyResponse", await answer)

    def request_at_once(
        self,
        key: ApiKey,
        request: Message,
        take: AnswerTaker,
        *,
        timeout_ms: int,
        version_max: int,
    ) -> bool:
        """Sends a request now and has its answer taken as it comes, within the same turn of the
        loop; takes no task and no future.

        False where the request would have to wait: for its turn, as the broker wishes, or for authentication. Raises
        what `request` does before it waits. What `take` raises would be the end of the connection.
        """
        now = self._loop.time()
        must_authenticate = self._session_ends is not None and now >= self._session_ends
        if self._turn.locked() or self._throttled_until > now or must_authenticate:
            return False
        self._post(key, request, self.versions.choose(key, version_max), timeout_ms, take)
        return True

    async def send_without_response(
        self, key: ApiKey, request: Message, *, version_max: int
    ) -> None:
        """Sends a request without a response: for Produce with acks=0, which no broker answers.

        In order with `request`.
        """
        version = self.versions.choose(key, version_max)
        async with self._turn:
            await self._wait_until_allowed()
            self._check_open()
            _, buffers = self._state.send(key, request, version, expects_response=False)
            self._write(buffers)

    async def exchange(
        self,
        key: ApiKey,
        request: Message,
        response_type: type[AnyResponse],  # noqa: ARG002 - tells the type checker what comes back
    ) -> AnyResponse:
        """Sends a request past those who wait for their turn: what makes the connection usable."""
        return cast("AnyResponse", await self._send(key, request, self.versions.choose(key)))

    async def close(self) -> None:
        """Closes after sending what was written, if the broker takes it within a second.

        Cancelled, it closes all the same.
        """
        self.begin_close()
        if self._transport is None:
            return
        try:
            await asyncio.wait((self._closed,), timeout=_CLOSE_SECONDS)
        finally:
            if not self._closed.done():
                self._transport.abort()

    def begin_close(self) -> None:
        """Begins to close the connection, without waiting for what was written."""
        self._fail_waiters(NetworkException(f"the connection to {self.address} was closed"))
        if self._transport is not None:
            self._transport.close()

    async def negotiate_versions(self) -> None:
        """ApiVersions, going down when the broker does not know our version (KIP-511)."""
        version = VERSIONS[ApiKey.API_VERSIONS].highest
        request = ApiVersionsRequest(
            client_software_name="millstream",
            client_software_version=self._options.software_version,
        )
        while True:
            answer = self._send(ApiKey.API_VERSIONS, request, version)
            response = cast("ApiVersionsResponse", await answer)
            if response.error_code == UNSUPPORTED_VERSION_CODE and version > 0:
                self._answers = 0  # it says nothing yet of what the listener wants
                version = min(version - 1, next_api_versions_attempt(response))
            elif response.error_code:
                raise error_for(response.error_code)
            else:
                break
        self._state.versions = ApiVersionTable.from_response(response)

    async def authenticate(self) -> None:
        """Now, and when needed again before the session ends (KIP-368). A failure is the end of the connection."""
        if self._authenticator is None:
            return
        try:
            lifetime_ms = await self._authenticator.authenticate(self)
        except IllegalSaslState as asked_twice:
            if self._session_ends is None:
                self._close(asked_twice)
                raise
            # Brokers refuse to be asked twice within a second; a new connection is always right.
            again = NetworkException(f"{self.address} did not take up authentication again")
            self._close(again)
            raise again from asked_twice
        except KafkaError as error:
            self._close(error)
            raise
        except BaseException:
            self._close(NetworkException(f"authentication at {self.address} was broken off"))
            raise
        self._session_ends = None if lifetime_ms is None else self._loop.time() + lifetime_ms / 1000

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._options.traffic.connections_made += 1
        sock = self._transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._options.idle_ms_max >= 0:
            self._watch_idleness(self._options.idle_ms_max / 1000)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._closed_by is None:
            self._close(self._judged(self._why_lost(exc)))
        if not self._closed.done():
            self._closed.set_result(None)

    def _judged(self, error: KafkaError) -> KafkaError:
        return self._options.first_contact.judge(error, int(self._loop.time() * 1000))

    def _why_lost(self, cause: Exception | None) -> KafkaError:
        if (
            cause is not None
            and self._answers == 0
            and self._options.security_protocol.endswith("SSL")
        ):
            from millstream.net.client.tls import tls_failure

            return tls_failure(self.address, cause)  # TLS 1.3 refuses our certificate this late
        hint = early_end(self._options.security_protocol, self._answers)
        why = "" if cause is None else f" ({cause})"
        kind = ListenerMismatch if hint else NetworkException
        return kind(f"{self.address} closed the connection{hint}{why}")

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        return self._received.target()

    def buffer_updated(self, nbytes: int) -> None:
        if self._closed_by is not None:
            return  # TLS hands over what it has opened while it says goodbye: who asked has been told otherwise
        self._received.note_received(nbytes)
        try:
            while (frame := self._received.next_frame()) is not None:
                self._deliver(frame)
        except ImpossibleFrameSize as impossible:
            stranger = unexpected_size(impossible.size, self._options.frame_bytes_max)
            self._close(self._judged(ListenerMismatch(f"{self.address} {stranger}")))
        except ProtocolError as error:
            self._close(
                NetworkException(f"{self.address} sent what is not Kafka's protocol: {error}")
            )

    def _deliver(self, frame: memoryview) -> None:
        correlation_id, response = self._state.receive(frame)
        self._answers += 1
        if self._answers == _SERVED:
            self._options.first_contact.is_over = True
        self._last_used = self._loop.time()
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self._note_throttle(self._last_used + throttle_ms / 1000)
        waiter = self._waiters.pop(correlation_id)
        waited_ms = (self._last_used - waiter.sent) * 1000
        self._options.traffic.record_answer(self.address, waiter.key, waited_ms)
        waiter.take(response, None)

    def _note_throttle(self, until: float) -> None:
        """Leaves the broker alone until then. A shorter wish that comes later ends no longer one, as in Java's client.

        What was sent before is not read by the broker until then, and has that much more time to be answered: else it
        would end the connection, and with it the wait. (Java's client adds up wishes that overlap.)
        """
        more_s = until - max(self._throttled_until, self._last_used)
        if more_s > 0:
            self._throttled_until = until
            for waiter in self._waiters.values():
                waiter.deadline += more_s

    async def _wait_until_allowed(self) -> None:
        """The broker's wish to be left alone (KIP-219), then the end of our session (KIP-368)."""
        # Answers that come meanwhile may wish for more.
        while (wait_s := self._throttled_until - self._loop.time()) > 0 and not self.is_closed:
            await asyncio.wait((self._closed,), timeout=wait_s)
        if self._session_ends is not None and self._loop.time() >= self._session_ends:
            self._check_open()
            await self.authenticate()

    def _watch_deadlines(self) -> None:
        """Ends the connection when a request is not answered in time; else waits for the next that must be."""
        self._deadline_timer = None
        if not self._waiters:
            return
        first = min(self._waiters.values(), key=lambda waiter: waiter.deadline)
        if first.deadline > self._loop.time():
            self._deadline_timer = self._loop.call_at(first.deadline, self._watch_deadlines)
            return
        patience_s = round(first.deadline - first.sent, 3)
        self._close(
            RequestTimedOut(f"{self.address} did not answer {first.key.name} within {patience_s} s")
        )

    def _send(
        self, key: ApiKey, request: Message, version: int, timeout_ms: int | None = None
    ) -> asyncio.Future[Message]:
        answer: asyncio.Future[Message] = self._loop.create_future()

        def take(response: Message | None, failure: Exception | None) -> None:
            if answer.done():
                return
            if failure is None:
                answer.set_result(cast("Message", response))
            else:
                answer.set_exception(failure)
                answer.exception()  # an answer whose asker was cancelled must not complain at collection

        self._post(key, request, version, timeout_ms, take)
        return answer

    def _post(
        self, key: ApiKey, request: Message, version: int, timeout_ms: int | None, take: AnswerTaker
    ) -> None:
        self._check_open()
        correlation_id, buffers = self._state.send(key, request, version)
        self._write(buffers)
        sent = self._last_used
        deadline = sent + (timeout_ms or self._options.request_timeout_ms) / 1000
        self._waiters[correlation_id] = _Waiter(key, sent, deadline, take)
        timer = self._deadline_timer
        if timer is None or timer.when() > deadline:
            if timer is not None:
                timer.cancel()
            self._deadline_timer = self._loop.call_at(deadline, self._watch_deadlines)

    def _write(self, buffers: list[Piece]) -> None:
        assert self._transport is not None, "requests are sent on connected connections"
        self._last_used = self._loop.time()
        self._transport.writelines(cast("list[bytearray | memoryview]", buffers))

    def _watch_idleness(self, idle_s_max: float) -> None:
        left_s = idle_s_max - (self._loop.time() - self._last_used)
        if self.in_flight_count:
            left_s = idle_s_max
        if left_s <= 0:
            self._fail_waiters(NetworkException(f"{self.address}: closed, as nobody used it"))
            assert self._transport is not None, "connections are watched once they are made"
            self._transport.close()
            return
        self._idle_timer = self._loop.call_later(left_s, self._watch_idleness, idle_s_max)

    def _check_open(self) -> None:
        if isinstance(self._closed_by, KafkaError) and not self._closed_by.retriable:
            raise type(self._closed_by)(str(self._closed_by))
        if self._closed_by is not None:
            raise NetworkException(str(self._closed_by))

    def _close(self, reason: Exception) -> None:
        """Idempotent; the first reason counts."""
        self._fail_waiters(reason)
        if self._transport is not None:
            self._transport.abort()

    def _fail_waiters(self, reason: Exception) -> None:
        if self._closed_by is not None:
            return
        self._closed_by = reason
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            waiter.take(None, reason)
