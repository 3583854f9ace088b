"""The settings of logins, as rows of the broker's table.

What is set for one listener or mechanism is read in `sasl_settings`.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.config.rows import integer, long, string, without_effect, words
from millstream.metadata.config_key import ConfigKey, UpdateMode
from millstream.metadata.config_validators import OneOf, at_least
from millstream.protocol.enums import ConfigType

SERVER_CALLBACK_HANDLER: Final = "sasl.server.callback.handler.class"
JAAS_CONFIG: Final = "sasl.jaas.config"
_ANYWHERE: Final = UpdateMode.PER_BROKER
_PER_LISTENER: Final = (
    "May be set for one listener, as listener.name.LISTENER.KEY with its name in lower case."
)
_PER_MECHANISM: Final = "May be set for one listener, or for one mechanism of it, as listener.name.LISTENER.MECHANISM.KEY in lower case."
_AT_START: Final = "While a broker with such a listener runs changing it is refused; setting the current value is accepted."

_LOGINS = (
    words(
        "sasl.enabled.mechanisms",
        ("GSSAPI",),
        "How clients may log in at listeners with SASL: some of `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER`. Kafka's default, "
        f"GSSAPI, is refused where such a listener has it. {_PER_LISTENER} {_AT_START}",
        dynamic=_ANYWHERE,
    ),
    string(
        "sasl.mechanism.inter.broker.protocol",
        "GSSAPI",
        f"How this broker logs in at others, where the listener of brokers has SASL. {_AT_START}",
        dynamic=_ANYWHERE,
    ),
    string(
        "sasl.mechanism.controller.protocol",
        "GSSAPI",
        "How this node logs in at controllers, where their listener has SASL.",
    ),
    string(
        "security.inter.broker.protocol",
        "PLAINTEXT",
        "The listener that brokers use among themselves, by the name of its protocol; `inter.broker.listener.name` takes its place.",
        OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
    ),
    integer(
        "sasl.server.max.receive.size",
        524_288,
        None,
        f"Largest message of a client that has not logged in yet. {_PER_LISTENER}",
    ),
    integer(
        "connection.failed.authentication.delay.ms",
        100,
        at_least(0),
        "How long a client waits for the answer that refuses its login. Less than `connections.max.idle.ms`.",
    ),
    long(
        "connections.max.reauth.ms",
        0,
        None,
        f"After so long a client must log in again, or its connection is closed (KIP-368); 0: never. {_PER_MECHANISM}",
    ),
)  # fmt: skip

_BEARERS = (
    string(
        "sasl.oauthbearer.jwks.endpoint.url",
        None,
        f"Where the public keys of token issuers are, as https:// or file:// URL. {_PER_MECHANISM}",
    ),
    string("sasl.oauthbearer.expected.issuer", None, f"Who must have issued a token (`iss`). Required. {_PER_MECHANISM}"),
    words(
        "sasl.oauthbearer.expected.audience",
        (),
        f"For whom a token must be made (`aud`): one of these. Required. {_PER_MECHANISM}",
    ),
    string("sasl.oauthbearer.sub.claim.name", "sub", f"The claim of a token that names its user. {_PER_MECHANISM}"),
    integer(
        "sasl.oauthbearer.clock.skew.seconds",
        30,
        None,
        f"How far the clocks of issuers may be from ours. {_PER_MECHANISM}",
    ),
    long("sasl.oauthbearer.jwks.endpoint.refresh.ms", 3_600_000, None, "Time between two fetches of the public keys."),
    long("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 100, None, "Wait before a failed fetch is tried again; it doubles."),
    long("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 10_000, None, "The longest of these waits."),
    string(
        "sasl.oauthbearer.token.endpoint.url",
        None,
        f"Where this node gets a token to log in at other nodes with OAUTHBEARER. {_PER_MECHANISM}",
    ),
)  # fmt: skip

_OF_ONE_MECHANISM = (
    without_effect(
        "it counts for one mechanism of a listener: listener.name.LISTENER.MECHANISM.sasl.jaas.config",
        ConfigKey(JAAS_CONFIG, ConfigType.PASSWORD, None, None, dynamic=_ANYWHERE, sensitive=True),
    ),
    without_effect(
        "it counts for one mechanism of a listener: listener.name.LISTENER.oauthbearer.sasl.server.callback.handler.class",
        ConfigKey(SERVER_CALLBACK_HANDLER, ConfigType.CLASS, None, None),
    ),
)

SASL_ROWS: Final[tuple[ConfigKey, ...]] = (*_LOGINS, *_BEARERS, *_OF_ONE_MECHANISM)
