"""The login of a connection, event by event as Kafka's SaslServerAuthenticator has them."""

from __future__ import annotations

from typing import TypeVar

import pytest

from millstream.errors import IllegalSaslState, SaslAuthenticationFailed, UnsupportedSaslMechanism
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.frames import Piece, decode_response, encode_request
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from millstream.protocol.generated.produce import ProduceRequest
from millstream.protocol.generated.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from millstream.protocol.generated.sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from millstream.runtime import Instant
from millstream.security.login.login import (
    GoOn,
    Identity,
    LoggedIn,
    Login,
    LoginAction,
    Mechanism,
    PassOn,
    Session,
    TurnAway,
    WorkFirst,
    has_ended,
    may_log_in_again,
)
from millstream.security.login.mechanism import PlainServer
from millstream.security.login.scram_server import ScramServer
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import ScramMechanism
from tests.unit.security.login.verifiers import TOKEN_ENDS_MS, FixedVerifiers

ResponseT = TypeVar("ResponseT", bound=Message)
SCRAM = ScramMechanism.SCRAM_SHA_256
VERIFIERS = FixedVerifiers({"alice": "wonder"}, {"token-1": "carol"})
NOW = Instant(1_000, 70_000)
ALICE = Identity("alice", "PLAIN")


def mechanisms(session_ms_max: int = 0) -> dict[str, Mechanism]:
    return {
        "PLAIN": Mechanism(
            lambda: PlainServer({"alice": "wonder", "bob": "builder"}), session_ms_max
        ),
        "SCRAM-SHA-256": Mechanism(lambda: ScramServer(SCRAM, VERIFIERS, "server", b"secret")),
    }


def login(session_ms_max: int = 0, previous: Identity | None = None) -> Login:
    return Login(mechanisms(session_ms_max), NOW, previous)


def frame(key: ApiKey, version: int, message: Message) -> memoryview:
    pieces = encode_request(key, version, 7, "test", message)
    return memoryview(bytearray(b"".join(bytes(piece) for piece in pieces)[4:]))  # type: ignore[arg-type]


def handshake(mechanism: str = "PLAIN", version: int = 1) -> memoryview:
    return frame(ApiKey.SASL_HANDSHAKE, version, SaslHandshakeRequest(mechanism))


def token(data: bytes = b"\0alice\0wonder", version: int = 2) -> memoryview:
    return frame(ApiKey.SASL_AUTHENTICATE, version, SaslAuthenticateRequest(data))


def api_versions(version: int = 3) -> memoryview:
    request = ApiVersionsRequest("test", "1") if version >= 3 else ApiVersionsRequest()
    return frame(ApiKey.API_VERSIONS, version, request)


def body(pieces: list[Piece] | None) -> bytes:
    assert pieces is not None, "the client is told nothing"
    return b"".join(bytes(piece) for piece in pieces)[4:]  # type: ignore[arg-type]


def told(
    pieces: list[Piece] | None, key: ApiKey, version: int, expected: type[ResponseT]
) -> ResponseT:
    correlation_id, message = decode_response(key, version, memoryview(body(pieces)))
    assert correlation_id == 7
    assert isinstance(message, expected)
    return message


def authenticated(action: LoginAction, version: int = 2) -> SaslAuthenticateResponse:
    assert isinstance(action, GoOn | LoggedIn | TurnAway)
    return told(action.response, ApiKey.SASL_AUTHENTICATE, version, SaslAuthenticateResponse)


def after_handshake(machine: Login, mechanism: str = "PLAIN", version: int = 1) -> Login:
    assert isinstance(machine.receive(handshake(mechanism, version), NOW), GoOn)
    return machine


# Before the handshake


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\x00",
        b"\x60\x82garbage of GSSAPI",
        b"\x7f\xff\x00\x00\x00\x00\x00\x01\xff\xff",
        bytes(frame(ApiKey.METADATA, 9, MetadataRequest())),
        bytes(token()),
        bytes(handshake())[:9],
        b"\x00\x11\x00\x09\x00\x00\x00\x07\xff\xff\x00\x05PLAIN",
    ],
)
def test_anything_else_before_the_handshake_closes_at_once_without_an_answer(
    garbage: bytes,
) -> None:
    action = login().receive(memoryview(garbage), NOW)
    assert isinstance(action, TurnAway)
    assert action.response is None
    assert not action.is_delayed


def test_versions_are_passed_on_once() -> None:
    machine = login()
    assert machine.receive(api_versions(), NOW) == PassOn()
    second = machine.receive(api_versions(), NOW)
    assert isinstance(second, TurnAway)
    assert (second.response, second.is_delayed) == (None, False)


def test_versions_that_nobody_knows_may_be_asked_for_again() -> None:
    """KIP-511: the client goes down to a version that the answer names."""
    machine = login()
    unknown = bytearray(api_versions())
    unknown[2:4] = (99).to_bytes(2, "big")
    assert machine.receive(memoryview(unknown), NOW) == PassOn()
    assert machine.receive(memoryview(unknown), NOW) == PassOn()
    assert machine.receive(api_versions(), NOW) == PassOn()
    after_handshake(machine)


def test_a_mechanism_that_is_not_enabled_is_refused_with_those_that_are() -> None:
    action = login().receive(handshake("GSSAPI"), NOW)
    assert isinstance(action, TurnAway)
    assert action.is_delayed
    answer = told(action.response, ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeResponse)
    assert answer.error_code == UnsupportedSaslMechanism.code
    assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-256"]


@pytest.mark.parametrize("version", [0, 1])
def test_the_handshake_names_the_mechanisms(version: int) -> None:
    action = login().receive(handshake("PLAIN", version), NOW)
    assert isinstance(action, GoOn)
    answer = told(action.response, ApiKey.SASL_HANDSHAKE, version, SaslHandshakeResponse)
    assert (answer.error_code, answer.mechanisms) == (0, ["PLAIN", "SCRAM-SHA-256"])


# The exchange


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_user_logs_in(version: int) -> None:
    action = after_handshake(login()).receive(token(version=version), NOW)
    assert isinstance(action, LoggedIn)
    assert action.session == Session(ALICE, NOW.monotonic_ms, None)
    answer = authenticated(action, version)
    assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)


def test_a_handshake_of_version_0_is_followed_by_bare_tokens() -> None:
    machine = after_handshake(login(), "SCRAM-SHA-256", 0)
    client = ScramClient(SCRAM, "alice", "wonder", "nonce")
    action = machine.receive(memoryview(client.first()), NOW)
    assert isinstance(action, GoOn)
    final = client.answer(body(action.response))
    assert final is not None
    action = machine.receive(memoryview(final), NOW)
    assert isinstance(action, LoggedIn)
    assert client.answer(body(action.response)) is None
    assert action.session.identity == Identity("alice", "SCRAM-SHA-256")


def test_who_is_let_in_by_a_bare_token_of_plain_gets_an_empty_one() -> None:
    action = after_handshake(login(), "PLAIN", 0).receive(memoryview(b"\0alice\0wonder"), NOW)
    assert isinstance(action, LoggedIn)
    assert body(action.response) == b""


def test_a_refused_bare_token_is_not_answered() -> None:
    action = after_handshake(login(), "PLAIN", 0).receive(memoryview(b"\0alice\0wrong"), NOW)
    assert isinstance(action, TurnAway)
    assert (action.response, action.is_delayed) == (None, True)


@pytest.mark.parametrize(
    ("mechanism", "data", "sentence"),
    [
        ("PLAIN", b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (
            "SCRAM-SHA-256",
            b"nonsense",
            "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256",
        ),
    ],
)
def test_whoever_is_refused_is_told_so_after_the_delay(
    mechanism: str, data: bytes, sentence: str
) -> None:
    action = after_handshake(login(), mechanism).receive(token(data), NOW)
    assert isinstance(action, TurnAway)
    assert action.is_delayed
    answer = authenticated(action)
    assert answer.error_code == SaslAuthenticationFailed.code
    assert answer.error_message == sentence


def test_another_request_in_the_exchange_is_refused_in_its_own_words() -> None:
    request = frame(ApiKey.LIST_GROUPS, 4, ListGroupsRequest())
    action = after_handshake(login()).receive(request, NOW)
    assert isinstance(action, TurnAway)
    answer = told(action.response, ApiKey.LIST_GROUPS, 4, ListGroupsResponse)
    assert answer.error_code == IllegalSaslState.code


@pytest.mark.parametrize(
    ("names", "told_of"),
    [
        ([f"topic-{number}" for number in range(3)], 3),
        ([""] * 400, 400),
        ([""] * 600, 0),
        ([f"topic-{number}" for number in range(3_000)], 0),
    ],
)
def test_metadata_in_the_exchange_is_refused_topic_by_topic(names: list[str], told_of: int) -> None:
    """As by Kafka 4.3.1, unless there are very many: kafkajs asks so after a bearer token that was refused."""
    topics = [MetadataRequestTopic(name=name) for name in names]
    request = frame(ApiKey.METADATA, 6, MetadataRequest(topics=topics))
    action = after_handshake(login()).receive(request, NOW)
    assert isinstance(action, TurnAway)
    answer = told(action.response, ApiKey.METADATA, 6, MetadataResponse)
    assert answer.brokers == []
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        (topic.name, IllegalSaslState.code) for topic in topics[:told_of]
    ]


@pytest.mark.parametrize(
    "request_frame", [frame(ApiKey.PRODUCE, 9, ProduceRequest()), handshake(), api_versions()]
)
def test_no_request_but_tokens_goes_on_with_the_exchange(request_frame: memoryview) -> None:
    action = after_handshake(login()).receive(request_frame, NOW)
    assert isinstance(action, TurnAway)


# Sessions


@pytest.mark.parametrize(
    ("session_ms_max", "by_token", "lifetime_ms"),
    [
        (0, False, None),
        (60_000, False, 60_000),
        (0, True, TOKEN_ENDS_MS - NOW.wall_ms),
    ],
)
def test_a_session_ends_with_what_ends_first(
    session_ms_max: int, by_token: bool, lifetime_ms: int | None
) -> None:
    action = _by_token(NOW) if by_token else _by_password(session_ms_max)
    assert isinstance(action, LoggedIn)
    ends_ms = None if lifetime_ms is None else NOW.monotonic_ms + lifetime_ms
    assert action.session.ends_ms == ends_ms
    assert action.session.identity.token_authenticated == by_token
    assert authenticated(action).session_lifetime_ms == (lifetime_ms or 0)


def test_a_credential_that_has_ended_gives_a_session_that_has_ended() -> None:
    """KAFKA-13848: a negative life must not read as one without an end."""
    late = Instant(TOKEN_ENDS_MS + 1, NOW.monotonic_ms)
    action = _by_token(late)
    assert isinstance(action, LoggedIn)
    assert authenticated(action).session_lifetime_ms == 0
    assert has_ended(action.session, Instant(late.wall_ms, late.monotonic_ms + 1))


def _by_password(session_ms_max: int) -> LoginAction:
    return after_handshake(login(session_ms_max)).receive(token(), NOW)


def _by_token(now: Instant) -> LoginAction:
    machine = after_handshake(login(), "SCRAM-SHA-256")
    client = ScramClient(SCRAM, "token-1", "carol", "nonce", token_auth=True)
    action = machine.receive(token(client.first()), now)
    assert isinstance(action, WorkFirst)
    final = client.answer(bytes(authenticated(action.do()).auth_bytes))
    assert final is not None
    return machine.receive(token(final), now)


@pytest.mark.parametrize(
    ("ends_ms", "since_ms", "request_frame", "may"),
    [
        (5_000, 1_000, handshake(), True),
        (5_000, 999, handshake(), False),
        (5_000, 9_000, handshake(), True),
        (5_000, 9_000, token(), False),
        (None, 9_000, handshake(), False),
    ],
)
def test_who_may_log_in_again(
    ends_ms: int | None, since_ms: int, request_frame: memoryview, may: bool
) -> None:
    session = Session(ALICE, 100, ends_ms)
    assert may_log_in_again(session, request_frame, Instant(0, 100 + since_ms)) is may


def test_a_session_ends_after_its_last_millisecond() -> None:
    session = Session(ALICE, 100, 5_000)
    assert not has_ended(session, Instant(0, 5_000))
    assert has_ended(session, Instant(0, 5_001))
    assert not has_ended(Session(ALICE, 100, None), Instant(0, 1 << 60))


def test_a_user_logs_in_again() -> None:
    action = after_handshake(login(60_000, ALICE)).receive(token(), NOW)
    assert isinstance(action, LoggedIn)
    assert authenticated(action).session_lifetime_ms == 60_000


def test_nobody_becomes_another_one() -> None:
    action = after_handshake(login(60_000, ALICE)).receive(token(b"\0bob\0builder"), NOW)
    assert isinstance(action, TurnAway)
    assert authenticated(action).error_message == (
        "Cannot change principals during re-authentication from User.alice: User.bob"
    )


def test_a_wrong_password_is_told_as_one_of_another_login() -> None:
    machine = after_handshake(login(0, Identity("alice", "SCRAM-SHA-256")), "SCRAM-SHA-256")
    answer = authenticated(machine.receive(token(b"nonsense"), NOW))
    assert answer.error_message is not None
    assert "failed during re-authentication due to" in answer.error_message


def test_the_mechanism_stays_what_it_was() -> None:
    machine = after_handshake(login(60_000, ALICE), "SCRAM-SHA-256")
    action = machine.receive(token(), NOW)
    assert isinstance(action, TurnAway)
    assert (action.response, action.is_delayed) == (None, True)
    assert "SCRAM-SHA-256 is not the mechanism of this connection, which is PLAIN" in action.reason


def test_whoever_logs_in_again_asks_for_no_versions() -> None:
    assert isinstance(login(60_000, ALICE).receive(api_versions(), NOW), TurnAway)
