"""The client's side of SCRAM, with the examples of RFC 5802's successors and a server that lies."""

from __future__ import annotations

import pytest

from millstream.errors import SaslAuthenticationFailed
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import ScramMechanism

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)


def client(name: str = "user", *, token_auth: bool = False) -> ScramClient:
    return ScramClient(ScramMechanism.SCRAM_SHA_256, name, "pencil", NONCE, token_auth=token_auth)


def test_the_example_of_rfc_7677_is_reproduced() -> None:
    machine = client()
    assert machine.mechanism == "SCRAM-SHA-256"
    assert machine.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert machine.answer(SERVER_FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert machine.answer(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


def test_commas_and_equal_signs_in_names_are_escaped() -> None:
    assert client("a=b,c").first() == b"n,,n=a=3Db=2Cc,r=" + NONCE.encode()


def test_delegation_tokens_say_that_they_are_tokens() -> None:
    """KIP-48."""
    assert client(token_auth=True).first().endswith(b",tokenauth=true")


@pytest.mark.parametrize(
    ("challenge", "sentence"),
    [
        (b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce does not continue ours"),
        (b"r=" + NONCE.encode() + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "does not continue"),
        (SERVER_FIRST.replace(b"i=4096", b"i=4095"), "asks for 4095 iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=1000001"), "asks for 1000001 iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=x"), "asks for x iterations"),
        (SERVER_FIRST.replace(b"s=W", b"s=!"), "not base64"),
        (b"e=unknown-user", "refused: unknown-user"),
        (b"\xff", "not text"),
        (b"", "nonce does not continue"),
    ],
)
def test_a_first_message_that_cannot_be_trusted_is_refused(challenge: bytes, sentence: str) -> None:
    with pytest.raises(SaslAuthenticationFailed, match=sentence):
        client().answer(challenge)


@pytest.mark.parametrize(
    ("challenge", "sentence"),
    [
        (b"v=AAAA", "could not prove that it knows the password"),
        (b"", "could not prove that it knows the password"),
        (b"e=invalid-proof", "refused the proof: invalid-proof"),
    ],
)
def test_a_server_that_does_not_know_the_password_is_refused(
    challenge: bytes, sentence: str
) -> None:
    machine = client()
    machine.answer(SERVER_FIRST)
    with pytest.raises(SaslAuthenticationFailed, match=sentence):
        machine.answer(challenge)
