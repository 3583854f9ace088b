"""Decides, before anything listens, who may come to the console: from this machine or others, with a login, with TLS.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.errors import ConfigError
from millstream.net.client.config.security import SecurityConfig
from millstream.net.loopback import LOOPBACK_NAMES

_PASSWORD_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
ANY_HOST: Final = ("*",)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorOptions:
    """The door as it was asked for. `is_loopback`: only this machine reaches the address."""

    is_loopback: bool
    has_tls: bool = False
    is_behind_tls: bool = False
    """Something in front of the console speaks TLS with browsers."""
    lets_everybody_in: bool = False
    admins: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    """Names by which it is asked, beside those of this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """The door as it is.

    `allowed_hosts`: the names under which it may be asked, so that a page of another site that has its own name resolve
    to this machine (DNS rebinding) gets nothing.
    """

    asks_for_login: bool
    has_secure_cookies: bool
    admins: frozenset[str]
    allowed_hosts: tuple[str, ...]
    is_behind_proxy: bool = False
    """Everybody comes from one address, that of the proxy."""


def door_of(options: DoorOptions, clients: SecurityConfig) -> Door:
    """Returns what holds where the console's clients have this config.

    Raises ConfigError for what would be open by accident.

    The config is what the clients have parsed: the text of a setting may be written in several ways.
    """
    asks_for_login = _asks_for_login(options, clients)
    if not options.is_loopback:
        _check_reachable_door(options, asks_for_login=asks_for_login)
    if options.admins and not asks_for_login:
        raise ConfigError(
            "--admin names users, and nobody logs in: the cluster must have logins (security.protocol=SASL_SSL), and --without-login must not be given"
        )
    own = LOOPBACK_NAMES if options.is_loopback else ()
    return Door(
        asks_for_login=asks_for_login,
        has_secure_cookies=options.has_tls or options.is_behind_tls,
        admins=options.admins,
        allowed_hosts=own + options.hosts or ANY_HOST,
        is_behind_proxy=options.is_behind_tls,
    )


def _asks_for_login(options: DoorOptions, clients: SecurityConfig) -> bool:
    if options.lets_everybody_in or not clients.security_protocol.startswith("SASL"):
        return False
    mechanism = clients.sasl_mechanism
    if mechanism is not None and mechanism not in _PASSWORD_MECHANISMS:
        raise ConfigError(
            f"users cannot log in with a name and a password by {mechanism}: give the console a listener with "
            f"{', '.join(_PASSWORD_MECHANISMS)}, or --without-login to show the pages to everybody who reaches it"
        )
    return True


def _check_reachable_door(options: DoorOptions, *, asks_for_login: bool) -> None:
    if not asks_for_login and not options.lets_everybody_in:
        raise ConfigError(
            "other machines could reach the pages, and there is no login because the cluster has none: listen at 127.0.0.1, or give "
            "--without-login if everybody who reaches the address may see all that the console sees"
        )
    if asks_for_login and not (options.has_tls or options.is_behind_tls):
        raise ConfigError(
            "passwords would cross the network in clear text: give --tls FILE.pem (key and certificates), or --behind-tls where a proxy "
            "speaks TLS in front of the console, or listen at 127.0.0.1"
        )
