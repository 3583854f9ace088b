"""Principals are compared by type and name, as Kafka does, and travel in envelopes as Kafka writes them."""

from __future__ import annotations

import pytest

from millstream.errors import PrincipalDeserializationFailure
from millstream.security.principal import ANONYMOUS, KafkaPrincipal, parse_principal
from millstream.security.principal_data import decode_principal, encode_principal


def test_case_counts_and_how_somebody_logged_in_does_not() -> None:
    alice = KafkaPrincipal("User", "alice")
    assert alice == KafkaPrincipal("User", "alice", token_authenticated=True)
    assert alice not in {KafkaPrincipal("User", "Alice"), KafkaPrincipal("user", "alice")}
    assert (str(alice), str(ANONYMOUS)) == ("User:alice", "User:ANONYMOUS")


def test_a_name_may_hold_colons() -> None:
    assert parse_principal("User:CN=a:b") == KafkaPrincipal("User", "CN=a:b")
    with pytest.raises(ValueError, match="written as `Type:name`"):
        parse_principal("alice")


def test_an_envelope_holds_what_kafka_writes() -> None:
    """DefaultPrincipalData version 0: int16 version, compact strings, the flag, no tagged fields."""
    robot = KafkaPrincipal("User", "robot", token_authenticated=True)
    written = encode_principal(robot)
    assert written == b"\0\0" + b"\x05User" + b"\x06robot" + b"\x01" + b"\0"
    read = decode_principal(written)
    assert (read, read.token_authenticated) == (robot, True)
    assert not decode_principal(encode_principal(ANONYMOUS)).token_authenticated
    with pytest.raises(PrincipalDeserializationFailure):
        decode_principal(None)
