"""The settings about users, tokens and access rules, as rows of the broker's table."""

from __future__ import annotations

from typing import Final

from millstream.broker.config.rows import internal, long, string
from millstream.metadata.config_key import ConfigKey, ConfigValue, Validator
from millstream.metadata.config_validators import OneOf, at_least
from millstream.protocol.enums import ConfigType
from millstream.security.principal import parse_principal

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class _Principals:
    """A list of principals, separated by semicolons: their names may hold commas."""

    allowed = "Type:name;Type:name"

    def problem(self, value: ConfigValue) -> str | None:
        for principal in filter(None, map(str.strip, str(value or "").split(";"))):
            try:
                parse_principal(principal)
            except ValueError as error:
                return str(error)
        return None


def _of_authorizer(name: str, default: str, doc: str, validator: Validator) -> ConfigKey:
    """A key that Kafka hands to its authorizer unseen: without a type, and told without its value."""
    return internal(ConfigKey(name, ConfigType.UNKNOWN, default, validator, doc, sensitive=True))


_RULES = (
    string(
        "authorizer.class.name",
        "",
        "With Kafka's standard authorizer named here, access rules decide who may do what. Without it everybody may do everything.",
        OneOf(("", STANDARD_AUTHORIZER)),
    ),
    _of_authorizer(
        "super.users",
        "",
        "Principals that may do everything whatever the rules say, as Type:name, separated by semicolons. What nodes log in as is among them.",
        _Principals(),
    ),
    _of_authorizer(
        "allow.everyone.if.no.acl.found",
        "false",
        "Whether everybody may do everything with what no rule speaks of.",
        OneOf(("true", "false"), any_case=True),
    ),
)

_TOKENS = (
    ConfigKey(
        "delegation.token.secret.key",
        ConfigType.PASSWORD,
        None,
        None,
        "Key that the secrets of delegation tokens are computed with, the same on all nodes. Without it there are no tokens.",
        sensitive=True,
    ),
    long("delegation.token.max.lifetime.ms", 604_800_000, at_least(1), "Longest life of a delegation token."),
    long("delegation.token.expiry.time.ms", 86_400_000, at_least(1), "How long a token is good unless it is renewed."),
    long("delegation.token.expiry.check.interval.ms", 3_600_000, at_least(1), "Time between two removals of expired tokens."),
)  # fmt: skip

SECURITY_ROWS: Final[tuple[ConfigKey, ...]] = (*_RULES, *_TOKENS)
