"""Makes the directories that state lies in: for their user and group alone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MODE: Final = 0o750
"""Kafka's: state is data, and no business of other users (KAFKA-10705)."""


def make_state_directory(path: Path, *, exist_ok: bool = True) -> None:
    """Makes a directory, and those above it that are missing (`parents=True` would make them for everybody).

    Raises OSError.
    """
    if not path.parent.exists():
        make_state_directory(path.parent)
    path.mkdir(mode=MODE, exist_ok=exist_ok)
