"""Reads from the settings the TLS of one listener.

Whose own settings count is the business of `sasl_settings`, which asks for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from millstream.broker.config.listeners import LISTENER_PREFIX
from millstream.broker.config.tls_table import ENGINE_FACTORY, STORE_KEYS, store_key_of
from millstream.errors import ConfigError
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.metadata.config_key import ConfigValue
from millstream.security.tls.principal_mapping import parse_mapping_rules
from millstream.security.tls.stores import StoreSettings, check_store_settings
from millstream.security.tls.tls_settings import ClientAuth, TlsSettings

_OF_TLS_1_3: Final = frozenset(
    {"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"}
)
"""What OpenSSL has enabled; Python cannot choose among them."""


def openssl_name(suite: str) -> str:
    """TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256; other names are taken as they are."""
    if not suite.startswith("TLS_") or "_WITH_" not in suite:
        return suite
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_", "AES").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    cipher = cipher.replace("_CBC", "")
    key_exchange = "" if exchange == "RSA" else f"{exchange}_"
    return f"{key_exchange}{cipher}".replace("_", "-")


def split_suites(suites: Sequence[str], versions: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the suites for TLS 1.2, in OpenSSL's names, and the versions that are left: one without a suite
    is not spoken, as in Java.

    Raises ConfigError for a choice among those of TLS 1.3, and where no version is left.
    """
    of_1_3 = _OF_TLS_1_3.intersection(suites)
    of_1_2 = [openssl_name(each) for each in suites if each not in of_1_3]
    has = {"TLSv1.2": bool(of_1_2), "TLSv1.3": bool(of_1_3)}
    left = [version for version in versions if has[version]]
    if "TLSv1.3" in left and of_1_3 != _OF_TLS_1_3:
        raise ConfigError(
            "ssl.cipher.suites: Python cannot choose among the suites of TLS 1.3; name all of "
            f"{', '.join(sorted(_OF_TLS_1_3))}, or set ssl.enabled.protocols=TLSv1.2"
        )
    if not left:
        raise ConfigError(
            f"ssl.cipher.suites has no suite for ssl.enabled.protocols, which is {','.join(versions)}"
        )
    return of_1_2, left


_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
_NO_HOST_CHECK: Final = ""


def read_tls(
    listener: str,
    protocol: SecurityProtocol,
    get: Callable[[str], ConfigValue],
    own: Mapping[str, str],
) -> TlsSettings:
    """Reads the TLS of a listener.

    `get` gives the nearest setting, `own` has those that are written for this listener alone.

    Raises ConfigError.
    """
    if get(ENGINE_FACTORY) is not None:
        raise ConfigError(f"{ENGINE_FACTORY}: no class is loaded here; leave it out")
    stores = _stores(listener, get, own)
    check_store_settings(stores)
    versions = _versions(listener, _list(get("ssl.enabled.protocols")))
    suites = _list(get("ssl.cipher.suites"))
    of_1_2: list[str] = []
    if suites:
        of_1_2, versions = split_suites(suites, versions)
    auth = str(get("ssl.client.auth"))
    if protocol.has_sasl:  # there it counts only where it is written for the listener, as in Kafka
        auth = own.get("ssl.client.auth", ClientAuth.NONE.value)
    return TlsSettings(
        listener=listener,
        stores=stores,
        versions=tuple(versions),
        suites=tuple(of_1_2),
        client_auth=ClientAuth(auth),
        rules=parse_mapping_rules(str(get("ssl.principal.mapping.rules"))).rules,
        checks_host=_checks_host(get("ssl.endpoint.identification.algorithm")),
        allows_other_name=get("ssl.allow.dn.changes") is True,
        allows_fewer_hosts=get("ssl.allow.san.changes") is True,
    )


def changed_stores(settings: TlsSettings, overrides: Mapping[str, str]) -> TlsSettings:
    """Returns the settings of a listener with what was set for it while the broker ran."""
    changes = {}
    for name, value in overrides.items():
        found = store_key_of(name)
        if found is not None and found[0] == settings.listener:
            changes[_field(found[1])] = value.strip() or None
    if not changes:
        return settings
    prefix = f"{LISTENER_PREFIX}{settings.listener.lower()}."
    stores = replace(settings.stores, prefix=prefix, **changes)  # type: ignore[arg-type]  # mypy cannot see that these fields are texts
    return replace(settings, stores=stores)


def _stores(
    listener: str, get: Callable[[str], ConfigValue], own: Mapping[str, str]
) -> StoreSettings:
    texts = {}
    for key in STORE_KEYS:
        value = get(key)
        assert value is None or isinstance(value, str), f"{key} is a text in the table"
        texts[_field(key)] = value or None
    is_own = not STORE_KEYS.isdisjoint(own)
    prefix = f"{LISTENER_PREFIX}{listener.lower()}." if is_own else ""
    return StoreSettings(prefix=prefix, **texts)  # type: ignore[arg-type]  # they are texts


def _field(key: str) -> str:
    return key.removeprefix("ssl.").replace(".", "_")


def _versions(listener: str, versions: tuple[str, ...]) -> list[str]:
    unknown = [each for each in versions if each not in _VERSIONS]
    if unknown or not versions:
        raise ConfigError(
            f"ssl.enabled.protocols of listener {listener}: {unknown[0] if unknown else 'nothing'} is none of {', '.join(_VERSIONS)}"
        )
    return list(versions)


def _checks_host(value: ConfigValue) -> bool:
    text = str(value or _NO_HOST_CHECK).strip().lower()
    if text not in {"https", _NO_HOST_CHECK}:
        raise ConfigError(
            f"ssl.endpoint.identification.algorithm: write https, or nothing, not {value}"
        )
    return text == "https"


def _list(value: ConfigValue) -> tuple[str, ...]:
    assert isinstance(value, tuple), "it is a list in the table"
    return value
