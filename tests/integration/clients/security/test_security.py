"""TLS and SASL between the clients and a broker that does as it is told; Kafka itself is in test_security_on_kafka."""

from __future__ import annotations

import asyncio
import itertools
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvloop

from millstream.clients import Admin, Consumer, Producer, RangeReader, ShareConsumer
from millstream.errors import (
    ConfigError,
    IllegalSaslState,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
)
from millstream.net.client.config.security import SecuritySettings
from millstream.net.client.tls import SslAuthenticationFailed
from millstream.protocol.api import ApiKey
from millstream.security.sasl_client import OAuthBearerToken
from tests.integration.clients.refusals import refusal
from tests.integration.clients.scripted_broker import Script, scripted_broker
from tests.integration.clients.security.certificates import Authority
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

GIVES_UP: dict[str, Any] = {"default_api_timeout_ms": 500}
"""For calls that go on trying until they run out of time; what is to succeed keeps the default of a minute."""
ALICE: SecuritySettings = {"sasl_username": "alice", "sasl_password": "wonder"}
RUNNERS: list[Callable[[Coroutine[Any, Any, None]], None]] = [asyncio.run, uvloop.run]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def server_context(identity: Path, *, client_authority: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    if client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_authority)
    return context


async def topics_of(address: str, **settings: Any) -> list[str]:
    async with Admin(bootstrap_servers=address, **settings) as admin:
        return list(await admin.list_topics())


async def forever(call: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(LONG_ENOUGH_S):
        while True:
            await call()


@pytest.mark.parametrize("run", RUNNERS, ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
def test_large_answers_arrive_over_tls_after_sasl(
    authority: Authority, mechanism: str, run: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    names = tuple(f"topic-{number:05}" for number in range(6000))  # an answer of some 300 kB
    credentials: Any = ALICE
    if mechanism == "OAUTHBEARER":
        token = OAuthBearerToken("good", time.time_ns() // 1_000_000 + 60_000)
        credentials = {"sasl_oauthbearer_token_provider": lambda: token}

    async def main() -> None:
        script = Script(mechanisms=(mechanism,), topics=names)
        async with scripted_broker(script, server_context(authority.issue("broker"))) as broker:
            found = await topics_of(
                broker.address,
                security_protocol="SASL_SSL",
                ssl_ca_location=str(authority.path),
                sasl_mechanism=mechanism,
                **credentials,
            )
            assert found == list(names)
            assert broker.keys()[:3] == [
                ApiKey.API_VERSIONS,
                ApiKey.SASL_HANDSHAKE,
                ApiKey.SASL_AUTHENTICATE,
            ]

    run(main())


async def test_our_certificate_may_come_from_files_or_as_text(
    authority: Authority, tmp_path: Path
) -> None:
    mine = authority.issue("client", password="sesame")
    key, begin, chain = mine.read_text().partition("-----BEGIN CERTIFICATE-----")
    key_file, chain_file = tmp_path / "key.pem", tmp_path / "chain.pem"
    key_file.write_text(key)
    chain_file.write_text(begin + chain)
    forms: list[dict[str, str]] = [
        {
            "ssl_certificate_location": str(chain_file),
            "ssl_key_location": str(key_file),
            "ssl_ca_location": str(authority.path),
        },
        {"ssl_keystore_location": str(mine), "ssl_ca_location": str(authority.path)},
        {
            "ssl_keystore_key": key,
            "ssl_keystore_certificate_chain": begin + chain,
            "ssl_truststore_certificates": authority.path.read_text(),
        },
    ]
    context = server_context(authority.issue("broker"), client_authority=authority.path)
    async with scripted_broker(tls=context) as broker:
        for form in forms:
            found = await topics_of(
                broker.address, security_protocol="SSL", ssl_key_password="sesame", **form
            )
            assert found == ["t"]
        trusting = {"security_protocol": "SSL", "ssl_ca_location": str(authority.path), **GIVES_UP}
        await refusal(
            lambda: topics_of(broker.address, **trusting),
            "may want a certificate of ours|lets nobody in without a certificate",
        )


@pytest.mark.parametrize(
    ("issued", "trusted", "sentence"),
    [
        ({}, False, "issued by nobody we trust .*ssl_ca_location"),
        ({"host": "10.0.0.1"}, True, "for another host than 127.0.0.1 "),
        ({"expired": True}, True, "has expired"),
    ],
)
async def test_a_certificate_that_is_not_believed_is_told_why_at_once(
    authority: Authority, issued: Any, trusted: bool, sentence: str
) -> None:
    settings: dict[str, Any] = {"ssl_ca_location": str(authority.path)} if trusted else {}
    async with scripted_broker(tls=server_context(authority.issue("odd", **issued))) as broker:
        with pytest.raises(SslAuthenticationFailed, match=sentence) as caught:
            await topics_of(
                broker.address,
                security_protocol="SSL",
                **settings,
            )
    assert str(caught.value).startswith(broker.address)


async def test_host_names_need_not_match_where_that_is_asked_for(authority: Authority) -> None:
    context = server_context(authority.issue("elsewhere", host="elsewhere.example"))
    async with scripted_broker(tls=context) as broker:
        found = await topics_of(
            broker.address,
            security_protocol="SSL",
            ssl_ca_location=str(authority.path),
            ssl_endpoint_identification_algorithm="",
        )
    assert found == ["t"]


async def test_tls_and_plain_ports_mixed_up_are_told_apart(authority: Authority) -> None:
    async with scripted_broker(tls=server_context(authority.issue("broker"))) as broker:
        await refusal(
            lambda: topics_of(broker.address, **GIVES_UP),
            r"set security_protocol to SSL|try security_protocol=SSL",
        )
    async with scripted_broker() as broker:
        encrypted = {"security_protocol": "SSL", **GIVES_UP}
        await refusal(
            lambda: topics_of(broker.address, **encrypted), "try security_protocol=PLAINTEXT"
        )


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
async def test_wrong_credentials_fail_once_and_name_user_mechanism_and_address(
    mechanism: str,
) -> None:
    async with (
        scripted_broker(Script(mechanisms=(mechanism,))) as broker,
        Producer(
            bootstrap_servers=broker.address,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_username="alice",
            sasl_password="guess",
        ) as producer,
    ):
        with pytest.raises(SaslAuthenticationFailed) as caught:
            await producer.send("t", b"x")
        asked = broker.connection_count
        with pytest.raises(SaslAuthenticationFailed):
            await producer.send("t", b"x")
    assert str(caught.value) == (
        f"{broker.address} refused the login of user 'alice' ({mechanism}): Authentication failed: go away"
    )
    assert (asked, broker.connection_count) == (1, 2)


async def poll_assigned(settings: Any) -> None:
    async with Consumer(**settings) as consumer:
        consumer.assign([("t", 0)])
        await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def poll_in_a_group(settings: Any) -> None:
    async with Consumer(group_id="g", **settings) as consumer:
        consumer.subscribe(["t"])
        await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def poll_in_a_share_group(settings: Any) -> None:
    async with ShareConsumer(group_id="g", **settings) as consumer:
        consumer.subscribe(["t"])
        await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def read_a_range(settings: Any) -> None:
    async with RangeReader(**settings) as reader:
        await reader.offsets("t", -1)


@pytest.mark.parametrize(
    "use", [poll_assigned, poll_in_a_group, poll_in_a_share_group, read_a_range]
)
async def test_every_reader_is_told_of_wrong_credentials_at_once(
    use: Callable[[Any], Awaitable[None]],
) -> None:
    async with scripted_broker(Script(mechanisms=("PLAIN",))) as broker:
        settings = {
            "bootstrap_servers": broker.address,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_username": "alice",
            "sasl_password": "guess",
        }
        async with asyncio.timeout(LONG_ENOUGH_S):
            with pytest.raises(SaslAuthenticationFailed, match="refused the login of user 'alice'"):
                await use(settings)
        assert broker.connection_count <= 3


async def test_what_does_not_fit_the_listener_says_so() -> None:
    sasl: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", **ALICE}
    async with scripted_broker(Script(mechanisms=("PLAIN", "OAUTHBEARER"))) as broker:
        with pytest.raises(UnsupportedSaslMechanism, match="to one of: PLAIN, OAUTHBEARER"):
            await topics_of(broker.address, sasl_mechanism="SCRAM-SHA-512", **sasl)
        await refusal(
            lambda: topics_of(broker.address, **GIVES_UP), "try security_protocol=SASL_PLAINTEXT"
        )
    async with scripted_broker() as broker:
        with pytest.raises(IllegalSaslState, match="is a listener without SASL"):
            await topics_of(broker.address, sasl_mechanism="PLAIN", **sasl)


async def test_authentication_is_repeated_before_the_session_ends() -> None:
    """KIP-368: on the same connection, with the first request after 85 to 95 % of the session."""
    script = Script(mechanisms=("PLAIN",), session_lifetime_ms=20)
    async with (
        scripted_broker(script) as broker,
        Admin(
            bootstrap_servers=broker.address,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            **ALICE,
        ) as admin,
    ):
        async with asyncio.timeout(LONG_ENOUGH_S):
            while broker.keys().count(ApiKey.SASL_AUTHENTICATE) < 3:
                await asyncio.gather(admin.list_topics(), admin.list_topics())
        assert broker.connection_count == 1
        script.passwords = {}
        with pytest.raises(SaslAuthenticationFailed):
            await forever(admin.list_topics)


async def test_a_throttled_client_waits_before_its_next_request() -> None:
    """KIP-219."""
    times: list[float] = []

    async with scripted_broker() as broker:

        def throttled(request: Any) -> Any:
            times.append(time.monotonic())
            answer = broker.metadata(request)
            answer.throttle_time_ms = 80
            return answer

        broker.script.answers[ApiKey.METADATA] = throttled
        async with Admin(bootstrap_servers=broker.address) as admin:
            for _ in range(3):
                await admin.list_topics()
    assert min(b - a for a, b in itertools.pairwise(times)) >= 0.079


async def test_tokens_are_kept_while_they_last_and_a_failing_provider_is_named() -> None:
    made = []

    async def provide() -> OAuthBearerToken:
        made.append(1)
        return OAuthBearerToken("good", time.time_ns() // 1_000_000 + 60_000)

    async def fail() -> OAuthBearerToken:
        raise LookupError("the vault is sealed")

    oauth: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
    script = Script(mechanisms=("OAUTHBEARER",), session_lifetime_ms=20)
    async with scripted_broker(script) as broker:
        async with Admin(
            bootstrap_servers=broker.address, sasl_oauthbearer_token_provider=provide, **oauth
        ) as admin:
            async with asyncio.timeout(LONG_ENOUGH_S):
                while len(broker.tokens) < 3:
                    await admin.list_topics()
        assert (len(made), set(broker.tokens)) == (1, {b"n,,\x01auth=Bearer good\x01\x01"})
        with pytest.raises(SaslAuthenticationFailed, match="the vault is sealed"):
            await topics_of(broker.address, sasl_oauthbearer_token_provider=fail, **oauth)


class TokenHandler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        right = self.headers["Authorization"] == "Basic bWU6c2VjcmV0"  # me:secret
        right = right and body == b"grant_type=client_credentials&scope=kafka"
        self.send_response(200 if right else 401)
        self.end_headers()
        self.wfile.write(b'{"access_token": "good one", "expires_in": 60}' if right else b"no")

    def log_message(self, *arguments: object) -> None:
        pass


async def test_a_token_is_had_from_an_endpoint_for_id_and_secret(authority: Authority) -> None:
    """KIP-768."""
    server = HTTPServer(("127.0.0.1", 0), TokenHandler)
    server.socket = server_context(authority.issue("provider")).wrap_socket(
        server.socket, server_side=True
    )
    thread = Thread(target=server.serve_forever)
    thread.start()
    settings: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "ssl_ca_location": str(authority.path),
        "sasl_oauthbearer_token_endpoint_url": f"https://127.0.0.1:{server.server_port}/token",
        "sasl_oauthbearer_client_credentials_client_id": "me",
        "sasl_oauthbearer_scope": "kafka",
    }
    name = "sasl_oauthbearer_client_credentials_client_secret"
    try:
        async with scripted_broker(Script(mechanisms=("OAUTHBEARER",))) as broker:
            assert await topics_of(broker.address, **settings, **{name: "secret"}) == ["t"]
            with pytest.raises(SaslAuthenticationFailed, match="gave no token to 'me': status 401"):
                await topics_of(broker.address, **settings, **{name: "guess"})
    finally:
        await asyncio.to_thread(server.shutdown)
        thread.join()
        server.server_close()
    assert broker.tokens == [b"n,,\x01auth=Bearer good one\x01\x01"]


def test_stores_that_cannot_be_read_are_refused_when_the_client_is_made(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.pem")
    for key in ("ssl_ca_location", "ssl_keystore_location"):
        settings: Any = {key: missing}
        with pytest.raises(ConfigError, match="PEM"):
            Producer(security_protocol="SSL", **settings)
