"""TLS: the context that the settings describe, and what went wrong in words that name the setting to change."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import ClassVar

from millstream.errors import ConfigError, KafkaError
from millstream.net.client.config.security import SecurityConfig
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.first_contact import ListenerMismatch

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}

# X509_V_ERR_ numbers of OpenSSL (x509_vfy.h): the ssl module gives no names to them
_NOT_YET_VALID, _EXPIRED = 9, 10
_UNKNOWN_ISSUER = frozenset({2, 18, 19, 20, 21})
_OTHER_HOST = frozenset({62, 64})


class SslAuthenticationFailed(KafkaError):
    """The broker's certificate is not to be believed, or ours was refused. Trying again does not help."""

    name: ClassVar[str] = "SSL_AUTHENTICATION_FAILED"
    sentence: ClassVar[str] = "A certificate was not believed."


def tls_context(config: SecurityConfig) -> ssl.SSLContext:
    """Makes the TLS context of a client. Raises ConfigError when a store cannot be read."""
    if config.ssl_context is not None:
        assert isinstance(config.ssl_context, ssl.SSLContext), "the settings were checked"
        return config.ssl_context
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    versions = [_VERSIONS[name] for name in config.ssl_enabled_protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.check_hostname = config.ssl_endpoint_identification_algorithm == "https"
    load_authorities(context, config)
    _load_identity(context, config)
    if config.ssl_cipher_suites:
        try:
            context.set_ciphers(":".join(config.ssl_cipher_suites))
        except ssl.SSLError as error:
            raise ConfigError(
                "ssl_cipher_suites: OpenSSL has none of these; write names such as ECDHE-RSA-AES256-GCM-SHA384"
            ) from error
    return context


def load_authorities(context: ssl.SSLContext, config: SecurityConfig) -> None:
    """Loads the authorities of the settings, else those of the system."""
    location, text = config.ssl_truststore_location, config.ssl_truststore_certificates
    if location is None and text is None:
        context.load_default_certs()
        return
    try:
        context.load_verify_locations(cafile=location, cadata=text)
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(
            f"{_named('ssl_truststore_location', location)}: no certificates in PEM form can be read ({error})."
            " A JKS or PKCS12 store is exported with keytool -exportcert -rfc"
        ) from error


def _load_identity(context: ssl.SSLContext, config: SecurityConfig) -> None:
    chain, key = config.ssl_keystore_certificate_chain, config.ssl_keystore_key
    if (chain is None) != (key is None):
        raise ConfigError("ssl_keystore_certificate_chain and ssl_keystore_key belong together")
    if config.ssl_keystore_location is not None:
        if chain is not None:
            raise ConfigError(
                "give ssl_keystore_location or the certificate and key as text, not both"
            )
        _load_chain(context, config.ssl_keystore_location, config)
    elif chain is not None and key is not None:
        with tempfile.TemporaryDirectory() as directory:  # ssl reads keys from files only
            path = Path(directory, "identity.pem")
            path.touch(mode=0o600)
            path.write_text(f"{key}\n{chain}\n")
            _load_chain(context, str(path), config)


def _load_chain(context: ssl.SSLContext, path: str, config: SecurityConfig) -> None:
    try:
        context.load_cert_chain(
            path, config.ssl_key_location, password=config.ssl_key_password or ""
        )
    except OSError as error:
        raise ConfigError(
            "ssl_keystore_location must be a PEM file with certificates and their private key (or the key in"
            f" ssl_key_location), and ssl_key_password must open the key: {error}"
        ) from error


def tls_failure(address: Address, error: Exception) -> KafkaError:
    """Returns the error to raise after a handshake that failed with `error`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return SslAuthenticationFailed(
            f"{address} is not believed: {_certificate_fault(address, error)}"
        )
    reason = getattr(error, "reason", None) or ""
    if reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}:
        return ListenerMismatch(
            f"{address} does not speak TLS; set security_protocol to PLAINTEXT or SASL_PLAINTEXT"
        )
    if "ALERT" in reason:
        return SslAuthenticationFailed(f"{address} {_refusal_of_ours(reason)}")
    if isinstance(error, ssl.SSLError):
        return ListenerMismatch(f"{address}: the TLS handshake failed: {error}")
    return ListenerMismatch(
        f"{address} ended the connection in the TLS handshake ({str(error) or type(error).__name__}); listeners without TLS do"
        " that: try security_protocol=PLAINTEXT or SASL_PLAINTEXT"
    )


def _refusal_of_ours(alert: str) -> str:
    """Returns what to do where the broker ended a handshake with an alert. Java says of all certificates that
    they are bad or unknown, which may mean each of these.
    """
    if alert.endswith("CERTIFICATE_REQUIRED"):
        return "lets nobody in without a certificate; name ours in ssl_keystore_location"
    if alert.endswith("CERTIFICATE_EXPIRED"):
        return "refused our certificate, which has expired; name a new one in ssl_keystore_location"
    if alert.endswith("UNKNOWN_CA"):
        return (
            "refused our certificate, whose authority is not in its trust store; name one in"
            " ssl_keystore_location that an authority there has issued"
        )
    return (
        f"refused the TLS handshake ({alert.replace('_', ' ').lower()}); it may want a"
        " certificate of ours (ssl_keystore_location) that it believes, or other versions of TLS"
    )


def _certificate_fault(address: Address, error: ssl.SSLCertVerificationError) -> str:
    code, said = error.verify_code, error.verify_message
    if code == _EXPIRED:
        return f"its certificate has expired ({said}), unless the clock here is wrong; whoever runs it must renew it"
    if code == _NOT_YET_VALID:
        return f"its certificate is not valid yet ({said}); is the clock right?"
    if code in _OTHER_HOST:
        return (
            f"its certificate is for another host than {address.host} ({said}); connect by the name in"
            " it, or set ssl_endpoint_identification_algorithm to an empty string"
        )
    if code in _UNKNOWN_ISSUER:
        return (
            f"its certificate was issued by nobody we trust ({said}); name the authority's"
            " certificate in ssl_ca_location"
        )
    return f"its certificate failed the check: {said}"


def _named(key: str, value: str | None) -> str:
    return key if value is None else f"{key} {value!r}"
