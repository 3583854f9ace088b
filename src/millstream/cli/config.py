"""`millstream config`: checks a server.properties, and explains settings, without starting anything.

`check FILE` exits 0 when a node would start with it, 1 when not. `explain KEY [FILE]` tells the value, where it comes
from, and what the setting does; it exits 3 for an unknown key.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.suggestions import SuggestingGroup
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.broker.config.broker_config import BrokerConfig

_NOT_FOUND: Final = 3
_FILE = click.Path(exists=True, dir_okay=False)
_OVERRIDE = click.option(
    "--override",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set KEY to VALUE. It wins over FILE and the environment. May be repeated.",
)


@click.group(cls=SuggestingGroup, short_help="Check and explain settings.")
def config() -> None:
    """Check and explain the settings of a node.

    Variables KAFKA_* of the environment are read as a server reads them.
    """


@config.command(short_help="Check whether a node would start with a file.")
@click.argument("file", type=_FILE)
@_OVERRIDE
def check(file: str, overrides: tuple[str, ...]) -> None:
    """Check whether a node would start with FILE, and list settings that have no effect."""
    from millstream.broker.config.broker_config import broker_config, reason_without_effect
    from millstream.cli.server.settings import read_settings
    from millstream.errors import ConfigError

    try:
        gathered = read_settings(file, overrides)
        _read_stores(broker_config(gathered.values))
    except (ConfigError, OSError) as error:
        click.echo(f"{file}: {error}", err=True)
        sys.exit(1)
    reasons = {name: reason_without_effect(name) for name in sorted(gathered.given)}
    for name, reason in reasons.items():
        if reason is not None:
            click.echo(f"{name} has no effect: {reason}")
    for variable in gathered.not_understood:
        click.echo(f"{variable} of the environment is not a setting")
    count = sum(reason is None for reason in reasons.values())
    click.echo(f"{file}: ok, {counted(count, 'setting')}")


def _read_stores(config: BrokerConfig) -> None:
    """Reads keys and certificates as a node does at its start. Raises ConfigError."""
    if config.protection.tls:
        from millstream.broker.config.standing_alone import stands_alone
        from millstream.broker.tls.node_tls import NodeTls

        own = [each.name for each in (*config.listeners, *config.controller_listeners)]
        NodeTls(config.protection, own, stands_alone=stands_alone(config.settings))


@config.command(short_help="Show the value of a setting, where it comes from and what it does.")
@click.argument("key")
@click.argument("file", type=_FILE, required=False)
@_OVERRIDE
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="Format of the output."
)
def explain(key: str, file: str | None, overrides: tuple[str, ...], output: str) -> None:
    """Show the value of KEY, where it comes from and what it does. FILE is a server.properties."""
    from millstream.broker.config.explanation import explanation, nearest
    from millstream.cli.server.settings import read_settings
    from millstream.errors import ConfigError

    try:
        explained = explanation(key, read_settings(file, overrides))
    except (ConfigError, OSError) as error:
        click.echo(f"millstream config: {error}", err=True)
        sys.exit(1)
    if explained is None:
        near = nearest(key)
        hint = "" if near is None else f"; did you mean {near}?"
        click.echo(f"millstream config: there is no setting {key}{hint}", err=True)
        sys.exit(_NOT_FOUND)
    if output == "json":
        click.echo(json.dumps(explained))
        return
    width = max(map(len, explained)) + 2
    for name, value in explained.items():
        click.echo(f"{name:{width}}{'' if value is None else value}")
