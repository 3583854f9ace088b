"""The settings of TLS, as rows of the broker's table. What is set for one listener is read in `tls_settings`."""

from __future__ import annotations

from functools import partial
from typing import Final

from millstream.broker.config.listeners import LISTENER_PREFIX
from millstream.broker.config.rows import boolean, string, without_effect, words
from millstream.metadata.config_key import ConfigKey, ConfigValue, UpdateMode
from millstream.metadata.config_validators import OneOf
from millstream.protocol.enums import ConfigType

_START: Final = UpdateMode.PER_BROKER
_RELOADED: Final = UpdateMode.PER_LISTENER
_PER_LISTENER: Final = (
    "May be set for one listener, as listener.name.LISTENER.KEY with its name in lower case."
)
_AT_START: Final = (
    "While the broker runs changing it is refused; setting the current value is accepted."
)
_RELOAD: Final = (
    "While the broker runs it is set for one listener of one broker, which then reads the store again; the present value does if the file "
    "is a new one."
)


def _password(name: str, doc: str) -> ConfigKey:
    return ConfigKey(
        name, ConfigType.PASSWORD, None, None, doc, dynamic=_RELOADED, sensitive=True
    )  # fmt: skip


_store = partial(string, dynamic=_RELOADED)

_STORES = (
    _store("ssl.keystore.type", "JKS", f"Must be `PEM` where a key is given; Kafka's default, JKS, is refused then. {_PER_LISTENER} {_RELOAD}"),
    _store("ssl.keystore.location", None, f"PEM file with the private key and its chain of certificates, the own one first. {_PER_LISTENER} {_RELOAD}"),
    _password("ssl.keystore.password", "Refused: PEM stores have none."),
    _password("ssl.keystore.key", f"The private key as PEM text, in place of a file. {_PER_LISTENER} {_RELOAD}"),
    _password("ssl.keystore.certificate.chain", f"The chain of certificates of `ssl.keystore.key`, as PEM text. {_PER_LISTENER} {_RELOAD}"),
    _password("ssl.key.password", f"Opens an encrypted private key. {_PER_LISTENER} {_RELOAD}"),
    _store("ssl.truststore.type", "JKS", f"Must be `PEM` where authorities are given. {_PER_LISTENER} {_RELOAD}"),
    _store("ssl.truststore.location", None, f"PEM file with the authorities whose certificates are believed, of clients and of other nodes. {_PER_LISTENER} {_RELOAD}"),
    _password("ssl.truststore.password", "Refused: PEM stores have none."),
    _password("ssl.truststore.certificates", f"The authorities as PEM text, in place of a file. {_PER_LISTENER} {_RELOAD}"),
)  # fmt: skip

_RULES = (
    string(
        "ssl.client.auth",
        "none",
        f"Whether a client must show a certificate. Counts at listeners with SASL only under their prefix, as in Kafka. {_PER_LISTENER} {_AT_START}",
        OneOf(("required", "requested", "none")),
        dynamic=_START,
    ),
    string(
        "ssl.principal.mapping.rules",
        "DEFAULT",
        f"From the name in a client's certificate to its principal: RULE:PATTERN/REPLACEMENT/[LU] or DEFAULT, with commas between. {_PER_LISTENER}",
    ),
    words(
        "ssl.enabled.protocols",
        ("TLSv1.2", "TLSv1.3"),
        f"Versions of TLS: `TLSv1.2`, `TLSv1.3` or both. {_PER_LISTENER} {_AT_START}",
        dynamic=_START,
    ),
    words(
        "ssl.cipher.suites",
        (),
        f"Names of Java or OpenSSL. Empty: OpenSSL's choice. Among those of TLS 1.3 nothing can be chosen. {_PER_LISTENER} {_AT_START}",
        dynamic=_START,
    ),
    string(
        "ssl.endpoint.identification.algorithm",
        "https",
        f"Whether the certificate of another node must be for the host that this one connects to; empty: no. {_PER_LISTENER} {_AT_START}",
        dynamic=_START,
    ),
    boolean("ssl.allow.dn.changes", False, f"Whether a reloaded key store may be for another name. {_PER_LISTENER}"),
    boolean("ssl.allow.san.changes", False, f"Whether a reloaded key store may lack alternative names of the present one. {_PER_LISTENER}"),
)  # fmt: skip


def _of_java(kind: ConfigType, name: str, default: ConfigValue = None) -> ConfigKey:
    key = ConfigKey(name, kind, default, None, dynamic=_START)
    return without_effect("it speaks of Java's TLS; this broker has OpenSSL's", key)


_JAVAS = (
    _of_java(ConfigType.CLASS, "ssl.engine.factory.class"),
    _of_java(ConfigType.STRING, "ssl.keymanager.algorithm", "SunX509"),
    _of_java(ConfigType.STRING, "ssl.protocol", "TLSv1.3"),
    _of_java(ConfigType.STRING, "ssl.provider"),
    _of_java(ConfigType.STRING, "ssl.secure.random.implementation"),
    _of_java(ConfigType.STRING, "ssl.trustmanager.algorithm", "PKIX"),
)

TLS_ROWS: Final[tuple[ConfigKey, ...]] = (*_STORES, *_RULES, *_JAVAS)
STORE_KEYS: Final = frozenset(key.name for key in _STORES)
"""Those that may change while a broker runs (KIP-226)."""
TLS_OF_LISTENERS: Final = frozenset(key.name for key in TLS_ROWS)
TLS_FIXED_KEYS: Final = tuple(key.name for key in (*_RULES, *_JAVAS) if key.dynamic is _START)
"""Kafka lets them be set for listeners that are added; here they can be set to what they are."""
ENGINE_FACTORY: Final = "ssl.engine.factory.class"


def is_store_key(name: str) -> bool:
    """Whether a name is that of a store's setting under the prefix of a listener, which may change
    while a broker runs.
    """
    return store_key_of(name) is not None


def store_key_of(name: str) -> tuple[str, str] | None:
    """Returns the listener, in upper case, and the key that a name such as
    listener.name.tls.ssl.keystore.location is made of.
    """
    if not name.startswith(LISTENER_PREFIX):
        return None
    listener, _, key = name.removeprefix(LISTENER_PREFIX).partition(".")
    return (listener.upper(), key) if key in STORE_KEYS else None
