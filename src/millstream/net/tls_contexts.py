"""Contexts of OpenSSL from the settings of a listener: for its clients, and for this node as a client of
others at such a listener.

Everything here reads files and computes: where a loop runs, it runs in a thread.
"""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from millstream.errors import ConfigError
from millstream.security.tls.stores import (
    KeyStore,
    StoreSettings,
    check_store_settings,
    read_key_store,
    read_trust_store,
)
from millstream.security.tls.tls_settings import ClientAuth, TlsSettings, check_may_serve

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFY_MODES: Final = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}
_HANDSHAKE_STEPS_MAX: Final = 20
"""A handshake is over after two or three flights of each side."""


@dataclass(frozen=True, slots=True)
class LoadedStores:
    """The stores of a listener as they were read, and when their files had been written."""

    settings: StoreSettings
    key: KeyStore | None = field(repr=False)
    authorities: str | None = field(repr=False)
    written_ns: tuple[int, ...] = ()

    def is_stale(self) -> bool:
        """Whether a file was written since. A file that is gone is not: the next start will say so."""
        try:
            return _written_ns(self.settings) != self.written_ns
        except OSError:
            return False


def load_stores(settings: StoreSettings) -> LoadedStores:
    """Reads the stores. Raises ConfigError."""
    check_store_settings(settings)
    prefix = settings.prefix
    try:
        written_ns = _written_ns(settings)
    except OSError as error:
        raise ConfigError(f"{prefix}ssl stores: {error}") from error
    key = None
    if settings.keystore_location is not None:
        what = f"{prefix}ssl.keystore.location={settings.keystore_location}"
        text = _read(what, settings.keystore_location)
        key = read_key_store(what, text, text, settings.key_password)
    elif settings.keystore_key is not None and settings.keystore_certificate_chain is not None:
        key = read_key_store(
            f"{prefix}ssl.keystore.key with its certificate chain",
            settings.keystore_key, settings.keystore_certificate_chain, settings.key_password,
        )  # fmt: skip
    authorities = None
    if settings.truststore_location is not None:
        what = f"{prefix}ssl.truststore.location={settings.truststore_location}"
        authorities = read_trust_store(what, _read(what, settings.truststore_location))
    elif settings.truststore_certificates is not None:
        authorities = read_trust_store(
            f"{prefix}ssl.truststore.certificates", settings.truststore_certificates
        )
    return LoadedStores(settings, key, authorities, written_ns)


def server_context(settings: TlsSettings, stores: LoadedStores) -> ssl.SSLContext:
    """Returns the context for the clients of a listener. Raises ConfigError."""
    check_may_serve(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # A client that starts another handshake in TLS 1.2 would cost what the first one did, again and again, on a connection that is counted once.
    context.options |= ssl.OP_NO_RENEGOTIATION
    _configure(context, settings, stores)
    context.verify_mode = _VERIFY_MODES[settings.client_auth]
    return context


def client_context(settings: TlsSettings, stores: LoadedStores) -> ssl.SSLContext:
    """Returns the context with which this node connects to others at such a listener. Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_host
    _configure(context, settings, stores)
    if stores.authorities is None:
        context.load_default_certs()
    return context


def check_handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """Has two contexts shake hands in memory. `client` checks no host. Raises ConfigError when they cannot."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    try:
        for _ in range(_HANDSHAKE_STEPS_MAX):
            done = [_step(side) for side in sides]
            if all(done):
                return
    except ssl.SSLError as error:
        raise ConfigError(f"the stores do not fit each other: {error}") from error
    raise ConfigError("the stores do not fit each other: a handshake does not end")


def _step(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _configure(context: ssl.SSLContext, settings: TlsSettings, stores: LoadedStores) -> None:
    versions = [_VERSIONS[name] for name in settings.versions]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    if settings.suites:
        _choose(context, settings.suites)
    if stores.key is not None:
        _load_key(context, settings, stores.key)
    if stores.authorities is not None:
        # What is in a trust store is believed, as in Java: also an authority whose own issuer is not there, or a single certificate.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(cadata=stores.authorities)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"the trust store of listener {settings.listener} cannot be used: {error}"
            ) from error


def _choose(context: ssl.SSLContext, suites: tuple[str, ...]) -> None:
    try:
        context.set_ciphers(":".join(suites))
    except ssl.SSLError:
        chosen: set[str] = set()
    else:
        chosen = {each["name"] for each in context.get_ciphers()}
    unknown = [each for each in suites if each not in chosen]
    if unknown:
        # OpenSSL leaves out what it does not know, and would go on with the rest.
        raise ConfigError(
            f"ssl.cipher.suites: OpenSSL has no {unknown[0]}, or not in these versions"
        )


def _load_key(context: ssl.SSLContext, settings: TlsSettings, key: KeyStore) -> None:
    """Python takes keys from files only; no directory of others can be read that `tempfile`
    makes, and no key stays in it.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "key.pem")
        path.touch(mode=0o600)
        path.write_text(key.pem)
        try:
            # Without any password OpenSSL would ask for one at the terminal.
            context.load_cert_chain(path, password=key.password or "")
        except ssl.SSLError as error:
            raise ConfigError(_key_fault(settings, error)) from error


def _key_fault(settings: TlsSettings, error: ssl.SSLError) -> str:
    what = f"the key store of listener {settings.listener}"
    reason = error.reason or ""
    if "KEY_VALUES_MISMATCH" in reason or "KEY_TYPE_MISMATCH" in reason:
        return f"{what}: its private key is not that of its first certificate"
    if settings.stores.key_password is not None and ("BAD_DECRYPT" in reason or not reason):
        return f"{what}: ssl.key.password does not open its private key"
    return f"{what} cannot be used: {error}"


def _written_ns(settings: StoreSettings) -> tuple[int, ...]:
    locations = (settings.keystore_location, settings.truststore_location)
    return tuple(Path(each).stat().st_mtime_ns for each in locations if each is not None)


def _read(what: str, path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text, so no PEM"
        raise ConfigError(f"{what}: {reason}") from error
