"""No secret is in a log or in the text of a message, whatever is logged (CVE-2026-33558: Kafka told several of them at DEBUG)."""

from __future__ import annotations

import base64
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from millstream.clients.admin import UpsertScramCredential
from millstream.clients.blocking import Admin
from millstream.errors import MillstreamError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import alter_configs, incremental_alter_configs
from millstream.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from millstream.protocol.generated.create_delegation_token import CreateDelegationTokenRequest
from millstream.protocol.generated.expire_delegation_token import ExpireDelegationTokenRequest
from millstream.protocol.generated.renew_delegation_token import RenewDelegationTokenRequest
from millstream.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from millstream.security.sasl_client import OAuthBearerToken, PlainClient
from millstream.security.scram import ScramMechanism
from tests.support.clients.raw_client import RawClient
from tests.support.sasl_node import MECHANISMS, PASSWORD, USER, SaslNode, sasl_node

GUESS, NEW_PASSWORD, KEY_PASSWORD, JAAS_PASSWORD, MASTER_KEY = (
    "guessed-in-vain", "brand-new-word", "opens-the-key", "of-the-jaas-text", "signs-all-tokens",
)  # fmt: skip
SETTINGS = {
    "listener.name.open.ssl.key.password": KEY_PASSWORD,
    "listener.name.open.ssl.keystore.key": f"-----BEGIN PRIVATE KEY-----\n{KEY_PASSWORD}",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'X required user_bob="{JAAS_PASSWORD}";',
    "delegation.token.secret.key": MASTER_KEY,
    "of.a.plug.in.password": KEY_PASSWORD,
}
PLAIN_TOKEN = b"\0alice\0wonder"


class Session:
    """A client that does whatever has a secret in it, and notes the secrets that it is given."""

    def __init__(self, node: SaslNode) -> None:
        self.node = node
        self.secrets = {PASSWORD, GUESS, NEW_PASSWORD, KEY_PASSWORD, JAAS_PASSWORD, MASTER_KEY}

    def log_in(self, mechanism: str, password: str) -> None:
        shown: dict[str, Any] = {"sasl_username": USER, "sasl_password": password}  # Any: settings
        if mechanism == "OAUTHBEARER":
            text = self.node.issuer.token()
            self.secrets.add(text)
            ends_ms = int((time.time() + 600) * 1_000)
            token = OAuthBearerToken(text if password == PASSWORD else text[:-9], ends_ms)
            shown = {"sasl_oauthbearer_token_provider": lambda: token}
        with Admin(
            bootstrap_servers=self.node.bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            **shown,
        ) as admin:
            admin.list_topics()

    def make_users(self) -> None:
        with Admin(bootstrap_servers=self.node.open_bootstrap) as admin:
            for mechanism in ScramMechanism:
                credential = UpsertScramCredential("bob", mechanism, NEW_PASSWORD, 4096)
                admin.alter_user_scram_credentials([credential]).raise_errors()
        salted = b"salted-password!" * 2
        self.secrets |= {salted.decode(), base64.b64encode(salted).decode()}
        upsertion = ScramCredentialUpsertion("bob", 1, 4096, b"salt", salted)
        with RawClient(self.node.open_bootstrap) as client:
            request = AlterUserScramCredentialsRequest(upsertions=[upsertion])
            client.ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, request)

    def change_settings(self) -> None:
        """Most of these are refused, for one reason or another: an error may tell more than an answer."""
        with RawClient(self.node.open_bootstrap) as client:
            for name, value in SETTINGS.items():
                for kind, resource in ((4, "1"), (4, ""), (2, "t")):
                    changed = incremental_alter_configs.AlterableConfig(name, 0, value)
                    of = incremental_alter_configs.AlterConfigsResource(kind, resource, [changed])
                    client.ask(
                        ApiKey.INCREMENTAL_ALTER_CONFIGS,
                        1,
                        incremental_alter_configs.IncrementalAlterConfigsRequest([of]),
                    )
                    whole = alter_configs.AlterConfigsResource(
                        kind, resource, [alter_configs.AlterableConfig(name, value)]
                    )
                    client.ask(
                        ApiKey.ALTER_CONFIGS,
                        2,
                        alter_configs.AlterConfigsRequest([whole], validate_only=True),
                    )

    def use_tokens(self) -> None:
        with RawClient(self.node.bootstrap) as client:
            client.ask(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest("PLAIN"))
            first = PlainClient(USER, PASSWORD).first()
            client.ask(ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(first))
            made = client.ask(
                ApiKey.CREATE_DELEGATION_TOKEN, 3, CreateDelegationTokenRequest(max_lifetime_ms=-1)
            )
            assert made.error_code == 0
            hmac = bytes(made.hmac)
            self.secrets |= {base64.b64encode(hmac).decode(), hmac.hex(), str(hmac)[2:-1]}
            renewed = RenewDelegationTokenRequest(hmac, 10_000)
            assert client.ask(ApiKey.RENEW_DELEGATION_TOKEN, 2, renewed).error_code == 0
            ended = ExpireDelegationTokenRequest(hmac, -1)
            assert client.ask(ApiKey.EXPIRE_DELEGATION_TOKEN, 2, ended).error_code == 0

    def say_it_wrongly(self) -> None:
        """Broken requests, which logs tell something of."""
        for frame in (
            PLAIN_TOKEN,
            b"\0\x24\0\2\0\0\0\1\0\1x\0\0\0\x7f" + PASSWORD.encode(),
            b"\0\x11\0\1\0\0\0\1\0\1x\0\x14" + PASSWORD.encode(),
        ):
            with RawClient(self.node.bootstrap) as client:
                client.send(len(frame).to_bytes(4, "big") + frame)
                client.is_closed_by_broker()


def test_everything_at_debug_tells_no_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), sasl_node(
        tmp_path, {"delegation.token.secret.key": MASTER_KEY}
    ) as node:  # fmt: skip
        session = Session(node)
        for mechanism in MECHANISMS:
            session.log_in(mechanism, PASSWORD)
            with pytest.raises(MillstreamError) as refused:
                session.log_in(mechanism, GUESS)
            assert GUESS not in str(refused.value)
        session.make_users()
        session.change_settings()
        session.use_tokens()
        session.say_it_wrongly()
    written = "\n".join(
        [caplog.text, *(repr(record.args) + repr(record.msg) for record in caplog.records)]
    )
    assert "connection" in written, "else nothing was captured"
    assert USER in written
    assert [secret for secret in session.secrets if secret in written] == []
