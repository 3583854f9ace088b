"""Logging in, on the wire: every event of Kafka's SaslServerAuthenticator, and what a session ends with.

With MILLSTREAM_KAFKA_LOGINS="PLAINTEXT=HOST:PORT SASL_PLAINTEXT=HOST:PORT SHORT=HOST:PORT" the same cases run against an Apache Kafka whose
listeners have the users and sessions of `SETTINGS`; those that say how we differ are left out.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from millstream.clients.admin import DeleteScramCredential, UpsertScramCredential
from millstream.clients.blocking import Admin
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.frames import decode_response, encode_request
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.list_groups import ListGroupsRequest
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from millstream.security.jaas import MODULES
from millstream.security.sasl_client import PlainClient
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import ScramMechanism
from millstream.testing.node_runner import ThreadNode
from tests.support.clients.raw_client import Content, RawClient

KAFKA = os.environ.get("MILLSTREAM_KAFKA_LOGINS", "")
NAMES = ("PLAINTEXT", "SASL_PLAINTEXT", "SHORT")
SESSION_MS = 1_200
JAAS = f'{MODULES["PLAIN"]} required user_alice="wonder" user_bob="builder";'
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS,
    "listener.name.short.plain.sasl.jaas.config": JAAS,
    "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
    "delegation.token.secret.key": "master",
    "millstream.flush.on.ack": "never",
}
UNSUPPORTED_MECHANISM, ILLEGAL_STATE, FAILED = 33, 34, 58
DELAY_S = 0.1
"""connection.failed.authentication.delay.ms"""
only_ours = pytest.mark.skipif(bool(KAFKA), reason="here we differ from Kafka")


@dataclass
class Listeners:
    addresses: dict[str, str]

    def connect(self, listener: str = "SASL_PLAINTEXT") -> Wire:
        return Wire(self.addresses[listener])


class Wire(RawClient):
    """A connection that says what is on it."""

    def say(self, key: ApiKey, version: int, message: Message) -> Content | None:
        """Returns the answer, or None where the broker closes instead."""
        self.send(b"".join(map(bytes, encode_request(key, version, 7, "test", message))))  # type: ignore[arg-type]
        try:
            _, answer = decode_response(key, version, memoryview(self.read_frame()))
        except ConnectionError:
            return None
        return answer

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> Content | None:
        return self.say(ApiKey.SASL_HANDSHAKE, version, SaslHandshakeRequest(mechanism))

    def token(self, token: bytes = b"\0alice\0wonder", version: int = 2) -> Content | None:
        return self.say(ApiKey.SASL_AUTHENTICATE, version, SaslAuthenticateRequest(token))

    def log_in(self, name: str = "alice", password: str = "wonder") -> Content:
        assert self.handshake().error_code == 0
        answer = self.token(PlainClient(name, password).first())
        assert answer.error_code == 0, answer.error_message
        return answer

    def is_served(self) -> bool:
        return self.say(ApiKey.METADATA, 9, MetadataRequest(topics=[])) is not None

    def ends_after(self) -> float:
        """How long it takes until the broker has closed."""
        begin = time.monotonic()
        assert self.is_closed_by_broker()
        return time.monotonic() - begin


def free_ports() -> dict[str, int]:
    sockets = {name: socket.socket() for name in NAMES}
    ports = {}
    for sock in sockets.values():
        sock.bind(("127.0.0.1", 0))
    for name, sock in sockets.items():
        with closing(sock):
            ports[name] = sock.getsockname()[1]
    return ports


@pytest.fixture(scope="module")
def listeners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listeners]:
    if KAFKA:
        yield Listeners(dict(each.split("=") for each in KAFKA.split()))
        return
    addresses = {name: f"127.0.0.1:{port}" for name, port in free_ports().items()}
    node = ThreadNode(
        {
            **SETTINGS,
            "listeners": ",".join(f"{name}://{at}" for name, at in addresses.items()),
            "log.dirs": str(tmp_path_factory.mktemp("data")),
        }
    )
    node.start(60)
    try:
        yield Listeners(addresses)
    finally:
        node.stop()


@pytest.fixture
def wire(listeners: Listeners) -> Iterator[Wire]:
    with listeners.connect() as wire:
        yield wire


@pytest.fixture
def admin(listeners: Listeners) -> Iterator[Admin]:
    with Admin(bootstrap_servers=listeners.addresses["PLAINTEXT"]) as admin:
        yield admin


# Before the handshake


@pytest.mark.parametrize("body", [b"", b"x", b"GET / HTTP/1.1\r\n", b"\x60\x82\x01\x02garbage"])
def test_garbage_closes_at_once(listeners: Listeners, body: bytes) -> None:
    def time_to_the_end() -> float:
        with listeners.connect() as wire:
            wire.send(struct.pack(">i", len(body)) + body)
            return wire.ends_after()

    assert min(time_to_the_end() for _ in range(5)) < DELAY_S, (
        "of several, as a busy machine may delay one"
    )


def test_no_request_is_served_before_the_login(wire: Wire) -> None:
    assert wire.say(ApiKey.METADATA, 9, MetadataRequest(topics=[])) is None


def test_no_token_comes_before_the_handshake(wire: Wire) -> None:
    assert wire.token() is None


def test_versions_are_told_once(wire: Wire) -> None:
    answer = wire.say(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
    assert answer is not None
    assert answer.error_code == 0
    assert ApiKey.SASL_HANDSHAKE in {each.api_key for each in answer.api_keys}
    assert wire.say(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1")) is None


def test_a_login_follows_the_versions(wire: Wire) -> None:
    wire.say(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
    wire.log_in()
    assert wire.is_served()


def test_a_mechanism_that_is_not_enabled_is_refused_with_those_that_are(wire: Wire) -> None:
    answer = wire.handshake("OAUTHBEARER")
    assert answer is not None
    assert answer.error_code == UNSUPPORTED_MECHANISM
    assert sorted(answer.mechanisms) == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert wire.is_closed_by_broker()


@pytest.mark.parametrize("size", [524_289, 2**31 - 1, -1])
def test_a_frame_that_is_too_large_closes_after_the_delay(wire: Wire, size: int) -> None:
    wire.send(struct.pack(">i", size) + b"\0" * 100)
    assert wire.ends_after() > DELAY_S / 2


def test_a_frame_that_is_large_enough_is_read(wire: Wire) -> None:
    assert wire.handshake().error_code == 0  # type: ignore[union-attr]
    answer = wire.token(b"\0alice\0" + b"x" * 500_000)
    assert answer is not None
    assert answer.error_message == "Authentication failed: Invalid username or password"


# The exchange


def test_whoever_is_refused_waits_for_the_answer(wire: Wire) -> None:
    wire.handshake()
    begin = time.monotonic()
    answer = wire.token(b"\0alice\0wrong")
    assert time.monotonic() - begin > DELAY_S * 0.9
    assert answer is not None
    assert (answer.error_code, answer.error_message) == (
        FAILED,
        "Authentication failed: Invalid username or password",
    )
    assert wire.is_closed_by_broker()


def test_nothing_is_read_while_a_client_waits(wire: Wire) -> None:
    """A right token behind a wrong one opens nothing."""
    wire.handshake()
    for token in (b"\0alice\0wrong", b"\0alice\0wonder"):
        request = encode_request(
            ApiKey.SASL_AUTHENTICATE, 2, 7, None, SaslAuthenticateRequest(token)
        )
        wire.send(b"".join(map(bytes, request)))  # type: ignore[arg-type]
    wire.read_frame()
    assert wire.is_closed_by_broker()


def test_another_request_in_the_exchange_is_refused_in_its_own_words(wire: Wire) -> None:
    wire.handshake()
    answer = wire.say(ApiKey.LIST_GROUPS, 4, ListGroupsRequest())
    assert answer is not None
    assert answer.error_code == ILLEGAL_STATE
    assert wire.is_closed_by_broker()


def test_after_a_handshake_of_version_0_tokens_come_as_they_are(wire: Wire) -> None:
    assert wire.handshake(version=0).error_code == 0  # type: ignore[union-attr]
    token = PlainClient("alice", "wonder").first()
    wire.send(struct.pack(">i", len(token)) + token)
    assert wire.read_frame() == b""
    assert wire.is_served()


def test_a_refused_token_of_version_0_is_not_answered(wire: Wire) -> None:
    wire.handshake(version=0)
    token = PlainClient("alice", "wrong").first()
    wire.send(struct.pack(">i", len(token)) + token)
    assert wire.ends_after() > DELAY_S / 2


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_user_of_scram_is_known_at_once_and_gone_at_once(
    listeners: Listeners, admin: Admin, mechanism: ScramMechanism
) -> None:
    admin.alter_user_scram_credentials(
        [UpsertScramCredential("carol", mechanism, "secret", 4096)]
    ).raise_errors()
    assert scram(listeners, mechanism, "carol", "secret") == 0
    assert scram(listeners, mechanism, "carol", "Secret") == FAILED
    assert scram(listeners, mechanism, "nobody", "secret") == FAILED
    admin.alter_user_scram_credentials([DeleteScramCredential("carol", mechanism)]).raise_errors()
    assert scram(listeners, mechanism, "carol", "secret") == FAILED


def scram(
    listeners: Listeners,
    mechanism: ScramMechanism,
    name: str,
    password: str,
    *,
    token_auth: bool = False,
) -> int:
    """Returns the error that the login ends with."""
    with listeners.connect() as wire:
        wire.handshake(mechanism.sasl_name)
        client = ScramClient(mechanism, name, password, "nonce", token_auth=token_auth)
        token: bytes | None = client.first()
        while token is not None:
            answer = wire.token(token)
            assert answer is not None
            if answer.error_code:
                return int(answer.error_code)
            token = client.answer(bytes(answer.auth_bytes))
        return 0 if wire.is_served() else -1


# Sessions


@pytest.mark.parametrize("listener", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_nobody_logs_in_where_no_login_is_due(listeners: Listeners, listener: str) -> None:
    with listeners.connect(listener) as wire:
        if listener == "SASL_PLAINTEXT":
            assert wire.log_in().session_lifetime_ms == 0
        assert wire.handshake().error_code == ILLEGAL_STATE  # type: ignore[union-attr]
        answer = wire.token()
        assert answer is not None
        assert (answer.error_code, answer.error_message) == (
            ILLEGAL_STATE,
            "SaslAuthenticate request received after successful authentication",
        )
        assert wire.is_served()


@pytest.mark.parametrize(("version", "told_ms"), [(0, 0), (1, SESSION_MS), (2, SESSION_MS)])
def test_a_session_that_has_ended_closes_with_the_next_request(
    listeners: Listeners, version: int, told_ms: int
) -> None:
    """KAFKA-9241: also of a client whose version of SaslAuthenticate cannot be told of it."""
    with listeners.connect("SHORT") as wire:
        wire.handshake()
        assert wire.token(version=version).session_lifetime_ms == told_ms  # type: ignore[union-attr]
        assert wire.is_served()
        time.sleep(SESSION_MS / 1000 + 0.05)
        assert not wire.is_served()


def test_a_client_goes_on_after_it_has_logged_in_again(listeners: Listeners) -> None:
    with listeners.connect("SHORT") as wire:
        wire.log_in()
        for _ in range(2):
            time.sleep(1.01)
            assert wire.log_in().session_lifetime_ms == SESSION_MS
            assert wire.is_served()


def test_a_session_that_has_ended_may_begin_anew(listeners: Listeners) -> None:
    with listeners.connect("SHORT") as wire:
        wire.log_in()
        time.sleep(SESSION_MS / 1000 + 0.05)
        wire.log_in()
        assert wire.is_served()


def test_nobody_logs_in_again_as_another_one(listeners: Listeners) -> None:
    with listeners.connect("SHORT") as wire:
        wire.log_in()
        time.sleep(1.05)
        wire.handshake()
        answer = wire.token(b"\0bob\0builder")
        assert answer is not None
        assert answer.error_code == FAILED
        assert answer.error_message == (
            "Cannot change principals during re-authentication from User.alice: User.bob"
        )
        assert wire.is_closed_by_broker()


def test_nobody_logs_in_again_by_another_mechanism(listeners: Listeners) -> None:
    with listeners.connect("SHORT") as wire:
        wire.log_in()
        time.sleep(1.05)
        assert wire.handshake("SCRAM-SHA-256").error_code == 0  # type: ignore[union-attr]
        assert wire.token() is None


def test_nobody_logs_in_again_within_a_second_of_the_last_time(listeners: Listeners) -> None:
    with listeners.connect("SHORT") as wire:
        wire.log_in()
        time.sleep(1.05)
        wire.log_in()
        assert wire.handshake().error_code == ILLEGAL_STATE  # type: ignore[union-attr]
        assert wire.is_served()


# What is told to nobody


@only_ours
def test_no_secret_is_in_the_log(
    listeners: Listeners, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    """CVE-2026-33558."""
    caplog.set_level(logging.DEBUG)
    mechanism = ScramMechanism.SCRAM_SHA_512
    user = UpsertScramCredential("dora", mechanism, "open sesame", 4096)
    admin.alter_user_scram_credentials([user]).raise_errors()
    assert scram(listeners, mechanism, "dora", "open sesame") == 0
    assert scram(listeners, mechanism, "dora", "Open Sesame") == FAILED
    with listeners.connect() as wire:
        wire.log_in()
    with listeners.connect() as wire:
        wire.handshake()
        wire.token(b"\0alice\0Wonder")
        assert wire.is_closed_by_broker()
    assert "logged in as User:dora with SCRAM-SHA-512" in caplog.text
    assert "wrong user name or password for 'alice'" in caplog.text
    assert not re.search("open sesame|wonder", caplog.text, re.IGNORECASE)


# Delegation tokens


@only_ours
def test_a_session_by_token_ends_with_the_token(listeners: Listeners) -> None:
    with token_admin(listeners) as alice:
        token = alice.create_delegation_token(max_lifetime_ms=1_200)
    mechanism = ScramMechanism.SCRAM_SHA_256
    password = base64.b64encode(token.hmac).decode()

    def client() -> ScramClient:
        return ScramClient(mechanism, token.token_id, password, "nonce", token_auth=True)

    with listeners.connect() as wire:
        wire.handshake(mechanism.sasl_name)
        machine = client()
        challenge = wire.token(machine.first())
        assert challenge is not None
        final = machine.answer(bytes(challenge.auth_bytes))
        assert final is not None
        answer = wire.token(final)
        assert answer is not None
        assert answer.error_code == 0
        assert 0 < answer.session_lifetime_ms <= 1_200
        assert wire.is_served()
        time.sleep(answer.session_lifetime_ms / 1000 + 0.05)
        assert not wire.is_served()
    assert scram(listeners, mechanism, token.token_id, password, token_auth=True) == FAILED


def token_admin(listeners: Listeners) -> Admin:
    """Of a client that has proved who it is, as tokens want it."""
    return Admin(
        bootstrap_servers=listeners.addresses["SASL_PLAINTEXT"],
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="alice",
        sasl_password="wonder",
    )


@only_ours
def test_a_delegation_token_is_a_credential_of_its_owner(listeners: Listeners) -> None:
    with token_admin(listeners) as alice:
        token = alice.create_delegation_token(max_lifetime_ms=60_000)
    settings = {
        "bootstrap_servers": listeners.addresses["SASL_PLAINTEXT"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_jaas_config": f'{MODULES["SCRAM-SHA-512"]} required username="{token.token_id}" '
        f'password="{base64.b64encode(token.hmac).decode()}" tokenauth="true";',
    }
    with Admin(**settings) as bearer:
        assert "t" not in bearer.list_topics()
