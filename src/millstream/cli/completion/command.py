"""`millstream completion`: shows or installs what a shell runs when the Tab key is pressed."""

from __future__ import annotations

import os
from pathlib import Path

import click

from millstream.cli.command import ClientGroup
from millstream.cli.completion.shells import SHELLS
from millstream.cli.rows import dry_run_option

_shell = click.argument("shell", type=click.Choice(SHELLS), required=False, metavar="[bash|zsh|fish]")  # fmt: skip


@click.group(cls=ClientGroup)
def completion() -> None:
    """Have the Tab key complete verbs, options, and the names of topics, groups, settings and profiles."""


@completion.command()
@_shell
@click.pass_context
def show(context: click.Context, shell: str | None) -> None:
    """Print what the shell is to run, such as for `source <(millstream completion show bash)`."""
    from millstream.cli.completion.shells import script

    click.echo(script(context.find_root().command, _named(shell)), nl=False)


@completion.command()
@_shell
@dry_run_option
@click.pass_context
def install(context: click.Context, shell: str | None, *, dry_run: bool) -> None:
    """Write what the shell is to run to where it looks for that. Without SHELL: for the one that you use."""
    from millstream.cli.completion.shells import changes, installation, script
    from millstream.cli.completion.shells import install as write

    name = _named(shell)
    wanted = installation(name, Path.home(), os.environ)
    text = script(context.find_root().command, name)
    changed = changes(wanted, text) if dry_run else write(wanted, text)
    told = " and ".join(map(str, changed)) if changed else "nothing: it was there already"
    click.echo(f"would write {told}" if dry_run else f"wrote {told}")
    if dry_run:
        return
    click.echo(f"start a new {name} to have it", err=True)


def _named(shell: str | None) -> str:
    """Raises UsageError where nobody says which shell it is."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise click.UsageError(f"say which shell: {', '.join(SHELLS)}")
    return name
