"""A group of commands that names the nearest one when a name is not known."""

from __future__ import annotations

import difflib

import click


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
