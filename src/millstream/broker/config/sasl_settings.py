"""Reads from the settings how clients log in at each listener and how this node logs in at others, once, at the start.

A setting of a listener is written listener.name.LISTENER.KEY, one of a mechanism listener.name.LISTENER.MECHANISM.KEY,
both names in lower case; the nearest counts. What asks for more than this version can do is refused with a sentence: a
listener is never less protected than its settings say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from millstream.broker.config.listeners import LISTENER_PREFIX, Listener
from millstream.broker.config.sasl_table import JAAS_CONFIG, SERVER_CALLBACK_HANDLER
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.config.tls_table import TLS_OF_LISTENERS
from millstream.errors import ConfigError
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.metadata.config_key import ConfigValue
from millstream.net.server.limits import ListenerLimits
from millstream.security.jaas import MODULES, parse_module_options

if TYPE_CHECKING:
    from millstream.security.tls.tls_settings import TlsSettings

VALIDATOR: Final = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
)
_MECHANISMS: Final = tuple(MODULES)
_KERBEROS: Final = "GSSAPI"
_REAUTHENTICATION: Final = "connections.max.reauth.ms"
_BEARER_KEYS: Final = frozenset(
    {
        "sasl.oauthbearer.jwks.endpoint.url", "sasl.oauthbearer.expected.issuer", "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.sub.claim.name", "sasl.oauthbearer.clock.skew.seconds", "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms", "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    }
)  # fmt: skip
_OF_LISTENERS: Final = _BEARER_KEYS | TLS_OF_LISTENERS | {
    "sasl.enabled.mechanisms", "sasl.server.max.receive.size", _REAUTHENTICATION,
}  # fmt: skip
_CONNECTIONS, _CONNECTION_RATE = "max.connections", "max.connection.creation.rate"
_OF_CONNECTIONS: Final = frozenset({_CONNECTIONS, _CONNECTION_RATE})
"""What bounds the connections of a listener, whatever its protocol."""
_OF_MECHANISMS: Final = _BEARER_KEYS | {JAAS_CONFIG, SERVER_CALLBACK_HANDLER, _REAUTHENTICATION}
_USER: Final = "user_"


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerSettings:
    """The issuer whose tokens a listener believes, and where its keys are."""

    jwks_url: str
    issuer: str
    audiences: tuple[str, ...]
    name_claim: str
    clock_skew_s: int
    refresh_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismSettings:
    """One mechanism that a listener has enabled."""

    name: str
    session_ms_max: int
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of PLAIN, by user."""
    bearers: BearerSettings | None = None
    """Of OAUTHBEARER."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslListener:
    """The ways in which clients log in at one listener."""

    mechanisms: tuple[MechanismSettings, ...]
    frame_bytes_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLogin:
    """The way in which this node connects to other nodes at one of their listeners."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    mechanism: str | None = None
    jaas_config: str | None = field(default=None, repr=False)
    token_endpoint_url: str | None = None
    tls_of: str | None = None
    """The listener whose TLS settings count for the connection; None where it has no TLS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """The protection of the listeners of a node, and what it shows at those of others."""

    protocols: Mapping[str, SecurityProtocol]
    """Of each listener, by name."""
    logins: Mapping[str, SaslListener] = field(default_factory=dict)
    """Of each listener of this node that has SASL."""
    tls: Mapping[str, TlsSettings] = field(default_factory=dict)
    """Of each listener with TLS that is known by name: those of this node, and those where it connects to others."""
    at_brokers: OwnLogin = OwnLogin()
    at_controllers: OwnLogin = OwnLogin()
    limits: Mapping[str, ListenerLimits] = field(default_factory=dict)
    """How many connections each listener may have that has limits of its own, and how fast they may come."""


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings of a node, and those of single listeners, by key."""

    values: Mapping[str, ConfigValue]
    of_listeners: Mapping[str, str] = field(repr=False)

    def text(self, listener: str, mechanism: str, key: str) -> str | None:
        """Of one mechanism, where it is written for no other."""
        return self.of_listeners.get(_key(listener, mechanism, key))

    def own(self, listener: str) -> Mapping[str, str]:
        """Returns what is written for one listener alone, by key."""
        prefix = _key(listener, "", "")
        return {
            name.removeprefix(prefix): text
            for name, text in self.of_listeners.items()
            if name.startswith(prefix)
        }

    def get(self, listener: str, key: str, mechanism: str = "") -> ConfigValue:
        for name in (_key(listener, mechanism, key), _key(listener, "", key)):
            text = self.of_listeners.get(name)
            if text is not None:
                return BROKER_CONFIGS[key].parse(text)
        return self.values[key]

    def number(self, listener: str, key: str, mechanism: str = "") -> int:
        value = self.get(listener, key, mechanism)
        assert isinstance(value, int), f"{key} is a number in the table"
        return value

    def string(self, listener: str, key: str, mechanism: str = "") -> str | None:
        value = self.get(listener, key, mechanism)
        assert value is None or isinstance(value, str), f"{key} is a string in the table"
        return value

    def words(self, listener: str, key: str, mechanism: str = "") -> tuple[str, ...]:
        value = self.get(listener, key, mechanism)
        assert isinstance(value, tuple), f"{key} is a list in the table"
        return value


def is_of_listener(name: str) -> bool:
    return name.startswith(LISTENER_PREFIX)


def read_protection(
    values: Mapping[str, ConfigValue],
    of_listeners: Mapping[str, str],
    protocols: Mapping[str, SecurityProtocol],
    listeners: Sequence[Listener],
    *,
    stands_alone: bool,
) -> Protection:
    """Reads what protects a node. `protocols`: of each listener that is known by name.

    `stands_alone`: it speaks to no other node.

    Raises ConfigError.
    """
    settings = _Settings(values, of_listeners)
    _check_names(of_listeners, protocols)
    _check_delay(values)
    own = [each.name for each in listeners]
    sasl = [name for name in own if protocols[name].has_sasl]
    logins = {name: _listener(settings, name) for name in sasl}
    tls = _tls(settings, protocols, own)
    at_brokers = at_controllers = OwnLogin()
    if "broker" in _names(values, "process.roles"):
        at_brokers = _own_login(
            settings, listener_of_brokers(values), protocols, logins,
            key="sasl.mechanism.inter.broker.protocol", stands_alone=stands_alone,
        )  # fmt: skip
    for name in _names(values, "controller.listener.names")[:1]:
        at_controllers = _own_login(
            settings, name.upper(), protocols, logins,
            key="sasl.mechanism.controller.protocol", stands_alone=stands_alone,
        )  # fmt: skip
    return Protection(
        protocols=protocols,
        logins=logins,
        tls=tls,
        at_brokers=at_brokers,
        at_controllers=at_controllers,
        limits=changed_limits({}, of_listeners),
    )


def _tls(
    settings: _Settings, protocols: Mapping[str, SecurityProtocol], own: Iterable[str]
) -> Mapping[str, TlsSettings]:
    """Reads the TLS of each listener that has it. Those of this node, `own`, need what clients are shown."""
    with_tls = {name: protocol for name, protocol in protocols.items() if protocol.has_tls}
    if not with_tls:
        return {}
    from millstream.broker.config.tls_settings import read_tls
    from millstream.security.tls.tls_settings import check_may_serve

    tls = {
        name: read_tls(name, protocol, partial(settings.get, name), settings.own(name))
        for name, protocol in with_tls.items()
    }
    for name in own:
        if name in tls:
            check_may_serve(tls[name])
    return tls


def is_limit_of_listener(name: str) -> bool:
    """Whether a name is that of a bound of the connections of one listener, which may change while a broker runs."""
    return (
        is_of_listener(name)
        and name.removeprefix(LISTENER_PREFIX).partition(".")[2] in _OF_CONNECTIONS
    )


def check_limits_of_pages(settings: Iterable[str], listener_name: str) -> None:
    """Raises ConfigError for a bound of the connections of the listener of pages, which nothing reads."""
    for name in settings:
        if is_limit_of_listener(name) and _is_known(name, listener_name):
            raise ConfigError(
                f"{name}: connections to millstream.http.listener are not counted, and have a bound of their own; remove the setting"
            )


def changed_limits(
    limits: Mapping[str, ListenerLimits], settings: Mapping[str, str]
) -> dict[str, ListenerLimits]:
    """Returns the bounds of connections, by listener, with those that `settings` have. Raises ConfigError."""
    changed = dict(limits)
    for name, text in settings.items():
        if is_limit_of_listener(name):
            listener, _, key = name.removeprefix(LISTENER_PREFIX).partition(".")
            number = BROKER_CONFIGS[key].parse(text)
            assert isinstance(number, int), f"{key} is a number in the table"
            before = changed.get(listener.upper(), ListenerLimits())
            changed[listener.upper()] = (
                replace(before, connections_max=number)
                if key == _CONNECTIONS
                else replace(before, connections_per_second_max=number)
            )
    return changed


def listener_of_brokers(values: Mapping[str, ConfigValue]) -> str:
    """Returns the name of the listener that brokers use among themselves.

    Raises ConfigError when two settings say it.
    """
    name, protocol = values["inter.broker.listener.name"], values["security.inter.broker.protocol"]
    if (
        name is not None
        and protocol != BROKER_CONFIGS["security.inter.broker.protocol"].default_value
    ):
        raise ConfigError(
            "inter.broker.listener.name and security.inter.broker.protocol say the same thing: give one of them"
        )
    return str(name or protocol).upper()


def _names(values: Mapping[str, ConfigValue], key: str) -> tuple[str, ...]:
    value = values[key]
    assert isinstance(value, tuple), f"{key} is a list in the table"
    return value


def _check_names(of_listeners: Iterable[str], protocols: Mapping[str, SecurityProtocol]) -> None:
    """Raises ConfigError for a setting of a listener that nothing reads: what it asks for would be missing."""
    for name in of_listeners:
        listener = next((each for each in protocols if _is_known(name, each)), None)
        if listener is None:
            raise ConfigError(
                f"{name}: this node has no such listener, or the setting asks for what this version does not do; remove it to go without "
                "(docs/guide/security.md says what there is)"
            )
        _check_protocol(name, listener, protocols[listener])


def _check_protocol(name: str, listener: str, protocol: SecurityProtocol) -> None:
    """Raises ConfigError for a setting that protects nothing at its listener: Kafka would serve it
    in clear text without a word.
    """
    key = name.removeprefix(_key(listener, "", ""))
    is_of_tls = key in TLS_OF_LISTENERS
    if is_of_tls and not protocol.has_tls:
        raise ConfigError(
            f"{name}: listener {listener} has no TLS; give it SSL or SASL_SSL in listener.security.protocol.map, or remove the setting"
        )
    if not is_of_tls and not protocol.has_sasl and key not in _OF_CONNECTIONS:
        raise ConfigError(
            f"{name}: nobody logs in at listener {listener}, which is {protocol.name}; make it SASL_PLAINTEXT or SASL_SSL in "
            "listener.security.protocol.map, or remove the setting"
        )


def _is_known(name: str, listener: str) -> bool:
    prefix = _key(listener, "", "")
    if not name.startswith(prefix):
        return False
    rest = name.removeprefix(prefix)
    if rest in _OF_LISTENERS or rest in _OF_CONNECTIONS:
        return True
    mechanism, _, key = rest.partition(".")
    return mechanism.upper() in _MECHANISMS and key in _OF_MECHANISMS


def _check_delay(values: Mapping[str, ConfigValue]) -> None:
    delay, idle = (
        values["connection.failed.authentication.delay.ms"],
        values["connections.max.idle.ms"],
    )
    assert isinstance(delay, int), "it is a number in the table"
    assert isinstance(idle, int), "it is a number in the table"
    if delay >= idle:
        raise ConfigError(
            f"connection.failed.authentication.delay.ms must be less than connections.max.idle.ms, which is {idle}"
        )


def _listener(settings: _Settings, name: str) -> SaslListener:
    key = "sasl.enabled.mechanisms"
    enabled = tuple(dict.fromkeys(settings.words(name, key)))
    if not enabled:
        raise ConfigError(f"{key}: listener {name} has SASL and needs at least one")
    _check_mechanisms(f"{key} of listener {name}", enabled)
    return SaslListener(
        mechanisms=tuple(_mechanism(settings, name, each) for each in enabled),
        frame_bytes_max=settings.number(name, "sasl.server.max.receive.size"),
    )


def _check_mechanisms(what: str, mechanisms: Iterable[str]) -> None:
    for each in mechanisms:
        if each == _KERBEROS:
            raise ConfigError(
                f"{what} is GSSAPI (Kerberos, Kafka's default), which this version does not have: set it to one or more of "
                f"{', '.join(_MECHANISMS)}"
            )
        if each not in _MECHANISMS:
            raise ConfigError(f"{what} has {each}, which is none of {', '.join(_MECHANISMS)}")


def _mechanism(settings: _Settings, listener: str, mechanism: str) -> MechanismSettings:
    handler = settings.text(listener, mechanism, SERVER_CALLBACK_HANDLER)
    if handler is not None and (mechanism != "OAUTHBEARER" or handler != VALIDATOR):
        raise ConfigError(
            f"{_key(listener, mechanism, SERVER_CALLBACK_HANDLER)}: no class is loaded here; leave it out"
            + (f", or set it to {VALIDATOR}" if mechanism == "OAUTHBEARER" else "")
        )
    options = _options(settings, listener, mechanism)
    return MechanismSettings(
        name=mechanism,
        session_ms_max=settings.number(listener, _REAUTHENTICATION, mechanism),
        passwords=_passwords(listener, options) if mechanism == "PLAIN" else {},
        bearers=(
            _bearers(settings, listener, is_validated=handler is not None)
            if mechanism == "OAUTHBEARER"
            else None
        ),
    )


def _options(settings: _Settings, listener: str, mechanism: str) -> Mapping[str, str]:
    """Of the login module of a mechanism; empty where the settings have none."""
    text = settings.text(listener, mechanism, JAAS_CONFIG)
    if text is None:
        return {}
    return parse_module_options(_key(listener, mechanism, JAAS_CONFIG), text, mechanism)


def _passwords(listener: str, options: Mapping[str, str]) -> Mapping[str, str]:
    passwords = {
        name.removeprefix(_USER): password
        for name, password in options.items()
        if name.startswith(_USER)
    }
    if not all(passwords) or not all(passwords.values()):
        raise ConfigError(
            f"{_key(listener, 'PLAIN', JAAS_CONFIG)}: a user and its password must not be empty"
        )
    if not passwords:
        raise ConfigError(
            f"{_key(listener, 'PLAIN', JAAS_CONFIG)} names no user, so nobody could log in: write "
            f'{MODULES["PLAIN"]} required user_NAME="PASSWORD";'
        )
    return passwords


def _bearers(settings: _Settings, listener: str, *, is_validated: bool) -> BearerSettings:
    def named(key: str) -> str:
        return f"sasl.oauthbearer.{key}"

    mechanism = "OAUTHBEARER"
    if not is_validated:
        raise ConfigError(
            f"OAUTHBEARER of listener {listener}: without {_key(listener, mechanism, SERVER_CALLBACK_HANDLER)} Kafka takes unsigned tokens, "
            f"which anybody can make; set it to {VALIDATOR}, with {named('jwks.endpoint.url')}, {named('expected.issuer')} and "
            f"{named('expected.audience')}"
        )
    url = settings.string(listener, named("jwks.endpoint.url"), mechanism)
    issuer = settings.string(listener, named("expected.issuer"), mechanism)
    audiences = settings.words(listener, named("expected.audience"), mechanism)
    if url is None or not url.startswith(("https://", "file:///")):
        raise ConfigError(
            f"{named('jwks.endpoint.url')} of listener {listener} must be an https:// or file:/// URL where the keys of token issuers are"
        )
    if not issuer or not audiences:
        raise ConfigError(
            f"OAUTHBEARER of listener {listener} needs {named('expected.issuer')} and {named('expected.audience')}: without them any token "
            "of the same issuer's keys would do"
        )

    def number(key: str) -> int:
        return settings.number(listener, named(key), mechanism)

    return BearerSettings(
        jwks_url=url,
        issuer=issuer,
        audiences=audiences,
        name_claim=settings.string(listener, named("sub.claim.name"), mechanism) or "sub",
        clock_skew_s=number("clock.skew.seconds"),
        refresh_ms=number("jwks.endpoint.refresh.ms"),
        retry_backoff_ms=number("jwks.endpoint.retry.backoff.ms"),
        retry_backoff_max_ms=number("jwks.endpoint.retry.backoff.max.ms"),
    )


def _own_login(
    settings: _Settings,
    listener: str,
    protocols: Mapping[str, SecurityProtocol],
    logins: Mapping[str, SaslListener],
    *,
    key: str,
    stands_alone: bool,
) -> OwnLogin:
    protocol = protocols.get(listener, SecurityProtocol.PLAINTEXT)
    tls_of = listener if protocol.has_tls else None
    if not protocol.has_sasl:
        return OwnLogin(protocol=protocol, tls_of=tls_of)
    mechanism = str(settings.values[key])
    if stands_alone and mechanism == _KERBEROS:
        return OwnLogin()  # it is Kafka's default, and there is nobody to log in at
    _check_mechanisms(key, [mechanism])
    own = logins.get(listener)
    if own is not None and mechanism not in {each.name for each in own.mechanisms}:
        raise ConfigError(
            f"{key} is {mechanism}, which sasl.enabled.mechanisms of listener {listener} lacks"
        )
    options = _options(settings, listener, mechanism)
    url = settings.string(listener, "sasl.oauthbearer.token.endpoint.url", mechanism)
    is_bearer = mechanism == "OAUTHBEARER"
    needed = ("clientId", "clientSecret") if is_bearer else ("username", "password")
    missing = [name for name in needed if not options.get(name)]
    if is_bearer and not (url or "").startswith("https://"):
        missing.append("sasl.oauthbearer.token.endpoint.url with https://")
    if missing and stands_alone:
        return OwnLogin()
    if missing:
        raise ConfigError(
            f"{_key(listener, mechanism, JAAS_CONFIG)}: {' and '.join(missing)} is missing, with which this node logs in at others ({key})"
        )
    return OwnLogin(
        protocol=protocol,
        mechanism=mechanism,
        jaas_config=settings.text(listener, mechanism, JAAS_CONFIG),
        token_endpoint_url=url,
        tls_of=tls_of,
    )


def _key(listener: str, mechanism: str, key: str) -> str:
    between = f"{mechanism.lower()}." if mechanism else ""
    return f"{LISTENER_PREFIX}{listener.lower()}.{between}{key}"
