"""Options of `millstream groups` that name groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from millstream.cli.completion.names import group_names
from millstream.cli.rows import named

if TYPE_CHECKING:
    from millstream.clients.blocking import Admin

group_argument = click.argument("names", nargs=-1, metavar="[GROUP]...", shell_complete=group_names)
group_option = click.option(
    "--group", "-G", "more", multiple=True, help="Same as the argument.", shell_complete=group_names
)
all_groups_option = click.option("--all-groups", is_flag=True, help="All groups of the cluster.")


def wanted_groups(
    admin: Admin, names: Sequence[str], more: Sequence[str], *, all_groups: bool
) -> list[str]:
    if all_groups:
        return [each.group_id for each in admin.list_groups()]
    return named(names, more, "GROUP")
