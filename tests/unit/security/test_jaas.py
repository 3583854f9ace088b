"""sasl.jaas.config in the forms that Kafka's documentation writes."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.security.jaas import parse_jaas_config

PACKAGE = "org.apache.kafka.common.security"


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        (
            f'{PACKAGE}.plain.PlainLoginModule required username="alice" password="a\\"b;c";',
            "PlainLoginModule",
            {"username": "alice", "password": 'a"b;c'},
        ),
        (
            f"{PACKAGE}.scram.ScramLoginModule  Required\n username='al ice'\n password=x tokenauth=true ;\n",
            "ScramLoginModule",
            {"username": "al ice", "password": "x", "tokenauth": "true"},
        ),
        (f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required ;", "OAuthBearerLoginModule", {}),
    ],
)
def test_module_and_options_are_read(text: str, name: str, options: dict[str, str]) -> None:
    assert parse_jaas_config(text) == (name, options)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("alice:wonder", "must look like .*PlainLoginModule required"),
        ('x.PlainLoginModule required username="alice"', "after 1 options .* the closing ;"),
        ('x.PlainLoginModule required username="alice" password;', "after 1 options"),
        ('x.M required a="1"; x.N required;', "after 1 options"),
    ],
)
def test_what_makes_no_sense_is_refused_without_quoting_it(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught:
        parse_jaas_config(text)
    assert "wonder" not in str(caught.value)
