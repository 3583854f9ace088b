"""`millstream cluster`: starts several nodes on this machine; subcommands tell about a cluster.

The work is in the modules beside it.
"""

from __future__ import annotations

import sys
from typing import Final

import click
from click.core import ParameterSource

from millstream.cli.cluster.brokers import brokers
from millstream.cli.cluster.features import features
from millstream.cli.cluster.leader_elections import elect_leaders
from millstream.cli.cluster.log_dirs import log_dirs
from millstream.cli.cluster.quorum import quorum
from millstream.cli.cluster.ready import ready
from millstream.cli.cluster.reassignment.command import reassign
from millstream.cli.cluster.status import status
from millstream.cli.command import ClientGroup, fail

SUBCOMMANDS: Final[tuple[click.Command, ...]] = (
    status,
    ready,
    quorum,
    brokers,
    features,
    reassign,
    elect_leaders,
    log_dirs,
)


_START_OPTIONS = ("nodes", "data", "port", "roles", "secure", "overrides")


@click.group(
    cls=ClientGroup,
    invoke_without_command=True,
    short_help="Start a cluster on this machine.",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, 9),
    help="Number of brokers. Default: those of the cluster that --data holds, 3 for a new one.",
)
@click.option("--data", type=click.Path(file_okay=False), help="Directory of the cluster.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port of the first broker; the others have the ports after it, and controllers those after them. "
    "0: any free ports, which the cluster keeps. Default: those that it has, 9092 for a new one.",
)
@click.option(
    "--roles",
    type=click.Choice(["combined", "separate"]),
    help="combined: each node is broker and controller. separate: the controllers are nodes of their own, three for three brokers "
    "or more, else one. Default: combined.",
)
@click.option(
    "--secure",
    is_flag=True,
    help="With TLS, logins and access rules. The first start makes certificates, a user admin whose password it prints once, and a "
    "client.properties for it in the directory.",
)
@click.option(
    "--override",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set KEY to VALUE on all nodes. May be repeated.",
)
@click.pass_context
def cluster(
    context: click.Context,
    *,
    nodes: int | None,
    data: str | None,
    port: int | None,
    roles: str | None,
    secure: bool,
    overrides: tuple[str, ...],
) -> None:
    """Start a cluster of several nodes on this machine.

    An empty directory gets a new cluster. When all nodes are ready it prints the line "millstream ready
    bootstrap=HOST:PORT,... bootstrap_controller=HOST:PORT,... ...". SIGTERM and Ctrl-C stop brokers first and
    controllers last, a second one kills them. A node that dies is told of on standard error, and the others go on.
    """
    if context.invoked_subcommand is not None:
        if any(
            context.get_parameter_source(name) is ParameterSource.COMMANDLINE
            for name in _START_OPTIONS
        ):
            raise click.UsageError(
                f"options that start a cluster do not go with {context.invoked_subcommand}"
            )
        return
    if data is None:
        raise click.UsageError("Missing option '--data': the directory of the cluster.")
    from millstream.cli.cluster.layout import Roles
    from millstream.cli.cluster.start import StartOptions, run_cluster
    from millstream.errors import MillstreamError

    options = StartOptions(
        data=data,
        nodes=nodes,
        roles=None if roles is None else Roles(roles),
        port=port,
        secure=secure,
        overrides=overrides,
    )
    try:
        sys.exit(run_cluster(options))
    except (MillstreamError, OSError) as error:
        fail(error)


for _subcommand in SUBCOMMANDS:
    cluster.add_command(_subcommand)
