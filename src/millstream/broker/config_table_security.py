"""The settings of what is stored for a cluster's protection, as rows of the broker's table. Nothing of it is enforced yet."""

from __future__ import annotations

from typing import Final

from millstream.broker.config_rows import boolean, internal, long, string
from millstream.metadata.config_key import ConfigKey, ConfigType
from millstream.metadata.config_validators import OneOf, at_least

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

_RULES = (
    string(
        "authorizer.class.name",
        "",
        "With Kafka's standard authorizer named here, access control rules are stored and told. They are not enforced yet.",
        OneOf(("", STANDARD_AUTHORIZER)),
    ),
    internal(string("super.users", "", "Principals that rules do not hold for; without effect until rules are enforced.")),
    internal(
        boolean("allow.everyone.if.no.acl.found", False, "Whether a resource without rules is open; without effect until rules are enforced.")
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
