"""Settings of a schema registry that stand in the file of a client's settings: keys of Confluent's serializers.

Each may have `schema.registry.` before it, as those of one client in a file of several have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from millstream.errors import ConfigError

_PREFIX: Final = "schema_registry_"
_URL: Final = "schema_registry_url"
_USER_INFO: Final = "basic_auth_user_info"
_USER_SOURCE: Final = "basic_auth_credentials_source"
_TOKEN: Final = "bearer_auth_token"  # noqa: S105 - a name
_TOKEN_FILE: Final = "bearer_auth_token_file"  # noqa: S105 - a name
_TOKEN_SOURCE: Final = "bearer_auth_credentials_source"  # noqa: S105 - a name
_AUTHORITIES: Final = "schema_registry_ssl_truststore_location"
_NOT_PREFIXED: Final = (_USER_INFO, _USER_SOURCE, _TOKEN, _TOKEN_FILE, _TOKEN_SOURCE)
REGISTRY_SETTINGS: Final = frozenset(
    {_URL, _AUTHORITIES, *_NOT_PREFIXED, *(_PREFIX + key for key in _NOT_PREFIXED)}
)
"""With underscores, as `properties_file.plain` gives them."""
SHOWN_SETTINGS: Final = frozenset({_AUTHORITIES, _TOKEN_FILE, _PREFIX + _TOKEN_FILE})
"""Those that hold no secret whatever they are; an address may."""


@dataclass(frozen=True, slots=True)
class RegistryConfig:
    """Place of a registry, login, and authorities that its certificate is believed by; None: not said."""

    url: str | None = None
    user: tuple[str, str] | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    authorities: str | None = None


def registry_config(settings: Mapping[str, str]) -> RegistryConfig:
    """Reads the settings of a registry among those of a client, with dots or underscores.

    Raises ConfigError for logins that contradict one another, and for those that are not built.
    """
    given = {key.replace(".", "_"): value for key, value in settings.items() if value}
    own = {key.removeprefix(_PREFIX): given[key] for key in given if key.startswith(_PREFIX)}
    plain = {**given, **own}
    user = _user(plain)
    token, token_file = plain.get(_TOKEN), plain.get(_TOKEN_FILE)
    if sum(each is not None for each in (user, token, token_file)) > 1:
        raise ConfigError(
            "one login is enough for a schema registry: basic.auth.user.info, bearer.auth.token or bearer.auth.token.file"
        )
    source = plain.get(_TOKEN_SOURCE, "STATIC_TOKEN")
    if source != "STATIC_TOKEN":
        raise ConfigError(
            f"bearer.auth.credentials.source={source} is not built: write STATIC_TOKEN, with bearer.auth.token or bearer.auth.token.file"
        )
    return RegistryConfig(
        url=settings.get("schema.registry.url") or settings.get(_URL) or None,
        user=user,
        token=token,
        token_file=token_file,
        authorities=plain.get(_AUTHORITIES.removeprefix(_PREFIX)),
    )


def _user(plain: Mapping[str, str]) -> tuple[str, str] | None:
    source = plain.get(_USER_SOURCE, "USER_INFO")
    if source == "SASL_INHERIT":
        return _user_of_cluster(plain)
    if source not in {"URL", "USER_INFO"}:
        raise ConfigError(f"basic.auth.credentials.source is one of URL, USER_INFO, SASL_INHERIT, not {source!r}")  # fmt: skip
    given = plain.get(_USER_INFO)
    if given is None or source == "URL":
        return None
    name, colon, password = given.partition(":")
    if not colon:
        raise ConfigError("basic.auth.user.info is NAME:PASSWORD")
    return name, password


def _user_of_cluster(plain: Mapping[str, str]) -> tuple[str, str]:
    from millstream.security.jaas import parse_jaas_config

    name, password = plain.get("sasl_username"), plain.get("sasl_password")
    if "sasl_jaas_config" in plain:
        options = parse_jaas_config(plain["sasl_jaas_config"]).options
        name, password = name or options.get("username"), password or options.get("password")
    if name is None or password is None:
        raise ConfigError(
            "basic.auth.credentials.source=SASL_INHERIT needs sasl.username and sasl.password, or sasl.jaas.config"
        )
    return name, password


def without_login(url: str) -> str:
    """Returns an address as it may be shown."""
    if "@" not in url:
        return url
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
