"""Settings of how a client proves who it is and whom it believes: TLS and SASL. Part of every client's settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypedDict

from millstream.errors import ConfigError
from millstream.net.client.config.declarations import (
    boolean,
    integer,
    names,
    one_of,
    optional_function,
    optional_secret,
    optional_text,
    setting,
    text_list,
)
from millstream.security.sasl_client import OAuthBearerToken

TokenProvider = Callable[[], OAuthBearerToken | Awaitable[OAuthBearerToken]]
"""A plain function runs in a thread, so it may block; a coroutine function runs on the client's loop."""

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


def _ssl_context(key: str, value: object) -> object:
    if value is not None and not hasattr(value, "wrap_bio"):
        raise ConfigError(f"{key} must be an ssl.SSLContext, got {value!r}")
    return value


def _identification(key: str, value: object) -> str:
    """Not as lenient as for other texts: a slip of the pen must not turn the check off."""
    if value in (None, "", "none"):
        return ""
    if isinstance(value, str) and value.lower() == "https":
        return "https"
    raise ConfigError(f'{key} must be "https", or "" to believe any host; got {value!r}')


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfig:
    security_protocol: str = setting(
        "PLAINTEXT",
        one_of(*SECURITY_PROTOCOLS),
        "Whether connections are encrypted with TLS (SSL) and whether the client logs in (SASL).",
    )
    ssl_context: object | None = setting(
        None, _ssl_context, "An ssl.SSLContext that you made. It replaces all ssl_ settings."
    )
    ssl_truststore_location: str | None = setting(
        None,
        optional_text,
        "PEM file with the certificate authorities to trust. None: those of the operating system.",
        aliases=("ssl_ca_location",),
    )
    ssl_truststore_certificates: str | None = setting(
        None,
        optional_text,
        "The certificate authorities to trust, as PEM text instead of a file.",
        aliases=("ssl_ca_pem",),
    )
    ssl_truststore_type: str = setting("PEM", one_of("PEM"), "Only PEM is supported.")
    ssl_keystore_location: str | None = setting(
        None,
        optional_text,
        "PEM file with the client's certificate chain, and with its private key unless ssl_key_location names another file.",
        aliases=("ssl_certificate_location",),
    )
    ssl_key_location: str | None = setting(
        None, optional_text, "PEM file with the client's private key, if it has a file of its own."
    )
    ssl_keystore_certificate_chain: str | None = setting(
        None,
        optional_text,
        "The client's certificate chain as PEM text.",
        aliases=("ssl_certificate",),
    )
    ssl_keystore_key: str | None = setting(
        None,
        optional_secret,
        "The client's private key as PEM text.",
        aliases=("ssl_key",),
        secret=True,
    )
    ssl_keystore_type: str = setting("PEM", one_of("PEM"), "Only PEM is supported.")
    ssl_key_password: str | None = setting(
        None, optional_secret, "Password of the private key, if it is encrypted.", secret=True
    )
    ssl_endpoint_identification_algorithm: str = setting(
        "https",
        _identification,
        "https: the broker's certificate must contain the name of its host. Empty: the name is not checked.",
    )
    ssl_enabled_protocols: tuple[str, ...] = setting(
        ("TLSv1.2", "TLSv1.3"),
        names("TLSv1.2", "TLSv1.3"),
        "Versions of TLS that the client accepts.",
    )
    ssl_cipher_suites: tuple[str, ...] = setting(
        (), text_list, "Cipher suites for TLS 1.2, with OpenSSL's names. Empty: OpenSSL's default."
    )
    sasl_mechanism: str | None = setting(
        None,
        one_of(*SASL_MECHANISMS),
        "How the client logs in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.",
        aliases=("sasl_mechanisms",),
    )
    sasl_username: str | None = setting(
        None, optional_text, "User name for PLAIN and SCRAM.", aliases=("sasl_plain_username",)
    )
    sasl_password: str | None = setting(
        None,
        optional_secret,
        "Password for PLAIN and SCRAM.",
        aliases=("sasl_plain_password",),
        secret=True,
    )
    sasl_jaas_config: str | None = setting(
        None,
        optional_secret,
        "User name, password and options, written as for Kafka's Java clients.",
        secret=True,
    )
    sasl_oauthbearer_token_provider: TokenProvider | None = setting(  # noqa: RUF009 - `setting` makes a field
        None,
        optional_function,
        "A function, or coroutine function, that returns an OAuthBearerToken.",
    )
    sasl_oauthbearer_token_endpoint_url: str | None = setting(
        None,
        optional_text,
        "HTTPS address that gives tokens for a client id and a secret (OAuth client credentials); or file:///path of a file with a token, which is read at each login.",
    )
    sasl_oauthbearer_client_credentials_client_id: str | None = setting(
        None, optional_text, "Client id for sasl_oauthbearer_token_endpoint_url."
    )
    sasl_oauthbearer_client_credentials_client_secret: str | None = setting(
        None, optional_secret, "Client secret for sasl_oauthbearer_token_endpoint_url.", secret=True
    )
    sasl_oauthbearer_scope: str | None = setting(
        None, optional_text, "Scope of the token to ask for."
    )
    sasl_oauthbearer_header_urlencode: bool = setting(
        False,
        boolean,
        "Escape the client id and secret as RFC 6749 says. Many token providers do not expect it.",
    )
    sasl_login_connect_timeout_ms: int = setting(
        10_000, integer(1), "Time limit of connecting to sasl_oauthbearer_token_endpoint_url."
    )
    sasl_login_read_timeout_ms: int = setting(
        10_000, integer(1), "Time limit of an answer of sasl_oauthbearer_token_endpoint_url."
    )
    sasl_login_retry_backoff_ms: int = setting(
        100,
        integer(1),
        "Wait before a token is asked for again after a failure. It doubles after each failure.",
    )
    sasl_login_retry_backoff_max_ms: int = setting(
        10_000, integer(1), "The wait before a token is asked for again does not grow beyond this."
    )


class SecuritySettings(TypedDict, total=False):
    """Keyword arguments of every client; see SecurityConfig."""

    security_protocol: str
    ssl_context: object | None
    ssl_truststore_location: str | None
    ssl_ca_location: str | None
    ssl_truststore_certificates: str | None
    ssl_ca_pem: str | None
    ssl_truststore_type: str
    ssl_keystore_location: str | None
    ssl_certificate_location: str | None
    ssl_key_location: str | None
    ssl_keystore_certificate_chain: str | None
    ssl_certificate: str | None
    ssl_keystore_key: str | None
    ssl_key: str | None
    ssl_keystore_type: str
    ssl_key_password: str | None
    ssl_endpoint_identification_algorithm: str
    ssl_enabled_protocols: str | list[str] | tuple[str, ...]
    ssl_cipher_suites: str | list[str] | tuple[str, ...]
    sasl_mechanism: str | None
    sasl_mechanisms: str | None
    sasl_username: str | None
    sasl_plain_username: str | None
    sasl_password: str | None
    sasl_plain_password: str | None
    sasl_jaas_config: str | None
    sasl_oauthbearer_token_provider: TokenProvider | None
    sasl_oauthbearer_token_endpoint_url: str | None
    sasl_oauthbearer_client_credentials_client_id: str | None
    sasl_oauthbearer_client_credentials_client_secret: str | None
    sasl_oauthbearer_scope: str | None
    sasl_oauthbearer_header_urlencode: bool
    sasl_login_connect_timeout_ms: int
    sasl_login_read_timeout_ms: int
    sasl_login_retry_backoff_ms: int
    sasl_login_retry_backoff_max_ms: int
