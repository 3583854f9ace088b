"""Parses `sasl.jaas.config` as Kafka's clients and brokers write it: one login module and its options.

No class is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from millstream.errors import ConfigError

_OPTION: Final = re.compile(
    r"""\s*([\w.$@-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))"""
)
_HEAD: Final = re.compile(
    r"\s*([\w.$]+)\s+(required|requisite|sufficient|optional)\b", re.IGNORECASE
)
_END: Final = re.compile(r"\s*;\s*")
_ESCAPE: Final = re.compile(r"\\(.)")


class LoginModule(NamedTuple):
    name: str
    """Without its package: PlainLoginModule."""
    options: Mapping[str, str]


KERBEROS_MODULE: Final = "com.sun.security.auth.module.Krb5LoginModule"
_PACKAGE: Final = "org.apache.kafka.common.security"
MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "PLAIN": f"{_PACKAGE}.plain.PlainLoginModule",
        "SCRAM-SHA-256": f"{_PACKAGE}.scram.ScramLoginModule",
        "SCRAM-SHA-512": f"{_PACKAGE}.scram.ScramLoginModule",
        "OAUTHBEARER": f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule",
    }
)
"""The login module of each mechanism, with its package."""


def parse_module_options(key: str, text: str, mechanism: str) -> Mapping[str, str]:
    """Returns the options of the login module of `mechanism`, as a broker's setting `key` has them.

    Raises ConfigError for any other module: Kafka would load the class that has this name.
    """
    name = text.split(maxsplit=1)[0] if text.strip() else ""
    if name == KERBEROS_MODULE:
        raise ConfigError(
            f"{key} names Kerberos, which this version does not have: use {MODULES[mechanism]}"
        )
    if name != MODULES[mechanism]:
        raise ConfigError(f"{key} must begin with {MODULES[mechanism]} required: no other is known")
    return parse_jaas_config(text, key).options


def parse_jaas_config(text: str, key: str = "sasl_jaas_config") -> LoginModule:
    """Parses a JAAS configuration. Raises ConfigError that says where the text is wrong; it quotes no passwords."""
    head = _HEAD.match(text)
    if head is None:
        raise ConfigError(
            f"{key} must look like"
            " org.apache.kafka.common.security.plain.PlainLoginModule required username="
            '"alice" password="...";'
        )
    at = head.end()
    options = {}
    while option := _OPTION.match(text, at):
        name, *values = option.groups()
        options[name] = _ESCAPE.sub(r"\1", next(value for value in values if value is not None))
        at = option.end()
    if not _END.fullmatch(text, at):
        raise ConfigError(
            f'{key}: after {len(options)} options a name="value" or the closing ; is'
            f" missing (character {at})"
        )
    return LoginModule(head[1].rpartition(".")[2], options)
