"""`millstream topics`: list, create, describe, delete."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

import click

EXIT_FAILED: Final = 1

_bootstrap = click.option(
    "--bootstrap-server",
    "-b",
    "bootstrap",
    default="localhost:9092",
    show_default=True,
    help="HOST:PORT[,HOST:PORT...]",
)


@click.group()
def topics() -> None:
    """List, create, describe and delete topics."""


@topics.command("list")
@_bootstrap
@click.option(
    "--include-internal", is_flag=True, help="Also topics that brokers keep for themselves."
)
def list_command(bootstrap: str, *, include_internal: bool) -> None:
    """One name a line."""
    from millstream.clients import blocking

    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        for name in admin.list_topics(include_internal=include_internal):
            click.echo(name)


@topics.command()
@_bootstrap
@click.argument("names", nargs=-1, required=True)
@click.option("--partitions", default=-1, help="Default: the broker's num.partitions.")
@click.option("--replication-factor", default=-1, help="Default: the broker's.")
@click.option("--config", "configs", multiple=True, metavar="KEY=VALUE", help="May be repeated.")
def create(
    bootstrap: str,
    names: tuple[str, ...],
    partitions: int,
    replication_factor: int,
    configs: tuple[str, ...],
) -> None:
    """Create topics."""
    from millstream.clients import NewTopic, blocking

    settings: dict[str, str | None] = {}
    for config in configs:
        key, separator, value = config.partition("=")
        if not separator:
            raise click.BadParameter(f"{config!r} is not KEY=VALUE", param_hint="--config")
        settings[key] = value
    new = [NewTopic(name, partitions, replication_factor, settings) for name in names]
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        _report(admin.create_topics(new).errors(), names, "created")


@topics.command()
@_bootstrap
@click.argument("names", nargs=-1, required=True)
def delete(bootstrap: str, names: tuple[str, ...]) -> None:
    """Delete topics and all their records."""
    from millstream.clients import blocking

    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        _report(admin.delete_topics(names).errors(), names, "deleted")


@topics.command()
@_bootstrap
@click.argument("names", nargs=-1, required=True)
def describe(bootstrap: str, names: tuple[str, ...]) -> None:
    """Partitions, leaders and replicas."""
    from millstream.clients import blocking
    from millstream.model import uuid_text

    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        results = admin.describe_topics(names)
    for name in names:
        if name in results.errors():
            continue
        topic = results.result(name)
        click.echo(f"{name}  id {uuid_text(topic.topic_id)}  {len(topic.partitions)} partitions")
        for partition in topic.partitions:
            replicas = ",".join(map(str, partition.replicas))
            isr = ",".join(map(str, partition.isr))
            click.echo(
                f"  {partition.partition}  leader {partition.leader}  replicas {replicas}  isr {isr}"
            )
    _report(results.errors(), (), "")


def _report(errors: Mapping[str, Exception], names: tuple[str, ...], done: str) -> None:
    for name in names:
        if name not in errors:
            click.echo(f"{name} {done}")
    for error in errors.values():
        click.echo(f"error: {error}", err=True)
    if errors:
        sys.exit(EXIT_FAILED)
