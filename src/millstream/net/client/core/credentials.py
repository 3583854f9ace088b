"""The credentials that the settings name. Contradictions are found here, before anything is connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from millstream.errors import ConfigError
from millstream.net.client.config.security import SecurityConfig, TokenProvider
from millstream.security.jaas import LoginModule, parse_jaas_config
from millstream.security.scram import ScramMechanism

_SCRAM = {mechanism.sasl_name: mechanism for mechanism in ScramMechanism}
_MODULES = {
    "PLAIN": "PlainLoginModule",
    **dict.fromkeys(_SCRAM, "ScramLoginModule"),
    "OAUTHBEARER": "OAuthBearerLoginModule",
}
_CLAIM = "unsecuredLoginStringClaim_"
_LIFETIME = "unsecuredLoginLifetimeSeconds"
_EXTENSION = "extension_"


@dataclass(frozen=True, slots=True)
class Password:
    username: str
    password: str = field(repr=False)
    scram: ScramMechanism | None = None
    """None: PLAIN."""
    token_auth: bool = False
    """They are the id and HMAC of a delegation token."""

    @property
    def mechanism(self) -> str:
        return "PLAIN" if self.scram is None else self.scram.sasl_name


@dataclass(frozen=True, slots=True)
class ProvidedToken:
    provider: TokenProvider


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """A token is had from `url` for id and secret (RFC 6749, section 4.4)."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileToken:
    """A token is what a file holds at each login."""

    path: str
    extensions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnsecuredToken:
    """Claims without a signature. For tests."""

    claims: Mapping[str, str]
    lifetime_ms: int
    extensions: Mapping[str, str] = field(default_factory=dict)


TokenSource = ProvidedToken | ClientCredentials | FileToken | UnsecuredToken
Credentials = Password | TokenSource


def credentials_from(config: SecurityConfig) -> Credentials | None:
    """Returns the credentials; None without SASL. Raises ConfigError naming the setting that is missing or too much."""
    mechanism = config.sasl_mechanism
    if not config.security_protocol.startswith("SASL"):
        if mechanism is not None:
            raise ConfigError(
                f"sasl_mechanism has no effect with security_protocol={config.security_protocol};"
                " write SASL_SSL (or SASL_PLAINTEXT, which everybody can read)"
            )
        return None
    if mechanism is None:
        raise ConfigError(
            f"security_protocol={config.security_protocol} needs sasl_mechanism:"
            f" {', '.join(_MODULES)} (Kafka's default, GSSAPI, is not built)"
        )
    module = None
    if config.sasl_jaas_config is not None:
        module = parse_jaas_config(config.sasl_jaas_config)
        if module.name != _MODULES[mechanism]:
            raise ConfigError(
                f"sasl_jaas_config names {module.name}; {mechanism} needs {_MODULES[mechanism]}"
            )
    if mechanism == "OAUTHBEARER":
        return _token_source(config, module)
    return _password(config, mechanism, module)


def _password(config: SecurityConfig, mechanism: str, module: LoginModule | None) -> Password:
    options = {} if module is None else module.options
    username = config.sasl_username or options.get("username")
    password = config.sasl_password or options.get("password")
    if username is None or password is None:
        raise ConfigError(
            f"{mechanism} needs sasl_username and sasl_password, or both in sasl_jaas_config"
        )
    token_auth = options.get("tokenauth", "false").lower() == "true"
    return Password(username, password, _SCRAM.get(mechanism), token_auth)


def _token_source(config: SecurityConfig, module: LoginModule | None) -> TokenSource:
    options = {} if module is None else module.options
    extensions = _with_prefix(options, _EXTENSION)
    claims = _with_prefix(options, _CLAIM)
    url = config.sasl_oauthbearer_token_endpoint_url
    provider = config.sasl_oauthbearer_token_provider
    if (provider is not None) + (url is not None) + bool(claims) != 1:
        raise ConfigError(
            "OAUTHBEARER needs one source of tokens: sasl_oauthbearer_token_provider,"
            " sasl_oauthbearer_token_endpoint_url, or unsecured claims in sasl_jaas_config"
        )
    if provider is not None:
        return ProvidedToken(provider)
    if url is None:
        lifetime_s = options.get(_LIFETIME, "3600")
        if not lifetime_s.isdecimal():
            raise ConfigError(f"sasl_jaas_config: {_LIFETIME} must be a number of seconds")
        return UnsecuredToken(claims, int(lifetime_s) * 1000, extensions)
    parts = urlsplit(url)
    if parts.scheme == "file":
        return FileToken(_path_of(url, parts), extensions)
    client_id = config.sasl_oauthbearer_client_credentials_client_id or options.get("clientId")
    secret = config.sasl_oauthbearer_client_credentials_client_secret or options.get("clientSecret")
    if client_id is None or secret is None:
        raise ConfigError(
            "sasl_oauthbearer_token_endpoint_url needs"
            " sasl_oauthbearer_client_credentials_client_id and ..._client_secret"
        )
    scope = config.sasl_oauthbearer_scope or options.get("scope")
    return ClientCredentials(url, client_id, secret, scope, extensions)


def _path_of(url: str, parts: SplitResult) -> str:
    if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
        raise ConfigError(
            f"sasl_oauthbearer_token_endpoint_url names no file of this machine: write file:///path/of/the/token, got {url!r}"
        )
    return unquote(parts.path)


def _with_prefix(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in options.items()
        if name.startswith(prefix)
    }
