"""Writes what the clients log while a verb runs to standard error: `warning: ...`, and `note: ...` for less."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

from millstream.cli.terminal import printable

_CLIENTS = "millstream.clients"


class _OnTerminal(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        word = "warning" if record.levelno >= logging.WARNING else "note"
        click.echo(f"{word}: {printable(record.getMessage())}", err=True)


@contextmanager
def client_log_on_terminal() -> Iterator[None]:
    """Without it Python would print warnings bare, and nothing of what is only worth knowing."""
    logger = logging.getLogger(_CLIENTS)
    handler, level = _OnTerminal(logging.INFO), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
