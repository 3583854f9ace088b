"""What a PEM store must have in it. Which settings go together is in tests/unit/broker/config/test_tls_settings.py."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.security.tls.stores import read_key_store, read_trust_store

KEY = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
ENCRYPTED = KEY.replace("PRIVATE", "ENCRYPTED PRIVATE")
OLD_ENCRYPTED = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n"
    "-----END RSA PRIVATE KEY-----\n"
)
OWN = "-----BEGIN CERTIFICATE-----\nAQ==\n-----END CERTIFICATE-----\n"
ISSUER = "-----BEGIN CERTIFICATE-----\nAg==\n-----END CERTIFICATE-----\n"
WHAT = "ssl.keystore.location=a.pem"


def test_key_and_chain_may_be_in_one_text_in_any_order_with_words_between() -> None:
    text = f"Bag Attributes\n  friendlyName: me\n{OWN}subject=CN=issuer\n{ISSUER}{KEY}"
    store = read_key_store(WHAT, text, text, None)
    assert store.chain == (b"\x01", b"\x02")
    assert store.pem == f"{KEY}{OWN}{ISSUER}"


def test_one_line_with_blanks_is_pem_too() -> None:
    """As a property file has it without its line ends."""
    text = (KEY + OWN).replace("\n", " ")
    store = read_key_store(WHAT, text, text, None)
    assert store.pem == KEY + OWN
    assert store.chain == (b"\x01",)


@pytest.mark.parametrize(
    ("text", "password", "sentence"),
    [
        (OWN, None, "has no private keys in PEM form where one is needed"),
        (KEY + KEY + OWN, None, "has 2 private keys"),
        (KEY, None, "has no certificate in PEM form"),
        ("", None, "has no private keys"),
        (ENCRYPTED + OWN, None, "has an encrypted private key: ssl.key.password must open it"),
        (OLD_ENCRYPTED + OWN, "", "has an encrypted private key"),
        (KEY + OWN.replace("AQ==", "A==="), None, "has a certificate that is damaged"),
    ],
)
def test_what_is_missing_is_said(text: str, password: str | None, sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"{WHAT} {sentence}"):
        read_key_store(WHAT, text, text, password)


def test_an_encrypted_key_is_kept_as_it_is() -> None:
    store = read_key_store(WHAT, ENCRYPTED, OWN, "sesame")
    assert store.pem.startswith(ENCRYPTED)
    assert "sesame" not in repr(store)
    assert "AAAA" not in repr(store)


def test_a_trust_store_is_its_certificates() -> None:
    assert read_trust_store("trust", f"words\n{OWN}{KEY}{ISSUER}") == OWN + ISSUER
    with pytest.raises(ConfigError, match="trust has no certificate"):
        read_trust_store("trust", KEY)
