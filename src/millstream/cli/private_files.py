"""Keeps what a process writes from the other users of the machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_OF_OTHERS: Final = 0o077


@contextlib.contextmanager
def private_files(*, are_wanted: bool) -> Iterator[None]:
    """Within it new files are 0600 and new directories 0700, if that is wanted.

    It is for a whole process, threads included.

    The metadata log and its snapshots hold what passwords can be guessed from.
    """
    if not are_wanted:
        yield
        return
    before = os.umask(_OF_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def write_private(path: Path, text: str | bytes) -> None:
    """Writes a file that nobody else can read, whole or not at all, in the place of one that is there.

    What is there and no file, as /dev/stdout, is written to.
    """
    data = text.encode() if isinstance(text, str) else text
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    unfinished = path.with_name(f"{path.name}.tmp")
    unfinished.unlink(missing_ok=True)  # its mode would be kept
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
