"""`millstream console`: the verb. The pages are in `millstream.console`, which is imported only when it runs.

Standard output has one line, printed when the console can be asked. Exit code 0 after a clean end, 1 when the port
cannot be had, 2 when it was used wrongly or its packages are missing.
"""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass
from typing import Final, NoReturn

import click

from millstream.cli.cluster_options import (
    ClusterOptions,
    Given,
    Settings,
    check_reachable,
    cluster_options,
)
from millstream.cli.command import ClientCommand
from millstream.cli.terminal import printable
from millstream.errors import ConfigError, KafkaError
from millstream.net.loopback import is_loopback

_DEFAULT_PORT: Final = 8080
_FIRST_LOOK_MS: Final = 1_000
"""The pages come up meanwhile no later than that."""


@click.command(cls=ClientCommand, short_help="Serve the web console.")
@cluster_options
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_DEFAULT_PORT,
    show_default=True,
    help="Port of the web pages. 0: any free port.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address of the web pages. One that other machines reach needs a login and TLS, or the options that do without.",
)
@click.option(
    "--admin",
    "admins",
    multiple=True,
    metavar="USER",
    help="User who may also create and delete, as far as the cluster lets it. May be repeated.",
)
@click.option(
    "--tls",
    "tls_file",
    type=click.Path(exists=True, dir_okay=False),
    help="PEM file with a private key and its certificates: the pages are https.",
)
@click.option(
    "--behind-tls",
    is_flag=True,
    help="A proxy in front of the console speaks TLS with browsers.",
)
@click.option(
    "--without-login",
    is_flag=True,
    help="Show everybody who reaches the address what the console's own user may see.",
)
@click.option(
    "--allowed-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name by which the pages may be asked for, such as that of a proxy. May be repeated.",
)
@click.option(
    "--timeout-ms",
    type=click.IntRange(100, 600_000),
    default=5_000,
    show_default=True,
    help="Time limit of one request to the cluster, in milliseconds.",
)
def console(
    *, cluster: ClusterOptions, port: int, host: str, timeout_ms: int, **entrance: Given
) -> None:
    """Show a cluster in the browser: brokers, topics, records, groups and their lag.

    Where the cluster has logins, users log in with their name and password there, and see what its
    access rules let them see.
    """
    from millstream.clients.config import ClientConfig
    from millstream.runtime.extras import missing_packages

    missing = missing_packages("console")
    if missing:
        _fail(f"{', '.join(missing)} not installed: pip install 'millstream[console]'", code=2)
    try:
        listening = _listen(host, port)
    except OSError as error:
        _fail(f"cannot listen on {host} port {port}: {error.strerror or error}", code=1)
    with listening:
        try:
            options = _EntranceOptions(host, **entrance)
            _serve(listening, cluster.settings(ClientConfig), timeout_ms, options)
        except ConfigError as error:
            _fail(str(error), code=2)


@dataclass(frozen=True, slots=True)
class _EntranceOptions:
    """Who may come in, as the options say."""

    host: str
    admins: tuple[str, ...]
    tls_file: str | None
    behind_tls: bool
    without_login: bool
    hosts: tuple[str, ...]


def _serve(
    listening: socket.socket, settings: Settings, timeout_ms: int, entrance: _EntranceOptions
) -> None:
    from millstream.clients.config import ClientConfig
    from millstream.clients.config.settings import parse_settings
    from millstream.console.entrance.door import DoorOptions, door_of
    from millstream.console.serving import serve, tls_of

    is_here = is_loopback(listening.getsockname()[0])
    options = DoorOptions(
        is_loopback=is_here,
        has_tls=entrance.tls_file is not None,
        is_behind_tls=entrance.behind_tls,
        lets_everybody_in=entrance.without_login,
        admins=frozenset(entrance.admins),
        hosts=(*entrance.hosts, entrance.host) if is_here else entrance.hosts,
    )
    door = door_of(options, parse_settings(ClientConfig, settings))
    tls = None if entrance.tls_file is None else tls_of(entrance.tls_file)

    def announce(url: str) -> None:
        click.echo(f"millstream console url={url} bootstrap={settings['bootstrap_servers']}")
        if not door.asks_for_login or "sasl_password" in settings or "sasl_jaas_config" in settings:
            _say_whether_reachable(settings)

    serve(listening, settings, timeout_ms, announce, door=door, tls=tls)


def _say_whether_reachable(settings: Settings) -> None:
    """The console is of use before the cluster is: it shows when that comes. But no one should have to guess."""
    try:
        check_reachable({**settings, "default_api_timeout_ms": _FIRST_LOOK_MS})
    except KafkaError as error:
        sentence = f"warning: the cluster cannot be reached now: {error}"
        click.echo(printable(sentence), err=True)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _fail(sentence: str, code: int) -> NoReturn:
    click.echo(f"millstream console: {sentence}", err=True)
    sys.exit(code)
