"""What answers in another protocol is named."""

from __future__ import annotations

import re

import pytest

from millstream.net.client.core.first_contact import early_end, unexpected_size


@pytest.mark.parametrize(
    ("first_bytes", "sentence"),
    [
        (b"\x15\x03\x03\x00", "answered in TLS"),
        (b"\x16\x03\x01\x02", "answered in TLS"),
        (b"HTTP", "is an HTTP server"),
        (b"\xff\xff\xff\xff", "announced a response of -1 bytes"),
        (b"\x7f\x00\x00\x00", "announced a response of 2130706432 bytes.* is 1024"),
    ],
)
def test_the_first_bytes_tell(first_bytes: bytes, sentence: str) -> None:
    size = int.from_bytes(first_bytes, "big", signed=True)
    assert re.search(sentence, unexpected_size(size, 1024))


@pytest.mark.parametrize(
    ("protocol", "answers", "sentence"),
    [
        ("PLAINTEXT", 0, "try security_protocol=SSL or SASL_SSL"),
        ("SASL_PLAINTEXT", 0, "try security_protocol=SASL_SSL"),
        ("SSL", 0, "may want a certificate of ours"),
        ("SSL", 0, "or one with a name that its ssl.principal.mapping.rules know"),
        ("PLAINTEXT", 1, "try security_protocol=SASL_PLAINTEXT"),
        ("SSL", 1, "try security_protocol=SASL_SSL"),
    ],
)
def test_an_early_end_tells(protocol: str, answers: int, sentence: str) -> None:
    assert sentence in early_end(protocol, answers)


def test_a_later_end_tells_nothing() -> None:
    assert early_end("PLAINTEXT", 2) == early_end("SASL_SSL", 1) == ""
