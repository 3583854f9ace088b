"""Contexts of OpenSSL from stores as files and as texts, and what is said where they cannot be made. They are real files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from millstream.errors import ConfigError
from millstream.net.tls_contexts import (
    check_handshake,
    client_context,
    load_stores,
    server_context,
)
from millstream.security.tls.stores import StoreSettings
from millstream.security.tls.tls_settings import ClientAuth, TlsSettings
from tests.integration.clients.security.certificates import Authority


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority(directory)
    for name in ("broker", "other"):
        authority.issue(name)
    authority.issue("locked", password="sesame")
    Authority(directory, "another authority").issue("stranger")
    return directory


def settings(directory: Path, key: str = "broker", **changes: str | None) -> TlsSettings:
    stores = StoreSettings(
        keystore_type="PEM",
        keystore_location=str(directory / f"{key}.pem"),
        truststore_type="PEM",
        truststore_location=str(directory / "test-authority.pem"),
    )
    # mypy cannot see which fields these are: all of them are texts.
    return TlsSettings(listener="SSL", stores=replace(stores, **changes), checks_host=False)  # type: ignore[arg-type]


def believe_each_other(server: TlsSettings, client: TlsSettings) -> bool:
    """Raises ConfigError where they do not."""
    check_handshake(
        server_context(server, load_stores(server.stores)),
        client_context(client, load_stores(client.stores)),
    )
    return True


def test_both_sides_believe_each_other(directory: Path) -> None:
    own = settings(directory)
    assert believe_each_other(replace(own, client_auth=ClientAuth.REQUIRED), own)


def test_an_encrypted_key(directory: Path) -> None:
    assert believe_each_other(
        settings(directory, "locked", key_password="sesame"), settings(directory)
    )


def test_texts_with_blanks_for_line_ends(directory: Path) -> None:
    text = (directory / "broker.pem").read_text()
    key, mark, chain = text.partition("-----BEGIN CERTIFICATE-----")
    as_text = settings(
        directory,
        keystore_location=None,
        keystore_key=key.replace("\n", " "),
        keystore_certificate_chain=(mark + chain).replace("\n", " "),
        truststore_location=None,
        truststore_certificates=(directory / "test-authority.pem").read_text().replace("\n", " "),
    )
    assert believe_each_other(as_text, settings(directory))
    assert not load_stores(as_text.stores).is_stale()


def test_a_stranger_is_not_believed(directory: Path) -> None:
    own = replace(settings(directory), client_auth=ClientAuth.REQUIRED)
    for server, client in (
        (own, settings(directory, "stranger")),
        (settings(directory, "stranger"), own),
    ):
        with pytest.raises(ConfigError, match="the stores do not fit each other"):
            believe_each_other(server, client)


def test_a_client_without_a_certificate_gets_in_where_it_is_only_asked(directory: Path) -> None:
    own = settings(directory)
    nobody = replace(own, stores=replace(own.stores, keystore_location=None))
    assert believe_each_other(replace(own, client_auth=ClientAuth.REQUESTED), nobody)
    with pytest.raises(ConfigError, match="do not fit"):
        believe_each_other(replace(own, client_auth=ClientAuth.REQUIRED), nobody)


def test_a_trust_store_may_hold_single_certificates(directory: Path) -> None:
    """As in Java: what is in it is believed, whoever issued it, and nobody else whom its issuer knows."""
    own = settings(directory)
    only = replace(
        own, stores=replace(own.stores, truststore_location=str(directory / "broker.pem"))
    )
    assert believe_each_other(replace(only, client_auth=ClientAuth.REQUIRED), own)
    with pytest.raises(ConfigError, match="do not fit"):
        believe_each_other(
            replace(only, client_auth=ClientAuth.REQUIRED),
            settings(directory, "locked", key_password="sesame"),
        )


def test_versions_that_do_not_meet(directory: Path) -> None:
    own = settings(directory)
    with pytest.raises(ConfigError, match="do not fit"):
        believe_each_other(replace(own, versions=("TLSv1.3",)), replace(own, versions=("TLSv1.2",)))
    assert believe_each_other(replace(own, versions=("TLSv1.2",)), own)


@pytest.mark.parametrize(
    ("key", "changes", "sentence"),
    [
        ("missing", {}, r"ssl\.keystore\.location=.*missing\.pem|No such file"),
        ("locked", {}, "has an encrypted private key: ssl.key.password must open it"),
        ("locked", {"key_password": "wrong"}, "ssl.key.password does not open its private key"),
        ("mixed", {}, "its private key is not that of its first certificate"),
        ("binary", {}, "it is no text, so no PEM"),
        ("broken", {}, "the key store of listener SSL cannot be used"),
    ],
)
def test_what_cannot_be_used_is_said(
    directory: Path, key: str, changes: dict[str, str], sentence: str
) -> None:
    mark = "-----BEGIN CERTIFICATE-----"
    own, other = ((directory / f"{name}.pem").read_text() for name in ("broker", "other"))
    (directory / "mixed.pem").write_text(own.partition(mark)[0] + mark + other.partition(mark)[2])
    (directory / "binary.pem").write_bytes(b"\xfe\xed\xfe\xed\x00\x00")
    (directory / "broken.pem").write_text(
        own.partition(mark)[0] + mark + "\nAAAA\n-----END CERTIFICATE-----\n"
    )
    with pytest.raises(ConfigError, match=sentence) as caught:
        believe_each_other(settings(directory, key, **changes), settings(directory))
    assert "wrong" not in str(caught.value)


def test_an_unknown_suite_is_refused_though_others_are_known(directory: Path) -> None:
    """OpenSSL would leave it out."""
    own = replace(settings(directory), suites=("ECDHE-ECDSA-AES128-GCM-SHA256", "NOT-ONE"))
    with pytest.raises(ConfigError, match="OpenSSL has no NOT-ONE"):
        believe_each_other(own, settings(directory))


def test_a_file_that_is_written_again_is_stale(directory: Path) -> None:
    own = settings(directory, "other")
    stores = load_stores(own.stores)
    assert not stores.is_stale()
    path = directory / "other.pem"
    path.write_bytes(path.read_bytes())
    assert stores.is_stale()
