"""Bearer tokens: the client's message, what a token says of itself, tokens without a signature."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.security.sasl_client import (
    OAuthBearerClient,
    OAuthBearerToken,
    PlainClient,
    expiry_ms,
    unsecured_token,
)


def test_plain_sends_name_and_password_and_expects_nothing() -> None:
    """RFC 4616."""
    machine = PlainClient("alice", "wönder")
    assert machine.first() == b"\0alice\0w\xc3\xb6nder"
    assert machine.answer(b"") is None


def test_the_token_and_its_extensions_are_sent() -> None:
    """RFC 7628, KIP-342."""
    machine = OAuthBearerClient(OAuthBearerToken("abc", 5, {"traceId": "1 2"}))
    assert machine.first() == b"n,,\x01auth=Bearer abc\x01traceId=1 2\x01\x01"
    assert machine.answer(b"") is None


def test_a_complaint_is_answered_so_that_the_refusal_can_come() -> None:
    machine = OAuthBearerClient(OAuthBearerToken("abc", 5))
    assert machine.answer(b'{"status":"invalid_token"}') == b"\x01"


def test_extensions_that_cannot_be_sent_are_refused() -> None:
    for extensions in ({"auth": "x"}, {"a1": "x"}, {"a": "x\x01"}, {"a": ""}):
        with pytest.raises(ConfigError):
            OAuthBearerToken("abc", 5, extensions)


def test_an_unsecured_token_is_a_jws_without_signature() -> None:
    token = unsecured_token({"sub": "alice"}, 9_000)
    assert token.value == "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6OX0."
    assert (token.expires_at_ms, expiry_ms(token.value)) == (9_000, 9_000)


@pytest.mark.parametrize("token", ["opaque", "a.b.c", "eyJhbGciOiJub25lIn0.e30."])
def test_a_token_that_does_not_say_when_it_expires(token: str) -> None:
    assert expiry_ms(token) is None


def test_a_token_is_in_no_repr() -> None:
    assert "abc" not in repr(OAuthBearerToken("abc", 5))
