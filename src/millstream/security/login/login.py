"""Logs one connection in, and again before its session ends: handshake, exchange, session (KIP-43, KIP-152, KIP-368).

    first -> (ApiVersions, once) -> SaslHandshake -> tokens, in SaslAuthenticate or (handshake v0) as they are -> logged in

Frames come in and actions go out; who performs them owns the socket, the clock and the threads. What clients are told,
and where a connection is closed without a word, is Kafka's (SaslServerAuthenticator).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from struct import Struct
from typing import Final

from millstream.errors import (
    IllegalSaslState,
    ProtocolError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
)
from millstream.protocol.api import VERSIONS, ApiKey, Message, response_class
from millstream.protocol.frames import (
    Piece,
    decode_request,
    decode_request_header,
    encode_response,
)
from millstream.protocol.generated.headers import RequestHeader
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)
from millstream.protocol.generated.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from millstream.protocol.generated.sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from millstream.runtime import Instant
from millstream.security.login.mechanism import (
    SaslAccepted,
    SaslChallenge,
    SaslRefused,
    SaslServer,
    SaslStep,
    SaslWork,
)

_SIZE: Final = Struct(">i")
_HANDSHAKE_KEY: Final = ApiKey.SASL_HANDSHAKE.to_bytes(2, "big")
_LOGIN_AGAIN_MS_MIN: Final = 1_000
"""Kafka's least time between two logins of a connection, so that a client cannot keep a broker busy with them."""
_METADATA_BYTES_MAX: Final = 1_024
"""Of a request whose topics are told one by one: 512 topics at most, since an empty name takes two bytes. Nobody who
has not logged in has a broker look at more of them."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A mechanism that a listener has enabled."""

    new_server: Callable[[], SaslServer] = field(repr=False)
    session_ms_max: int = 0
    """After so long a client must log in again (`connections.max.reauth.ms`); 0: never, unless its credential ends."""


Mechanisms = Mapping[str, Mechanism]
"""By name, in the order of the configuration."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A client that has logged in, and by which mechanism."""

    name: str
    mechanism: str
    token_authenticated: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """The time for which a login counts. Times are monotonic milliseconds."""

    identity: Identity
    began_ms: int
    ends_ms: int | None


@dataclass(frozen=True, slots=True)
class GoOn:
    """Send these pieces, and read on."""

    response: list[Piece]


@dataclass(frozen=True, slots=True)
class PassOn:
    """The request is handled as those of clients that are logged in are."""


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """Send these pieces; from now on the connection belongs to the session's identity."""

    response: list[Piece]
    session: Session


@dataclass(frozen=True, slots=True)
class TurnAway:
    """Close the connection. `reason` is for the log."""

    reason: str
    response: list[Piece] | None = None
    """Sent before, where there is one."""
    is_delayed: bool = True
    """Whether the client waits for it, as whoever guesses passwords must."""


@dataclass(frozen=True, slots=True)
class WorkFirst:
    """Call this where it holds up nobody, and perform what it returns."""

    do: Callable[[], LoginAction] = field(repr=False)


LoginAction = GoOn | PassOn | LoggedIn | TurnAway | WorkFirst


class _State(Enum):
    FIRST = auto()
    """SaslHandshake or ApiVersions."""
    HANDSHAKE = auto()
    """ApiVersions was answered: SaslHandshake."""
    TOKENS = auto()
    OTHER_MECHANISM = auto()
    """A client that logs in again wants another mechanism: its next message is refused, as in Kafka."""


class Login:
    """One login of a connection. `previous`: the session that it goes on with, where the connection logs in again."""

    def __init__(
        self, mechanisms: Mechanisms, began: Instant, previous: Identity | None = None
    ) -> None:
        self._mechanisms = mechanisms
        self._began_ms = began.monotonic_ms
        self._previous = previous
        self._state = _State.FIRST
        self._mechanism = ""
        self._server: SaslServer | None = None
        self._in_requests = False
        """Tokens come in SaslAuthenticate requests."""

    def receive(self, frame: memoryview, now: Instant) -> LoginAction:
        """Returns what to do about a frame, without its size. Raises nothing."""
        if self._state is _State.OTHER_MECHANISM:
            assert self._previous is not None, "only who logs in again can change the mechanism"
            return TurnAway(
                f"{self._mechanism} is not the mechanism of this connection, which is {self._previous.mechanism}"
            )
        if self._state is _State.TOKENS and not self._in_requests:
            return self._token(bytes(frame), now, None)
        try:
            header, at = decode_request_header(frame)
            if self._state is _State.TOKENS:
                return self._in_exchange(header, frame, now)
            return self._before_exchange(header, frame, at)
        except (ProtocolError, UnsupportedVersion) as error:
            return TurnAway(f"not a request of a client that logs in: {error}", is_delayed=False)

    # Before the exchange

    def _before_exchange(self, header: RequestHeader, frame: memoryview, at: int) -> LoginAction:
        key, version = header.request_api_key, header.request_api_version
        if key == ApiKey.API_VERSIONS:
            if self._state is not _State.FIRST or self._previous is not None:
                return TurnAway("ApiVersions a second time", is_delayed=False)
            if VERSIONS[ApiKey.API_VERSIONS].supports(version):
                self._state = _State.HANDSHAKE
            return PassOn()
        if key != ApiKey.SASL_HANDSHAKE:
            return TurnAway(f"a request of type {_name(key)} before it logged in", is_delayed=False)
        del at
        _, request = decode_request(frame)
        assert isinstance(request, SaslHandshakeRequest), "the key says so"
        return self._handshake(header, request.mechanism)

    def _handshake(self, header: RequestHeader, mechanism: str) -> LoginAction:
        answer = SaslHandshakeResponse(mechanisms=list(self._mechanisms))
        chosen = self._mechanisms.get(mechanism)
        if chosen is None:
            answer.error_code = UnsupportedSaslMechanism.code
            return TurnAway(
                f"mechanism {mechanism[:_NAME_TOLD_MAX]!r} is not enabled", _encoded(header, answer)
            )
        self._mechanism = mechanism
        if self._previous is not None and self._previous.mechanism != mechanism:
            self._state = _State.OTHER_MECHANISM
        else:
            self._state = _State.TOKENS
            self._in_requests = header.request_api_version >= 1
            self._server = chosen.new_server()
        return GoOn(_encoded(header, answer))

    # The exchange

    def _in_exchange(self, header: RequestHeader, frame: memoryview, now: Instant) -> LoginAction:
        key = header.request_api_key
        if key != ApiKey.SASL_AUTHENTICATE:
            told = IllegalSaslState(
                f"Unexpected Kafka request of type {_name(key)} during SASL authentication."
            )
            return TurnAway(str(told), _refusal_of_any(header, frame, told))
        _, request = decode_request(frame)
        assert isinstance(request, SaslAuthenticateRequest), "the key says so"
        return self._token(bytes(request.auth_bytes), now, header)

    def _token(self, token: bytes, now: Instant, header: RequestHeader | None) -> LoginAction:
        """`header`: of the request that the token came in; None for one that came as it is."""
        assert self._server is not None, "the handshake chose a mechanism"
        step = self._server.answer(token)
        if isinstance(step, SaslWork):
            work = step
            return WorkFirst(lambda: self._after(work.do(), now, header))
        return self._after(step, now, header)

    def _after(self, step: SaslStep, now: Instant, header: RequestHeader | None) -> LoginAction:
        if isinstance(step, SaslChallenge):
            return GoOn(_answer(header, step.message, 0))
        if isinstance(step, SaslAccepted):
            return self._accepted(step, now, header)
        assert isinstance(step, SaslRefused), "work does not lead to more work"
        return self._refused(step.reason, step.told, header)

    def _accepted(
        self, accepted: SaslAccepted, now: Instant, header: RequestHeader | None
    ) -> LoginAction:
        identity = Identity(accepted.name, self._mechanism, accepted.token_authenticated)
        if self._previous is not None and self._previous.name != identity.name:
            told = (
                f"Cannot change principals during re-authentication from User.{self._previous.name}: "
                f"User.{identity.name}"
            )
            return self._refused(told, told, header)
        lifetime_ms = _lifetime_ms(
            self._mechanisms[self._mechanism].session_ms_max, accepted.expires_at_ms, now
        )
        ends_ms = None if lifetime_ms is None else now.monotonic_ms + lifetime_ms
        return LoggedIn(
            _answer(header, accepted.message, lifetime_ms or 0),
            Session(identity, self._began_ms, ends_ms),
        )

    def _refused(self, reason: str, told: str | None, header: RequestHeader | None) -> TurnAway:
        """Of a token that came as it is nothing is told: the protocol has no words for it."""
        if header is None:
            return TurnAway(reason)
        kind = "authentication" if self._previous is None else "re-authentication"
        answer = SaslAuthenticateResponse(
            error_code=SaslAuthenticationFailed.code,
            error_message=told
            or f"Authentication failed during {kind} due to invalid credentials with SASL mechanism {self._mechanism}",
        )
        return TurnAway(reason, _encoded(header, answer))


def may_log_in_again(session: Session, frame: memoryview, now: Instant) -> bool:
    """Whether this frame begins another login: a handshake, in a session that ends, not right after the last login."""
    return (
        session.ends_ms is not None
        and frame[:2] == _HANDSHAKE_KEY
        and now.monotonic_ms - session.began_ms >= _LOGIN_AGAIN_MS_MIN
    )


def has_ended(session: Session, now: Instant) -> bool:
    return session.ends_ms is not None and now.monotonic_ms > session.ends_ms


_NAME_TOLD_MAX: Final = 64


def _lifetime_ms(session_ms_max: int, expires_at_ms: int | None, now: Instant) -> int | None:
    """The least of what the configuration and the credential allow; None where neither limits it.

    An ended credential: 0.
    """
    limits = [session_ms_max] if session_ms_max > 0 else []
    if expires_at_ms is not None:
        limits.append(max(0, expires_at_ms - now.wall_ms))
    return min(limits, default=None)


def _answer(header: RequestHeader | None, message: bytes, lifetime_ms: int) -> list[Piece]:
    if header is None:
        return [bytearray(_SIZE.pack(len(message)) + message)]
    answer = SaslAuthenticateResponse(auth_bytes=message, session_lifetime_ms=lifetime_ms)
    return _encoded(header, answer)


def _encoded(header: RequestHeader, answer: Message) -> list[Piece]:
    key = ApiKey(header.request_api_key)
    return encode_response(key, header.request_api_version, header.correlation_id, answer)


def _refusal_of_any(
    header: RequestHeader, frame: memoryview, error: IllegalSaslState
) -> list[Piece] | None:
    """The answer of another API than the one that was expected; None where it has no place for an error of all of it.

    Metadata says it of each topic, as in Kafka: clients that do not look at the refusal of a bearer
    token ask for theirs next.
    """
    key = ApiKey(header.request_api_key)
    answer = response_class(key)()
    if not hasattr(answer, "error_code") or not VERSIONS[key].supports(header.request_api_version):
        return None
    answer.error_code = error.code
    if hasattr(answer, "error_message"):
        answer.error_message = str(error)
    if isinstance(answer, MetadataResponse) and len(frame) <= _METADATA_BYTES_MAX:
        answer.topics = _refused_topics(frame, error)
    return _encoded(header, answer)


def _refused_topics(frame: memoryview, error: IllegalSaslState) -> list[MetadataResponseTopic]:
    _, request = decode_request(frame)
    assert isinstance(request, MetadataRequest), "the key says so"
    return [
        MetadataResponseTopic(error.code, topic.name or "", topic.topic_id)
        for topic in request.topics or ()
    ]


def _name(key: int) -> str:
    return ApiKey(key).name
