"""Reads from the settings the TLS of one listener.

Whose own settings count is the business of `sasl_settings`, which asks for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from millstream.broker.config.listeners import LISTENER_PREFIX
from millstream.broker.config.tls_table import ENGINE_FACTORY, STORE_KEYS, store_key_of
from millstream.errors import ConfigError
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.metadata.config_key import ConfigValue
from millstream.security.tls.cipher_suites import split_suites
from millstream.security.tls.principal_mapping import parse_mapping_rules
from millstream.security.tls.stores import StoreSettings, check_store_settings
from millstream.security.tls.tls_settings import ClientAuth, TlsSettings

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
