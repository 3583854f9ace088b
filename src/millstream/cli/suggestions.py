"""Names the nearest name when one is not known: of a verb, an option or a property."""

from __future__ import annotations

import difflib
from collections.abc import Collection

import click


def or_near(name: str, known: Collection[str]) -> str:
    """Returns `; did you mean ...?` with the nearest known name, nothing where none is near."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


class SuggestingGroup(click.Group):
    """`topic list` is answered with "did you mean topics?"."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if near and not args[0].startswith("-"):
                raise click.UsageError(
                    f"No such command {args[0]!r}; did you mean {near[0]}?", ctx
                ) from error
            raise
