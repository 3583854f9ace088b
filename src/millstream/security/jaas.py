"""Parses `sasl.jaas.config` as Kafka's clients write it: one login module and its options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from millstream.errors import ConfigError

_OPTION: Final = re.compile(
    r"""\s*([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))"""
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


def parse_jaas_config(text: str) -> LoginModule:
    """Parses a JAAS configuration. Raises ConfigError that says where the text is wrong; it quotes no passwords."""
    head = _HEAD.match(text)
    if head is None:
        raise ConfigError(
            "sasl_jaas_config must look like"
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
            f'sasl_jaas_config: after {len(options)} options a name="value" or the closing ; is'
            f" missing (character {at})"
        )
    return LoginModule(head[1].rpartition(".")[2], options)
