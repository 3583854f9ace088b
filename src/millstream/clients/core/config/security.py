"""Settings of how a client proves who it is and whom it believes: TLS and SASL. Part of every client's settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypedDict

from millstream.clients.core.settings import (
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
from millstream.errors import ConfigError
from millstream.security.sasl_oauthbearer import OAuthBearerToken

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
        "Whether connections are encrypted (SSL) and authenticated (SASL).",
    )
    ssl_context: object | None = setting(
        None, _ssl_context, "A ready ssl.SSLContext, instead of all ssl_ settings."
    )
    ssl_truststore_location: str | None = setting(
        None,
        optional_text,
        "PEM file with the certificate authorities to believe; without it those of the system.",
        aliases=("ssl_ca_location",),
    )
    ssl_truststore_certificates: str | None = setting(
        None, optional_text, "The same as PEM text.", aliases=("ssl_ca_pem",)
    )
    ssl_truststore_type: str = setting("PEM", one_of("PEM"), "Only PEM is read.")
    ssl_keystore_location: str | None = setting(
        None,
        optional_text,
        "PEM file with our certificate chain and, unless it is elsewhere, our private key.",
        aliases=("ssl_certificate_location",),
    )
    ssl_key_location: str | None = setting(
        None, optional_text, "PEM file with our private key, when it is in a file of its own."
    )
    ssl_keystore_certificate_chain: str | None = setting(
        None, optional_text, "Our certificate chain as PEM text.", aliases=("ssl_certificate",)
    )
    ssl_keystore_key: str | None = setting(
        None, optional_secret, "Our private key as PEM text.", aliases=("ssl_key",), secret=True
    )
    ssl_keystore_type: str = setting("PEM", one_of("PEM"), "Only PEM is read.")
    ssl_key_password: str | None = setting(
        None, optional_secret, "Password of the private key, when it is encrypted.", secret=True
    )
    ssl_endpoint_identification_algorithm: str = setting(
        "https",
        _identification,
        "https: the certificate must name the broker's host. Empty: any host may show it.",
    )
    ssl_enabled_protocols: tuple[str, ...] = setting(
        ("TLSv1.2", "TLSv1.3"), names("TLSv1.2", "TLSv1.3"), "Versions of TLS to accept."
    )
    ssl_cipher_suites: tuple[str, ...] = setting(
        (), text_list, "Cipher suites of TLS 1.2 to offer, by OpenSSL's names; empty: its choice."
    )
    sasl_mechanism: str | None = setting(
        None,
        one_of(*SASL_MECHANISMS),
        "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.",
        aliases=("sasl_mechanisms",),
    )
    sasl_username: str | None = setting(
        None, optional_text, "Name for PLAIN and SCRAM.", aliases=("sasl_plain_username",)
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
        "Name, password and options in the form of Kafka's Java clients.",
        secret=True,
    )
    sasl_oauthbearer_token_provider: TokenProvider | None = setting(  # noqa: RUF009 - `setting` makes a field
        None,
        optional_function,
        "Plain or coroutine function that returns an OAuthBearerToken.",
    )
    sasl_oauthbearer_token_endpoint_url: str | None = setting(
        None, optional_text, "Where tokens are had for the client's id and secret (HTTPS)."
    )
    sasl_oauthbearer_client_credentials_client_id: str | None = setting(
        None, optional_text, "The id to ask that address with."
    )
    sasl_oauthbearer_client_credentials_client_secret: str | None = setting(
        None, optional_secret, "The secret to ask that address with.", secret=True
    )
    sasl_oauthbearer_scope: str | None = setting(
        None, optional_text, "The scope to ask that address for."
    )
    sasl_oauthbearer_header_urlencode: bool = setting(
        False, boolean, "Escape id and secret as RFC 6749 wants it; many providers do not."
    )
    sasl_login_connect_timeout_ms: int = setting(
        10_000, integer(1), "How long connecting to that address may take."
    )
    sasl_login_read_timeout_ms: int = setting(
        10_000, integer(1), "How long that address may take to answer."
    )
    sasl_login_retry_backoff_ms: int = setting(
        100, integer(1), "First wait before that address is asked again."
    )
    sasl_login_retry_backoff_max_ms: int = setting(
        10_000, integer(1), "Longest wait before that address is asked again."
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
