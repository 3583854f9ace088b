"""Names that the Tab key offers without asking a cluster: profiles, settings of clients and of topics."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from millstream.errors import MillstreamError

_PLAIN: Final = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._:/@%+=,-]*")
"""An option is no name, though a group may be called `--yes`; and zsh takes `=ls` for the path of a program."""

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def profile_names(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    import os

    from millstream.cli.profiles.files import profiles_of_user

    try:
        return offered(profiles_of_user(os.environ).names(), incomplete)
    except (MillstreamError, OSError):
        return []  # a message would stand in the middle of the line that is written


def client_settings(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from millstream.clients.properties_file import public_names

    return offered((f"{name.replace('_', '.')}=" for name in public_names()), incomplete)


def topic_config_changes(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from millstream.metadata.topic_config_table import TOPIC_CONFIGS

    return offered((f"{name}=" for name in TOPIC_CONFIGS), incomplete)


def offered(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Returns the names that begin so, and mean nothing else to a shell: clients choose ids of
    groups, and a line may be run unread.
    """
    from click.shell_completion import CompletionItem

    found = (name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name))
    return [CompletionItem(name) for name in sorted(found)]
