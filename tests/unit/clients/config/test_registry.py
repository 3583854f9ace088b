"""Settings of a schema registry among those of a client."""

from __future__ import annotations

import pytest

from millstream.clients.config.registry import RegistryConfig, registry_config, without_login
from millstream.errors import ConfigError

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"bootstrap.servers": "b:1"}, RegistryConfig()),
        ({"schema.registry.url": "http://r"}, RegistryConfig(url="http://r")),
        ({"basic.auth.user.info": "a:b:c"}, RegistryConfig(user=("a", "b:c"))),
        (
            {"schema.registry.basic.auth.user.info": "a:b", "basic.auth.credentials.source": "USER_INFO"},
            RegistryConfig(user=("a", "b")),
        ),
        ({"basic.auth.user.info": "a:b", "basic.auth.credentials.source": "URL"}, RegistryConfig()),
        (
            {"basic.auth.credentials.source": "SASL_INHERIT", "sasl.jaas.config": JAAS},
            RegistryConfig(user=("a", "b")),
        ),
        (
            {"basic.auth.credentials.source": "SASL_INHERIT", "sasl.username": "a", "sasl_password": "b"},
            RegistryConfig(user=("a", "b")),
        ),
        (
            {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "t"},
            RegistryConfig(token="t"),
        ),
        ({"schema.registry.bearer.auth.token.file": "/t"}, RegistryConfig(token_file="/t")),
        (
            {"schema.registry.ssl.truststore.location": "/ca", "ssl.truststore.location": "/other"},
            RegistryConfig(authorities="/ca"),
        ),
    ],
)  # fmt: skip
def test_the_keys_of_confluents_serializers(
    settings: dict[str, str], expected: RegistryConfig
) -> None:
    assert registry_config(settings) == expected


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"bearer.auth.token": "t", "basic.auth.user.info": "a:b"}, "one login is enough"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "OAUTHBEARER is not built: write STATIC_TOKEN"),
        ({"basic.auth.credentials.source": "X"}, "one of URL, USER_INFO, SASL_INHERIT, not 'X'"),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "needs sasl.username and sasl.password"),
        ({"basic.auth.user.info": "a"}, "is NAME:PASSWORD"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        registry_config(settings)


def test_secrets_are_not_shown() -> None:
    told = repr(RegistryConfig("http://r", ("a", "hidden"), "hidden"))
    assert "hidden" not in told
    assert without_login("https://a:hidden@r:8081/x") == "https://r:8081/x"
    assert without_login("http://r:8081") == "http://r:8081"
