"""Values as they are given to subcommands of `millstream cluster`: lists of broker ids, and files of Kafka's tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from millstream.errors import ConfigError

_BYTES_MAX: Final = 64 * 1024 * 1024
"""A plan for all replicas of the largest clusters (200,000 partitions) is a third of it; a device has no end."""


def broker_ids(text: str, option: str) -> list[int]:
    """Returns the ids of a list like 1,2,3. Raises BadParameter."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise click.BadParameter(f"{text!r} is not like 1,2,3", param_hint=option)
    ids = [int(part) for part in parts]
    if len(set(ids)) != len(ids):
        raise click.BadParameter(f"{text!r} names a broker more than once", param_hint=option)
    return ids


def file_text(file: str) -> str:
    """Returns what is in a file; in standard input for `-`. Raises ConfigError, OSError."""
    if file == "-":
        data = sys.stdin.buffer.read(_BYTES_MAX + 1)
    else:
        with Path(file).open("rb") as opened:
            data = opened.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise ConfigError(
            f"{file} is no file that somebody wrote: it has more than {_BYTES_MAX:,} bytes"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not text in UTF-8: {error}") from error
