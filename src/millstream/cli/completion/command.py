"""`millstream completion`: shows or installs what a shell runs when the Tab key is pressed."""

from __future__ import annotations

import os
from pathlib import Path

import click

from millstream.cli.command import ClientGroup
from millstream.cli.rows import dry_run_option

_SHELLS = ("bash", "zsh", "fish")
_shell = click.argument("shell", type=click.Choice(_SHELLS), required=False, metavar="[bash|zsh|fish]")  # fmt: skip


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
    from millstream.cli.completion.shells import install as write
    from millstream.cli.completion.shells import installation, script

    name = _named(shell)
    wanted = installation(name, Path.home(), os.environ)
    if dry_run:
        files = [wanted.file] if wanted.told_in is None else [wanted.file, wanted.told_in]
        click.echo(f"would write {' and '.join(map(str, files))}")
        return
    changed = write(wanted, script(context.find_root().command, name))
    told = " and ".join(map(str, changed)) if changed else "nothing: it was there already"
    click.echo(f"wrote {told}")
    click.echo(f"start a new {name} to have it", err=True)


def _named(shell: str | None) -> str:
    """Raises UsageError where nobody says which shell it is."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in _SHELLS:
        raise click.UsageError(f"say which shell: {', '.join(_SHELLS)}")
    return name
