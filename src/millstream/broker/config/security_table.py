"""The settings about users, tokens and access rules, as rows of the broker's table. Nothing of it is enforced yet."""

from __future__ import annotations

from typing import Final

from millstream.broker.config.rows import internal, long, string, without_effect
from millstream.metadata.config_key import ConfigKey, Validator
from millstream.metadata.config_validators import OneOf, at_least
from millstream.protocol.enums import ConfigType

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_NOT_ENFORCED: Final = "access control rules are stored and told, and not enforced yet"


def _of_authorizer(
    name: str, default: str, doc: str, validator: Validator | None = None
) -> ConfigKey:
    """A key that Kafka hands to its authorizer unseen: without a type, and told without its value."""
    key = ConfigKey(name, ConfigType.UNKNOWN, default, validator, doc, sensitive=True)
    return without_effect(_NOT_ENFORCED, internal(key))


_RULES = (
    string(
        "authorizer.class.name",
        "",
        "With Kafka's standard authorizer named here, access control rules are stored and told. They are not enforced yet.",
        OneOf(("", STANDARD_AUTHORIZER)),
    ),
    _of_authorizer("super.users", "", "Principals to whom access rules do not apply."),
    _of_authorizer(
        "allow.everyone.if.no.acl.found", "false", "Whether a resource without rules is open.", OneOf(("true", "false"), any_case=True)
    ),
)  # fmt: skip

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
