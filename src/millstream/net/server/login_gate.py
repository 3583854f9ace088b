"""Stands before the handler of one connection until its client has logged in, and again when its session has ended.

Performs what `security.login` decides: arithmetic in threads, the delay of refusals, the identity of the connection. A
connection whose session never ends leaves the gate: its requests cost what they cost without a login.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar, assert_never

from millstream.net.server.client_connection import (
    ClientConnection,
    LoginCounts,
    audited_login,
)
from millstream.net.server.closings import Closings
from millstream.net.server.request_handler import LastAnswer, RequestHandler, Response
from millstream.quoting import shortened
from millstream.runtime import Clock
from millstream.security.login.login import (
    GoOn,
    LoggedIn,
    Login,
    LoginAction,
    Mechanisms,
    PassOn,
    Session,
    TurnAway,
    WorkFirst,
    has_ended,
    may_log_in_again,
)
from millstream.security.principal import USER_TYPE, KafkaPrincipal

ResultT = TypeVar("ResultT")
_LOGGER = logging.getLogger(__name__)
FRAME_BYTES_MAX: Final = 524_288
"""Kafka's default of `sasl.server.max.receive.size`."""


class WorkerPool(Protocol):
    """Runs short arithmetic in a thread."""

    async def verify(self, work: Callable[[], ResultT]) -> ResultT: ...


@dataclass(frozen=True, slots=True)
class LoginRules:
    """The rules by which clients of one listener log in."""

    mechanisms: Mechanisms
    pool: WorkerPool
    frame_bytes_max: int = FRAME_BYTES_MAX
    failure_delay_ms: int = 100
    """A client that is refused waits so long for the answer (`connection.failed.authentication.delay.ms`)."""


class GuardedConnection(Protocol):
    """The connection behind the gate."""

    def guard(
        self, frame_bytes_max: int, wait_before_refusal: Callable[[], Coroutine[None, None, None]]
    ) -> None: ...
    def serve_by(self, handler: RequestHandler) -> None: ...


class LoginGate:
    """Implements `RequestHandler` for one connection. `guard` gives it the connection, before anything is read."""

    _connection: GuardedConnection
    _on_logged_in: Callable[[], None]

    def __init__(
        self,
        rules: LoginRules,
        handler: RequestHandler,
        clock: Clock,
        counts: LoginCounts,
        closings: Closings,
    ) -> None:
        """`handler`: of the requests of clients that have logged in."""
        self._closings = closings
        self._rules = rules
        self._handler = handler
        self._clock = clock
        self._counts = counts
        self._login: Login | None = Login(rules.mechanisms, clock.now())
        self._session: Session | None = None
        self._is_shut = False
        """The client was turned away: nothing that it sends counts any more."""

    def guard(self, connection: GuardedConnection, on_logged_in: Callable[[], None]) -> None:
        self._connection = connection
        self._on_logged_in = on_logged_in
        connection.guard(self._rules.frame_bytes_max, self._wait)

    def may_overlap(self, frame: memoryview) -> bool:
        if self._login is not None or not self._handler.may_overlap(frame):
            return False
        # What comes after the end of the session closes the connection: not before those that it would overlap are answered.
        session = self._session
        return session is None or not has_ended(session, self._clock.now())

    def handle(
        self, frame: memoryview, connection: ClientConnection
    ) -> Response | Awaitable[Response | None] | None:
        if self._is_shut:
            # A client that closes its sending side while it waits has what it sent before read to the end, as one that wants no answers:
            # without this it could guess as often as it likes in one connection.
            raise LastAnswer("it may not log in", None, logging.DEBUG)
        now = self._clock.now()
        if self._login is None:
            session = self._session
            assert session is not None, "nobody is let in without a session"
            if may_log_in_again(session, frame, now):
                self._login = Login(self._rules.mechanisms, now, session.identity)
                self._connection.guard(self._rules.frame_bytes_max, self._wait)
            elif has_ended(session, now):
                self._counts.ended += 1
                raise LastAnswer("its session has ended (KIP-368)", None, logging.INFO)
            else:
                return self._handler.handle(frame, connection)
        return self._perform(self._login.receive(frame, now), frame, connection)

    def _perform(
        self, action: LoginAction, frame: memoryview, connection: ClientConnection
    ) -> Response | Awaitable[Response | None] | None:
        match action:
            case GoOn(response):
                return response
            case PassOn():
                return self._handler.handle(frame, connection)
            case LoggedIn(response, session):
                self._let_in(session, connection)
                return response
            case TurnAway(reason, _, is_delayed):
                self._is_shut = True
                self._note_failure(reason, connection, is_guess=is_delayed)
                if not is_delayed:
                    raise _refusal(action)
                return self._turn_away(action)
            case WorkFirst(do):
                return self._work(do, frame, connection)
            case _:
                assert_never(action)

    async def _work(
        self, do: Callable[[], LoginAction], frame: memoryview, connection: ClientConnection
    ) -> Response | None:
        """While a thread computes, nothing else of this connection is started: it has an unanswered request."""
        try:
            action = await self._rules.pool.verify(do)
        except Exception as error:
            # What fails here in an unexpected way is a fault of ours, and must cost this connection only.
            _LOGGER.exception("a login of connection %d failed", connection.connection_id)
            raise LastAnswer("its login could not be judged", None, logging.INFO) from error
        result = self._perform(action, frame, connection)
        if result is None or isinstance(result, list):
            return result
        assert isinstance(result, Awaitable), "a response is a list, or comes later"
        return await result

    async def _turn_away(self, action: TurnAway) -> Response | None:
        await self._wait()
        raise _refusal(action)

    async def _wait(self) -> None:
        await asyncio.sleep(self._rules.failure_delay_ms / 1000)

    def _let_in(self, session: Session, connection: ClientConnection) -> None:
        identity = session.identity
        again = self._session is not None
        connection.principal = KafkaPrincipal(
            USER_TYPE, identity.name, identity.token_authenticated
        )
        self._session, self._login = session, None
        self._connection.serve_by(self._handler if session.ends_ms is None else self)
        self._on_logged_in()
        if again:
            self._counts.successful_again += 1
        else:
            self._counts.successful += 1
        _LOGGER.info(
            "connection %d from %s logged in%s as %s with %s",
            connection.connection_id, connection, " again" if again else "", connection.principal, identity.mechanism,
            extra=audited_login(
                connection, is_allowed=True, principal=connection.principal.text, mechanism=identity.mechanism, again=again,
            ),
        )  # fmt: skip

    def _note_failure(self, reason: str, connection: ClientConnection, *, is_guess: bool) -> None:
        """Before the delay: whoever guesses and hangs up is in the log too.

        Who speaks another protocol is told of now and then.
        """
        reason, again = shortened(reason), self._session is not None
        more = "" if is_guess else self._closings.note(connection.client_host, reason)
        _LOGGER.log(
            logging.DEBUG if more is None else logging.INFO,
            "connection %d from %s may not log in: %s%s",
            connection.connection_id, connection, reason, more or "",
            extra=audited_login(connection, is_allowed=False, reason=reason, again=again),
        )  # fmt: skip
        if not again:
            self._counts.failed += 1
        else:
            self._counts.failed_again += 1


def _refusal(action: TurnAway) -> LastAnswer:
    return LastAnswer("it may not log in", action.response, logging.DEBUG)
