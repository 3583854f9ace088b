"""`millstream perf`: its commands."""

from __future__ import annotations

import click

from millstream.cli.command import ClientGroup
from millstream.cli.perf.consuming import consume
from millstream.cli.perf.latency import latency
from millstream.cli.perf.producing import produce


@click.group(cls=ClientGroup)
def perf() -> None:
    """Measure the speed of producing and consuming, and the latency from end to end."""


for _command in (produce, consume, latency):
    perf.add_command(_command)
