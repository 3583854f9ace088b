"""Names the nearest name when one is not known: of a verb, an option or a property."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Final

import click


def or_near(name: str, known: Collection[str]) -> str:
    """Returns `; did you mean ...?` with the nearest known name, nothing where none is near."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


CLUSTER_OPTIONS: Final = (
    ("--bootstrap-server", "--bootstrap-servers", "--brokers", "-b"),
    ("--config-file", "--command-config", "--consumer.config", "--producer.config", "-F"),
    ("--client-property", "--command-property", "--consumer-property", "--producer-property", "-X"),
    ("--profile",),
)
"""Names of the options of every verb that talks to a cluster: where it is, a file of settings, one setting, a
profile."""
CONFIG_OPTION: Final = "--config"
PROFILE_OPTION: Final = "-p"
"""Names of the second and the fourth one, where the verb has no other option of these names."""
_OF_ALL_VERBS: Final = {"-h", "--help", "--version"}
_HOISTED: Final = (
    *(name for names in CLUSTER_OPTIONS for name in names),
    CONFIG_OPTION,
    PROFILE_OPTION,
)


class SuggestingGroup(click.Group):
    """`topic list` is answered with "did you mean topics?". Options of the cluster may stand before the verb."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        verb_at = _end_of_options(args)
        if verb_at and verb_at >= len(args) and not ctx.resilient_parsing:
            raise click.UsageError(f"a verb is missing: {ctx.command_path} -b HOST:PORT VERB", ctx)
        return super().parse_args(ctx, behind_the_verb(args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0] == "help":
                raise click.UsageError(f"write {ctx.command_path} VERB --help", ctx) from error
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if near and not args[0].startswith("-"):
                raise click.UsageError(
                    f"No such command {args[0]!r}; did you mean {near[0]}?", ctx
                ) from error
            raise


def behind_the_verb(args: list[str]) -> list[str]:
    """Moves options of the cluster that stand before the verb behind it: `-b host:1 topics
    list` is `topics -b host:1 list`.
    """
    at = _end_of_options(args)
    if not 0 < at < len(args) or (args[at].startswith("-") and args[at] not in _OF_ALL_VERBS):
        return args
    return [args[at], *map(_as_everywhere, args[:at]), *args[at + 1 :]]


def _end_of_options(args: list[str]) -> int:
    """Returns where the options of the cluster end that stand in front."""
    at = 0
    while at < len(args) and (width := _width(args[at])):
        at += width
    return at


def _as_everywhere(argument: str) -> str:
    """Returns the name of an option that it has with every verb."""
    option, equals, value = argument.partition("=")
    if option == CONFIG_OPTION:
        return f"{CLUSTER_OPTIONS[1][1]}{equals}{value}"
    if argument == PROFILE_OPTION:
        return CLUSTER_OPTIONS[3][0]
    if _is_short(argument, PROFILE_OPTION):
        return f"{CLUSTER_OPTIONS[3][0]}={argument[2:]}"
    return argument


def _width(argument: str) -> int:
    """The number of arguments that an option of the cluster takes up; 0 for anything else."""
    if argument in _HOISTED:
        return 2
    long = argument.partition("=")[0]
    is_joined = any(_is_short(argument, short) for short in ("-b", "-F", "-X", PROFILE_OPTION))
    return int(is_joined or (long in _HOISTED and long != argument))


def _is_short(argument: str, option: str) -> bool:
    """Whether an argument is a short option with its value behind it: `-bhost:1`."""
    return argument.startswith(option) and argument != option
