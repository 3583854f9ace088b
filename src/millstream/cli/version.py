"""`--version`: which release this is, and whether it runs interpreted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from millstream import __version__

_Function = TypeVar("_Function", bound=Callable[..., object])  # `...`: whatever a command takes


def version_option(function: _Function) -> _Function:
    """Returns the option, as a decorator of a command."""
    return click.option(
        "--version",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Show the version and exit.",
    )(function)


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from millstream.runtime.native import interpreted_note

    click.echo(f"millstream, version {__version__}")
    note = interpreted_note()
    if note is not None:
        click.echo(note)
    context.exit()
