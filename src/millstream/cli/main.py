"""The `millstream` command: finds the module of a verb and runs it. Help must not import what verbs need."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from millstream.cli.completion import VARIABLE
from millstream.cli.suggestions import CLUSTER_OPTIONS, PROFILE_OPTION, SuggestingGroup
from millstream.cli.version import version_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Verb(NamedTuple):
    """One verb: `module` has a click command of the name `command`."""

    module: str
    command: str
    summary: str


VERBS: Final[Mapping[str, Verb]] = MappingProxyType(
    {
        "acls": Verb(
            "millstream.cli.security.acls", "acls", "List, add, remove and explain access rules."
        ),
        "certs": Verb(
            "millstream.cli.certs.command", "certs", "Make certificates to try TLS with."
        ),
        "cluster": Verb("millstream.cli.cluster.command", "cluster", "Start and show a cluster."),
        "completion": Verb(
            "millstream.cli.completion.command",
            "completion",
            "Have the Tab key complete names.",
        ),
        "consume": Verb("millstream.cli.consume", "consume", "Read records of topics."),
        "config": Verb("millstream.cli.config", "config", "Check and explain settings."),
        "configs": Verb(
            "millstream.cli.configs.command",
            "configs",
            "Get, set and explain settings of a cluster.",
        ),
        "console": Verb("millstream.cli.console", "console", "Serve the web console."),
        "copy": Verb("millstream.cli.copy.command", "copy", "Copy records of a topic to another."),
        "demo": Verb("millstream.cli.demo.command", "demo", "Run an example from end to end."),
        "dump": Verb("millstream.cli.dump.command", "dump", "Print the files of a log."),
        "groups": Verb(
            "millstream.cli.groups.command", "groups", "List, describe, reset and delete groups."
        ),
        "offsets": Verb(
            "millstream.cli.offsets", "offsets", "Show where partitions begin and end."
        ),
        "perf": Verb("millstream.cli.perf.command", "perf", "Measure a cluster."),
        "pipeline": Verb(
            "millstream.cli.pipeline", "pipeline", "Show and reset applications on Spark."
        ),
        "profile": Verb(
            "millstream.cli.profiles.command",
            "profile",
            "Keep addresses and logins under names.",
        ),
        "produce": Verb("millstream.cli.produce", "produce", "Write records to a topic."),
        "quotas": Verb(
            "millstream.cli.security.quotas", "quotas", "List, set and remove quotas of clients."
        ),
        "records": Verb("millstream.cli.records.command", "records", "Delete records of topics."),
        "registry": Verb(
            "millstream.cli.registry.command",
            "registry",
            "List, show, register, check and delete schemas.",
        ),
        "server": Verb("millstream.cli.server.command", "server", "Start a node."),
        "storage": Verb("millstream.cli.storage.command", "storage", "Format data directories."),
        "streams": Verb(
            "millstream.cli.streams", "streams", "Describe and draw topologies, reset applications."
        ),
        "tail": Verb("millstream.cli.tail", "tail", "Print the newest records of topics."),
        "tokens": Verb(
            "millstream.cli.security.tokens",
            "tokens",
            "List, create, renew and expire delegation tokens.",
        ),
        "top": Verb("millstream.cli.top.command", "top", "Show rates and lag, live."),
        "topics": Verb(
            "millstream.cli.topics", "topics", "List, create, describe, alter and delete topics."
        ),
        "transactions": Verb(
            "millstream.cli.transactions.command",
            "transactions",
            "List, describe and abort transactions.",
        ),
        "users": Verb(
            "millstream.cli.security.users", "users", "List, add and remove users and passwords."
        ),
        "verify": Verb(
            "millstream.cli.verify.command", "verify", "Check the files of a stopped node."
        ),
    }
)


_ARGUMENT_CHARACTERS_MAX: Final = 131_072
"""MAX_ARG_STRLEN of Linux."""
_LAST: Final = "millstream.last_argument"
"""Of a line that is being completed: options before the verb are the verb's, so click does not know
what is to come behind them."""


class _Verbs(SuggestingGroup):
    """A group that imports a verb's module when the verb is used, and not for the list of verbs."""

    def main(self, *args: Any, **extra: Any) -> Any:  # Any: click's own signature
        if VARIABLE in os.environ:
            import_module("millstream.cli.completion.shells")  # tells click of our bash
        # A number of thousands of digits that somebody types is refused by who finds it too large. Those in records keep
        # a limit: Python needs the square of their length.
        sys.set_int_max_str_digits(_ARGUMENT_CHARACTERS_MAX)
        open_closed_streams()
        try:
            return super().main(*args, **extra)
        except OSError as error:  # of help that is written to a full disk: verbs end their own
            from millstream.cli.command import fail

            fail(error)
        finally:
            forget_unwritten()

    def invoke(self, ctx: click.Context) -> Any:  # Any: click's own signature
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, RuntimeError) as error:
            # Verbs heed Ctrl-C themselves, but while they are imported: click would make "Aborted!" and 1 of it. Until
            # Python 3.12 it is the cause of a RuntimeError where a class was just being made.
            if isinstance(error, RuntimeError) and not isinstance(
                error.__cause__, KeyboardInterrupt
            ):
                raise
            from millstream.cli.command import INTERRUPTED

            ctx.exit(INTERRUPTED)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_LAST] = args[-1] if args else None
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        if ctx.meta.get(_LAST) in {PROFILE_OPTION, *CLUSTER_OPTIONS[3]}:
            from millstream.cli.completion.local_names import profile_names

            return profile_names(ctx, click.Option(CLUSTER_OPTIONS[3]), incomplete)
        verbs = [
            CompletionItem(name, help=verb.summary)
            for name, verb in VERBS.items()
            if name.startswith(incomplete)
        ]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the signature is click's
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        command = getattr(import_module(verb.module), verb.command)
        assert isinstance(command, click.Command), f"{verb.module}.{verb.command} is no command"
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the signature is click's
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


def open_closed_streams() -> None:
    """Opens nothing in place of a standard stream that is closed (`<&-`): it would be None, and its number that of the
    next file or connection.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open as long as the process
            setattr(sys, name, nothing)


def forget_unwritten() -> None:
    """Drops what a full disk did not take, of which an error has told: the interpreter would try again when it exits,
    complain, and end with a code of its own.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@version_option
def main() -> None:
    """Kafka and Kafka Streams in Python, with pipelines that run on Apache Spark."""


if __name__ == "__main__":
    main()
