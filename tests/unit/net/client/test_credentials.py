"""Credentials follow from the settings, and contradictions are found before anything is connected."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.clients.config import ProducerConfig
from millstream.clients.config.settings import parse_settings
from millstream.errors import ConfigError
from millstream.net.client.core.credentials import (
    ClientCredentials,
    FileToken,
    Password,
    ProvidedToken,
    UnsecuredToken,
    credentials_from,
)
from millstream.security.sasl_client import OAuthBearerToken
from millstream.security.scram import ScramMechanism

JAAS = "org.apache.kafka.common.security"
OAUTH_MODULE = f"{JAAS}.oauthbearer.OAuthBearerLoginModule required"


def credentials(**settings: Any) -> object:
    protocol = {"security_protocol": "SASL_SSL"}
    return credentials_from(parse_settings(ProducerConfig, {**protocol, **settings}))


def token() -> OAuthBearerToken:
    return OAuthBearerToken("x", 1)


def test_without_sasl_there_are_none() -> None:
    assert credentials(security_protocol="SSL") is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"sasl_mechanism": "plain", "sasl_username": "a", "sasl_password": "b"},
            Password("a", "b"),
        ),
        (
            {
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": f'{JAAS}.scram.ScramLoginModule required username="a" password="b" tokenauth="true";',
            },
            Password("a", "b", ScramMechanism.SCRAM_SHA_512, token_auth=True),
        ),
        (
            {"sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token_provider": token},
            ProvidedToken(token),
        ),
        (
            {
                "sasl_mechanism": "OAUTHBEARER",
                "sasl_jaas_config": f'{OAUTH_MODULE} unsecuredLoginStringClaim_sub="a" unsecuredLoginLifetimeSeconds="9" extension_x="y";',
            },
            UnsecuredToken({"sub": "a"}, 9_000, {"x": "y"}),
        ),
        (
            {
                "sasl_mechanism": "OAUTHBEARER",
                "sasl_oauthbearer_token_endpoint_url": "https://x/t",
                "sasl_jaas_config": f'{OAUTH_MODULE} clientId="i" clientSecret="s" scope="k";',
            },
            ClientCredentials("https://x/t", "i", "s", "k"),
        ),
        *(
            (
                {
                    "sasl_mechanism": "OAUTHBEARER",
                    "sasl_oauthbearer_token_endpoint_url": url,
                    "sasl_jaas_config": f'{OAUTH_MODULE} extension_x="y";',
                },
                FileToken("/run/a token", {"x": "y"}),
            )
            for url in (
                "file:///run/a%20token",
                "file:/run/a token",
                "FILE://localhost/run/a token",
            )
        ),
    ],
)
def test_settings_and_login_modules_say_the_same(
    settings: dict[str, Any], expected: object
) -> None:
    assert credentials(**settings) == expected


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "needs sasl_mechanism: PLAIN, SCRAM-SHA-256"),
        ({"sasl_mechanism": "PLAIN"}, "PLAIN needs sasl_username and sasl_password"),
        (
            {"security_protocol": "SSL", "sasl_mechanism": "PLAIN"},
            "has no effect with security_protocol=SSL",
        ),
        (
            {"sasl_mechanism": "PLAIN", "sasl_jaas_config": f"{OAUTH_MODULE};"},
            "names OAuthBearerLoginModule; PLAIN needs PlainLoginModule",
        ),
        ({"sasl_mechanism": "OAUTHBEARER"}, "OAUTHBEARER needs one source of tokens"),
        (
            {
                "sasl_mechanism": "OAUTHBEARER",
                "sasl_oauthbearer_token_provider": token,
                "sasl_oauthbearer_token_endpoint_url": "https://x/t",
            },
            "OAUTHBEARER needs one source of tokens",
        ),
        (
            {
                "sasl_mechanism": "OAUTHBEARER",
                "sasl_oauthbearer_token_endpoint_url": "https://x/t",
            },
            "needs sasl_oauthbearer_client_credentials_client_id",
        ),
        *(
            (
                {"sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token_endpoint_url": url},
                "names no file of this machine: write file:///path/of/the/token",
            )
            for url in ("file://elsewhere/run/token", "file:token", "file:")
        ),
    ],
)
def test_contradictions_name_the_setting_to_change(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        credentials(**settings)


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(ConfigError, match="sasl_mechanism must be one of PLAIN"):
        credentials(sasl_mechanism="GSSAPI")
