"""Keeps what a process writes from the other users of the machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

_OF_OTHERS: Final = 0o077


@contextlib.contextmanager
def private_files(*, are_wanted: bool) -> Iterator[None]:
    """Within it new files are 0600 and new directories 0700, if that is wanted. It is for a whole process, threads included.

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
