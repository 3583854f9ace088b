"""`millstream certs dev DIR`: an authority, a node's and a client's certificate, and the settings that use them.

For trying TLS on one machine or a few: the authority's key lies beside what it has issued, and nothing is encrypted
with a password. Exits 0 when all files are written, 1 when one of them is there already or `cryptography` is missing.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from millstream.cli.suggestions import SuggestingGroup

_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_SERVER: Final = """\
# TLS for one node, with a certificate for {hosts}.
listeners=SSL://localhost:9092
inter.broker.listener.name=SSL
ssl.keystore.type=PEM
ssl.keystore.location={directory}/node.pem
ssl.truststore.type=PEM
ssl.truststore.location={directory}/authority.pem
# Clients must show a certificate of this authority; who they are is what the rule makes of its name: User:client
ssl.client.auth=required
ssl.principal.mapping.rules=RULE:^CN=([^,]+).*$/$1/,DEFAULT
"""
_CLIENT: Final = """\
bootstrap.servers=localhost:9092
security.protocol=SSL
ssl.keystore.type=PEM
ssl.keystore.location={directory}/client.pem
ssl.truststore.type=PEM
ssl.truststore.location={directory}/authority.pem
"""
_TOLD: Final = """\
{directory}: an authority, node.pem for {hosts}, client.pem, good for a year
  millstream server {directory}/server.properties
  millstream topics list --command-config {directory}/client.properties
For development only: the authority's key (authority.key.pem) lies beside them."""


@click.group(cls=SuggestingGroup, short_help="Make certificates to try TLS with.")
def certs() -> None:
    """Make certificates to try TLS with."""


@certs.command(short_help="An authority, a node's and a client's certificate.")
@click.argument("directory", type=click.Path(file_okay=False))
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another name or IP address of the node, beside localhost, 127.0.0.1 and ::1. May be repeated.",
)
def dev(directory: str, hosts: tuple[str, ...]) -> None:
    """Make an authority, a node's and a client's certificate in DIRECTORY, with a server.properties and a
    client.properties that use them.
    """
    from millstream.runtime.extras import MissingExtra, explain_missing

    try:
        with explain_missing("making certificates", "tls"):
            from millstream.cli.certs.issuing import DevelopmentAuthority
    except MissingExtra as missing:
        _fail(str(missing))
    path = Path(directory).absolute()
    names = tuple(dict.fromkeys((*_HOSTS, *hosts)))
    words = {"directory": path, "hosts": ", ".join(names)}
    try:
        authority = DevelopmentAuthority.new("Millstream development", dt.datetime.now(dt.UTC))
        _write_new(
            path,
            {
                "authority.pem": authority.certificate_pem,
                "authority.key.pem": authority.key_pem,
                "node.pem": authority.issue_node("node", names),
                "client.pem": authority.issue_client("client"),
                "server.properties": _SERVER.format(**words),
                "client.properties": _CLIENT.format(**words),
            },
        )
    except FileExistsError as error:
        _fail(f"{error.filename} is there already: give another directory, or remove it")
    except (OSError, ValueError) as error:
        _fail(str(error))
    click.echo(_TOLD.format(**words))


def _write_new(directory: Path, files: Mapping[str, str]) -> None:
    """Writes all files, readable by nobody else, or none. Raises FileExistsError where one is there already."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in files:
        if (directory / name).exists():
            raise FileExistsError(0, "", str(directory / name))
    for name, text in files.items():
        # Its mode counts from the first moment, whatever the umask is; and what somebody made meanwhile is not opened.
        descriptor = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)


def _fail(sentence: str) -> None:
    click.echo(f"millstream certs: {sentence}", err=True)
    sys.exit(1)
