"""`millstream registry config`: what new schemas must be compatible with, of a subject or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from millstream.cli.command import ClientGroup
from millstream.cli.registry.asking import ask_registry, registry_options, subject_argument
from millstream.cli.rows import dry_run_option, output_option, print_rows

if TYPE_CHECKING:
    from millstream.cli.registry.address import RegistryAddress
    from millstream.clients.serdes.registry import SchemaRegistry

_LEVELS: Final = (
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
    "NONE",
)
_COLUMNS: Final = ("subject", "compatibility", "result")
_some_subject = subject_argument(required=False)


@click.group(cls=ClientGroup)
def config() -> None:
    """Get and set what new schemas must be compatible with: of a SUBJECT, or of all that have no level of their own."""


@config.command()
@registry_options
@output_option
@_some_subject
def get(subject: str | None, *, at: RegistryAddress, output: str) -> None:
    """Show the level that counts for SUBJECT, or the one of all."""
    level = ask_registry(at, lambda registry: registry.compatibility_level(subject))
    print_rows([{"subject": subject or "(all)", "compatibility": level}], output, _COLUMNS[:2])


@config.command("set")
@registry_options
@output_option
@dry_run_option
@click.argument("level", type=click.Choice(_LEVELS, case_sensitive=False))
@_some_subject
def set_command(
    level: str, subject: str | None, *, at: RegistryAddress, output: str, dry_run: bool
) -> None:  # fmt: skip
    """Set the level of SUBJECT, or of all that have none of their own."""

    async def ask(registry: SchemaRegistry) -> str:
        before = await registry.compatibility_level(subject)
        if not dry_run:
            await registry.set_compatibility_level(level, subject)
        return before

    before = ask_registry(at, ask)
    done = "would be set" if dry_run else "set"
    row = {"subject": subject or "(all)", "compatibility": level, "result": done, "before": before}
    print_rows([row], output, _COLUMNS)


@config.command()
@registry_options
@output_option
@dry_run_option
@subject_argument()
def unset(subject: str, *, at: RegistryAddress, output: str, dry_run: bool) -> None:  # fmt: skip
    """Take the level of SUBJECT away, so that the one of all counts."""

    async def ask(registry: SchemaRegistry) -> str:
        if not dry_run:
            await registry.remove_compatibility_level(subject)
        return await registry.compatibility_level(None if dry_run else subject)

    level = ask_registry(at, ask)
    result = "would count" if dry_run else "counts"
    print_rows([{"subject": subject, "compatibility": level, "result": result}], output, _COLUMNS)
