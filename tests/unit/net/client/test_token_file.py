"""A token in a file: read at each login, and what is none is named with its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import SaslAuthenticationFailed
from millstream.net.client.core.credentials import FileToken
from millstream.net.client.token_file import read_token
from millstream.security.sasl_client import unsecured_token

EXPIRES_MS = 4_000_000_000_000
TOKEN = unsecured_token({"sub": "a"}, EXPIRES_MS).value


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "token"


def test_a_token_is_what_the_file_holds_without_its_line_ends(file: Path) -> None:
    file.write_text(f"\n{TOKEN}\n")
    read = read_token(FileToken(str(file), {"x": "y"}))
    assert (read.value, read.expires_at_ms, read.extensions) == (TOKEN, EXPIRES_MS, {"x": "y"})


def test_a_file_that_changed_is_read_again(file: Path) -> None:
    file.write_text(TOKEN)
    source = FileToken(str(file))
    read_token(source)
    later = unsecured_token({"sub": "b"}, EXPIRES_MS).value
    file.write_text(later)
    assert read_token(source).value == later


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "holds no JSON Web Token"),
        (b"a.b", "holds no JSON Web Token"),
        (b"a.b.c", "holds no JSON Web Token"),
        (b"MQ.MQ.c", "holds no JSON Web Token"),  # 1 is JSON, and no object
        (b"\xff\xfe", "holds no JSON Web Token"),
        (TOKEN.encode() + b"\nsecond line", "holds no JSON Web Token"),
        (b"e30.e30.c", "does not say when it expires"),
    ],
)
def test_what_is_no_token_is_named_with_its_file(file: Path, text: bytes, sentence: str) -> None:
    file.write_bytes(text)
    with pytest.raises(SaslAuthenticationFailed, match=sentence) as refused:
        read_token(FileToken(str(file)))
    assert str(file) in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SaslAuthenticationFailed, match="none: No such file or directory"):
        read_token(FileToken(str(tmp_path / "none")))
    with pytest.raises(SaslAuthenticationFailed, match=": Is a directory"):
        read_token(FileToken(str(tmp_path)))
