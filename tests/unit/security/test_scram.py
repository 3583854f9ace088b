"""Stored keys of SCRAM, with the example of RFC 7677 (SHA-256)."""

from __future__ import annotations

import base64
import hashlib
import hmac

from millstream.security.delegation_token import principal_parts, token_hmac
from millstream.security.scram import ScramMechanism, scram_keys


def test_keys_of_the_example_verify_its_proof_and_signature() -> None:
    """User "user", password "pencil", 4096 iterations: client proof and server signature are those of the RFC."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    keys = scram_keys(ScramMechanism.SCRAM_SHA_256, salted)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    message = (
        f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}"
    ).encode()
    signature = hmac.digest(keys.stored_key, message, "sha256")
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    assert hashlib.sha256(client_key).digest() == keys.stored_key
    server_signature = base64.b64encode(hmac.digest(keys.server_key, message, "sha256"))
    assert server_signature == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_keys_are_as_long_as_the_hash() -> None:
    keys = scram_keys(ScramMechanism.SCRAM_SHA_512, b"salted")
    assert (len(keys.stored_key), len(keys.server_key)) == (64, 64)


def test_a_token_has_the_same_secret_wherever_the_key_is_known() -> None:
    assert token_hmac("key", "id") == token_hmac("key", "id")
    assert token_hmac("key", "id") != token_hmac("other", "id")
    assert len(token_hmac("key", "id")) == 64


def test_a_name_may_hold_colons() -> None:
    assert principal_parts("User:a:b") == ("User", "a:b")
