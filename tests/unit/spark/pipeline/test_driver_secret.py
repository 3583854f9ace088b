"""What a task host asks of a connection before it reads a message: the same user, and the secret."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from millstream.spark.pipeline import host_link, host_process
from millstream.spark.pipeline.driver_secret import SECRET_BYTES, name_of, secret_of_driver
from millstream.spark.pipeline.host_link import HostUnreachable, socket_of
from millstream.spark.pipeline.messages import Hello
from millstream.streams.runtime.process import encode

SECRET = b"s" * SECRET_BYTES


class Connection:
    """The writing half of one, and the socket below it, whose other end is a process of `uid`."""

    def __init__(self, uid: int) -> None:
        self._uid = uid
        self.sent = b""
        self.is_closed = False

    def get_extra_info(self, _name: str) -> Connection:
        return self

    def getsockopt(self, *_which: int) -> bytes:
        return pack("3i", 4711, self._uid, 0)

    def write(self, data: bytes) -> None:
        self.sent += data

    async def drain(self) -> None:
        """Has sent everything."""

    def close(self) -> None:
        self.is_closed = True


async def answered(sent: bytes, uid: int | None = None, *, ends: bool = True) -> Connection:
    """What is answered to who sends this."""
    reader = asyncio.StreamReader()
    reader.feed_data(sent)
    if ends:
        reader.feed_eof()
    writer: Any = Connection(os.getuid() if uid is None else uid)
    host: Any = None  # it is asked nothing
    await host_process._Connection(host, SECRET, reader, writer).serve()
    assert writer.is_closed
    found: Connection = writer
    return found


async def test_who_shows_the_secret_is_answered() -> None:
    assert (await answered(SECRET + encode(Hello()))).sent == encode(Hello())


@pytest.mark.parametrize(
    "shown", [b"", b"t" * SECRET_BYTES, SECRET[:-1], SECRET[:-1] + b"x", b"s" * 8 + bytes(24)]
)
async def test_who_does_not_is_not_even_read(shown: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_process, "decode", lambda _body: pytest.fail("it was unpickled"))
    assert (await answered(shown + encode(Hello()))).sent == b""


async def test_another_user_is_not_let_in_with_the_secret() -> None:
    assert (await answered(SECRET + encode(Hello()), uid=os.getuid() + 1)).sent == b""


async def test_who_takes_too_long_to_show_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_process, "SECRET_TIMEOUT_S", 0)
    assert (await answered(SECRET[:-1], ends=False)).sent == b""


def test_the_name_of_a_socket_is_that_of_the_secret_and_does_not_tell_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(host_link, "executor_pid", lambda: 1)
    mine, other = socket_of(0, SECRET), socket_of(0, bytes(SECRET_BYTES))
    assert mine != other
    assert mine.name == f"host-0-{name_of(SECRET)}.socket"
    assert SECRET.hex()[:8] not in mine.name


def test_a_driver_has_one_secret() -> None:
    assert secret_of_driver() is secret_of_driver()
    assert len(secret_of_driver()) == SECRET_BYTES


@pytest.mark.parametrize("kind", ["link", "file", "open"])
def test_a_directory_of_sockets_that_others_have_made_is_not_used(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link of another user may lead to a directory of ours: hosts would remove what is in it and called like a process that is gone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = tmp_path / f"millstream-{os.getuid()}"
    (tmp_path / "ours").mkdir(mode=0o700)
    if kind == "link":
        place.symlink_to(tmp_path / "ours")
    elif kind == "file":
        place.touch(mode=0o600)
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(HostUnreachable, match="others may enter"):
        socket_of(0, SECRET)
    assert list((tmp_path / "ours").iterdir()) == []
