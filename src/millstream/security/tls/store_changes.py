"""Checks that a listener may go from one key store to another while it serves (KIP-226, and Kafka's SslFactory)."""

from __future__ import annotations

from millstream.errors import ConfigError
from millstream.security.tls.certificate import read_certificate
from millstream.security.tls.der import NotDer
from millstream.security.tls.stores import KeyStore, StoreSettings
from millstream.security.tls.tls_settings import TlsSettings


def check_same_stores(before: StoreSettings, after: StoreSettings) -> None:
    """Raises ConfigError where a store appears or disappears."""
    if before.has_key and not after.has_key:
        raise ConfigError(f"{after.prefix}ssl.keystore cannot be removed while its listener serves")
    if after.has_authorities and not before.has_authorities:
        raise ConfigError(f"{after.prefix}ssl.truststore cannot be added while its listener serves")
    if before.has_authorities and not after.has_authorities:
        # Kafka lets it go, and believes the authorities of its machine from then on; here clients would be believed by nobody.
        raise ConfigError(
            f"{after.prefix}ssl.truststore cannot be removed while its listener serves"
        )


def check_key_store_change(settings: TlsSettings, before: KeyStore, after: KeyStore) -> None:
    """Raises ConfigError where the new certificate is for somebody else.

    As in Kafka only the own certificate counts, not its issuers.
    """
    try:
        old, new = read_certificate(before.chain[0]), read_certificate(after.chain[0])
    except NotDer as error:
        raise ConfigError(f"the new key store of listener {settings.listener}: {error}") from error
    if not settings.allows_other_name and old.subject.casefold() != new.subject.casefold():
        raise ConfigError(
            f"the new key store of listener {settings.listener} is for {new.subject or 'no name'} and not for {old.subject or 'no name'}: "
            "ssl.allow.dn.changes=true lets it through"
        )
    missing = old.alternative_names - new.alternative_names
    if missing and not settings.allows_fewer_hosts:
        raise ConfigError(
            f"the new key store of listener {settings.listener} lacks {len(missing)} of the {len(old.alternative_names)} alternative names of "
            "the present one: ssl.allow.san.changes=true lets it through"
        )
