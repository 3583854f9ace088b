"""The options that say whom a subcommand asks, brokers or controllers; and nouns of which `describe` is the
verb where none is given.

millstream cluster quorum                 is    millstream cluster quorum describe
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Final, TypeVar

import click

from millstream.cli.cluster_options import ClusterOptions, Given, Settings, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.suggestions import behind_the_verb

if TYPE_CHECKING:
    from millstream.clients.blocking import Admin

Returned = TypeVar("Returned")
_DEFAULT_VERB: Final = "describe"
_HELP: Final = {"-h", "--help"}
_CONTROLLERS = click.option(
    "--bootstrap-controller",
    "--bootstrap-controllers",
    "controllers",
    metavar="HOST:PORT,...",
    help="Addresses of controllers, to be asked in place of brokers.",
)


@dataclass(frozen=True, slots=True)
class AskedNodes:
    """The nodes to ask: brokers, or controllers."""

    cluster: ClusterOptions
    controllers: str | None = None

    @property
    def asks_controllers(self) -> bool:
        return "bootstrap_controllers" in self._settings()

    def admin(self) -> Admin:
        """Raises ConfigError for a property that Admin does not have, UsageError where both brokers
        and controllers are named.
        """
        from millstream.clients.blocking import Admin

        return Admin(**self._settings())

    def _settings(self) -> Settings:
        from millstream.clients.config import AdminConfig

        settings = self.cluster.settings(AdminConfig, bootstrap_controllers=self.controllers)
        if "bootstrap_controllers" in settings:
            if self.cluster.bootstrap is not None:
                raise click.UsageError(
                    "give --bootstrap-server or --bootstrap-controller, not both"
                )
            del settings["bootstrap_servers"]  # it is the default: nobody has asked for it
        return settings


def whom_to_ask(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options; the command gets them as one AskedNodes, `asked`."""

    @wraps(command)
    def gathered(
        *arguments: Given, cluster: ClusterOptions, controllers: str | None, **options: Given
    ) -> Returned:
        return command(*arguments, asked=AskedNodes(cluster, controllers), **options)

    return cluster_options(_CONTROLLERS(gathered))


class DescribingGroup(ClientGroup):
    """Verbs of a noun, of which `describe` need not be said."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        args = behind_the_verb(args)
        if not _HELP & set(args) and (not args or args[0].startswith("-")):
            args = [_DEFAULT_VERB, *args]
        return super().parse_args(ctx, args)
