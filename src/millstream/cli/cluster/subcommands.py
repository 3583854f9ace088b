"""The subcommands of `millstream cluster` that ask a cluster."""

from __future__ import annotations

from typing import Final

import click

from millstream.cli.cluster.brokers import brokers
from millstream.cli.cluster.features import features
from millstream.cli.cluster.leader_elections import elect_leaders
from millstream.cli.cluster.log_dirs import log_dirs
from millstream.cli.cluster.quorum import quorum
from millstream.cli.cluster.ready import ready
from millstream.cli.cluster.reassignment.command import reassign
from millstream.cli.cluster.status import status

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
