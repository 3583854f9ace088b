"""Our clients log in to our broker, by every mechanism, and stay logged in; what `test_security_on_kafka` asks of Apache Kafka."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.clients import Admin, Consumer, Producer
from millstream.errors import SaslAuthenticationFailed, UnsupportedSaslMechanism
from millstream.net.client.connection import Connection
from millstream.net.client.dialer import Dialer
from millstream.security.sasl_client import OAuthBearerToken
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S
from tests.support.sasl_node import MECHANISMS, PASSWORD, USER, SaslNode, sasl_node

SESSION_MS = 1_200


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslNode]:
    with sasl_node(tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.fixture(scope="module")
def short_sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslNode]:
    settings = {"connections.max.reauth.ms": str(SESSION_MS)}
    with sasl_node(tmp_path_factory.mktemp("node"), settings) as running:
        yield running


def settings_of(node: SaslNode, mechanism: str, token: str | None = None) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap_servers": node.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
    }
    if mechanism == "OAUTHBEARER":
        text = token or node.issuer.token()
        ends_ms = int(time.time() * 1000) + 600_000
        return {
            **settings,
            "sasl_oauthbearer_token_provider": lambda: OAuthBearerToken(text, ends_ms),
        }
    return {**settings, "sasl_username": USER, "sasl_password": PASSWORD}


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_records_are_written_and_read(node: SaslNode, mechanism: str) -> None:
    settings = settings_of(node, mechanism)
    async with Producer(**settings) as producer:
        metadata = await (await producer.send("t", b"y" * 300_000))
    async with Consumer(**settings) as consumer:
        consumer.assign([("t", 0)])
        consumer.seek(("t", 0), metadata.offset)
        async with asyncio.timeout(LONG_ENOUGH_S):
            while not (records := await consumer.poll(timeout_ms=LONG_ENOUGH_MS)):
                pass
    assert records[0].value == b"y" * 300_000


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example"},
        {"aud": "somebody"},
        {"exp": 1},
        {"sub": " "},
    ],
)
async def test_a_token_that_does_not_fit_is_refused(
    node: SaslNode, changes: dict[str, object]
) -> None:
    settings = settings_of(node, "OAUTHBEARER", node.issuer.token(**changes))  # type: ignore[arg-type]
    async with Admin(**settings) as admin:
        with pytest.raises(SaslAuthenticationFailed, match="invalid_token"):
            await admin.list_topics()


async def test_an_unsigned_token_is_refused(node: SaslNode) -> None:
    """Kafka's default validator takes it."""
    jaas = (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="alice" unsecuredLoginStringClaim_iss="https://issuer.example" '
        'unsecuredLoginStringClaim_aud="kafka";'
    )
    async with Admin(
        bootstrap_servers=node.bootstrap,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        sasl_jaas_config=jaas,
    ) as admin:
        with pytest.raises(SaslAuthenticationFailed, match="invalid_token"):
            await admin.list_topics()


async def test_a_mechanism_that_is_not_enabled_is_told_with_those_that_are(node: SaslNode) -> None:
    settings = {**settings_of(node, "PLAIN"), "bootstrap_servers": node.bootstrap}
    async with Admin(**settings) as admin:
        await admin.list_topics()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("millstream.security.sasl_client.PlainClient.mechanism", "DIGEST-MD5")
        async with Admin(**settings) as admin:
            with pytest.raises(UnsupportedSaslMechanism, match=", ".join(MECHANISMS)):
                await admin.list_topics()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "OAUTHBEARER"])
async def test_a_connection_outlives_its_session(
    short_sessions: SaslNode, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KIP-368."""
    dialed: list[Connection] = []
    dial = Dialer.dial

    async def counted(self: Dialer, *arguments: Any) -> Connection:
        connection = await dial(self, *arguments)
        dialed.append(connection)
        return connection

    monkeypatch.setattr(Dialer, "dial", counted)
    async with Producer(**settings_of(short_sessions, mechanism)) as producer:
        end = asyncio.get_running_loop().time() + 1.5 * SESSION_MS / 1000
        while asyncio.get_running_loop().time() < end:
            await (await producer.send("t", b"x"))
    assert len(dialed) == 1
