"""`millstream storage`: formats the directories of a node and tells what they hold, with the options and
lines of `kafka-storage`.

Exit code 0 when it is done, 1 when it cannot be done or `info` finds a problem, 2 when it is used wrongly.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.command import ClientGroup
from millstream.cli.private_files import private_files

if TYPE_CHECKING:
    from millstream.broker.config.kraft_settings import KRaftSettings
    from millstream.cli.storage.formatting import NewCluster

_config_option = click.option(
    "-c",
    "--config",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Settings of the node: a server.properties, controller.properties or broker.properties. KAFKA_* of the environment count, too.",
)
_OLDEST: Final = "3.3-IV3"
_NEWEST: Final = "4.3-IV0"


@click.group(cls=ClientGroup, short_help="Format data directories.")
def storage() -> None:
    """Format the data directories of a node, and show what they hold.

    A single node formats an empty directory by itself when it starts. A node of a cluster does not: all nodes are
    formatted with one cluster id, and the controllers with the same first voters.
    """


@storage.command("format")
@_config_option
@click.option(
    "-t", "--cluster-id", required=True, help="Id of the cluster, the same for all nodes."
)
@click.option(
    "-S",
    "--add-scram",
    "scram",
    multiple=True,
    metavar="CREDENTIAL",
    help="A user of the new cluster, as 'SCRAM-SHA-256=[name=alice,password=alice-secret]' or "
    '\'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]\'. May be repeated.',
)
@click.option(
    "-g",
    "--ignore-formatted",
    is_flag=True,
    help="Leave directories that are formatted already, and format the others.",
)
@click.option(
    "-r",
    "--release-version",
    "release",
    metavar="VERSION",
    help=f"Release whose features the cluster begins with, {_OLDEST} to {_NEWEST}. Default: {_NEWEST}.",
)
@click.option(
    "-f",
    "--feature",
    "features",
    multiple=True,
    metavar="NAME=LEVEL",
    help="Level of one feature, such as group.version=0. May be repeated.",
)
@click.option(
    "-s",
    "--standalone",
    is_flag=True,
    help="Begin a dynamic quorum whose only voter is this node. controller.quorum.voters must not be set.",
)
@click.option(
    "-N",
    "--no-initial-controllers",
    is_flag=True,
    help="Format a node that joins a dynamic quorum later. controller.quorum.voters must not be set.",
)
@click.option(
    "-I",
    "--initial-controllers",
    metavar="VOTERS",
    help="Begin a dynamic quorum with these voters, as ID@HOST:PORT:DIRECTORY,...; the same for all nodes. DIRECTORY is an id from random-uuid.",
)
def format_command(
    config: str,
    *,
    cluster_id: str,
    scram: tuple[str, ...],
    ignore_formatted: bool,
    release: str | None,
    features: tuple[str, ...],
    standalone: bool,
    no_initial_controllers: bool,
    initial_controllers: str | None,
) -> None:
    """Format the data directories of a node."""
    if sum((standalone, no_initial_controllers, initial_controllers is not None)) > 1:
        raise click.UsageError(
            "give one of --standalone, --no-initial-controllers and --initial-controllers"
        )
    from millstream.cli.storage.formatting import FormatOptions, Formatter, new_cluster
    from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

    settings = _settings(config)
    options = FormatOptions(
        cluster_id=cluster_id,
        release=release,
        features=features,
        scram=scram,
        standalone=standalone,
        initial_controllers=initial_controllers,
        no_initial_controllers=no_initial_controllers,
        ignore_formatted=ignore_formatted,
    )
    random = SystemRandom()
    cluster = new_cluster(options, settings, random)
    formatter = Formatter(settings, SystemFileSystem(), SystemClock(), random)
    with private_files(are_wanted=bool(scram)):
        for line in formatter.format(options, cluster):
            click.echo(line)
    _warn_of_levels(cluster)


@storage.command(short_help="Show what the directories hold.")
@_config_option
def info(config: str) -> None:
    """Show the data directories of a node, and what is wrong with them."""
    from millstream.cli.storage.information import information
    from millstream.runtime.system import SystemFileSystem

    told = information(_settings(config).directories, SystemFileSystem())
    for line in told.lines():
        click.echo(line)
    if told.problems:
        sys.exit(1)


@storage.command("version-mapping", short_help="Show the features of a release.")
@click.option("-r", "--release-version", "release", metavar="VERSION", help=f"Default: {_NEWEST}.")
def version_mapping(release: str | None) -> None:
    """Show the level that each feature has in a new cluster of a release."""
    from millstream.cli.storage.feature_levels import release_levels

    for line in release_levels(release):
        click.echo(line)


@storage.command("feature-dependencies", short_help="Show what features need.")
@click.option(
    "-f",
    "--feature",
    "features",
    required=True,
    multiple=True,
    metavar="NAME=LEVEL",
    help="Level of a feature, such as group.version=1. May be repeated.",
)
def feature_dependencies(features: tuple[str, ...]) -> None:
    """Show which features must have which level before a feature can have one."""
    from millstream.cli.storage.feature_levels import needed_levels

    for line in needed_levels(features):
        click.echo(line)


@storage.command("random-uuid")
def random_uuid_command() -> None:
    """Make an id for a cluster or a directory."""
    from millstream.broker.storage.data_directory import random_uuid
    from millstream.model import uuid_text
    from millstream.runtime.system import SystemRandom

    click.echo(uuid_text(random_uuid(SystemRandom())))


def _settings(file: str) -> KRaftSettings:
    from millstream.broker.config.kraft_settings import kraft_settings
    from millstream.cli.server.settings import read_settings

    return kraft_settings(read_settings(file, ()).values)


def _warn_of_levels(cluster: NewCluster) -> None:
    from millstream.broker.cluster.features import SUPPORTED_FEATURES

    for name, level in cluster.levels.items():
        lowest, highest = SUPPORTED_FEATURES[name]
        if not lowest <= level <= highest:
            served = lowest if lowest == highest else f"{lowest} to {highest}"
            click.echo(
                f"warning: Kafka can run this cluster, and this version of Millstream cannot: it works at {name}={served}, not at {level}",
                err=True,
            )
