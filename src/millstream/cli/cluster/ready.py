"""`millstream cluster ready`: whether one node is ready, by its own page.

For health checks of containers, and for units that wait for a node. It asks no listener of Kafka's protocol, so it
needs no login, and no address that the node gives to clients. Exit code 0 when the node is ready, 1 when it is not, 5
when it does not answer.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import click

from millstream.cli.command import FAILED, TIMED_OUT, ClientCommand
from millstream.cli.terminal import printable

if TYPE_CHECKING:
    from http.client import HTTPConnection

_DEFAULT_URL: Final = "http://127.0.0.1:9404"
_PAGE: Final = "/readyz"
_ANSWER_S: Final = 3
"""A loop that is stuck for so long serves nobody either."""
_PAUSE_S: Final = 0.2
"""A person who waits for a node takes that for at once."""
_ANSWER_BYTES_MAX: Final = 1_000_000
"""The page is a line for each reason; what sends more is no node."""


class _NoAnswer(Exception):
    """Nothing that is a node answers there."""


@click.command(cls=ClientCommand)
@click.argument("url", default=_DEFAULT_URL)
@click.option(
    "--wait-ms",
    type=click.IntRange(0, 3_600_000),
    default=0,
    show_default=True,
    help="How long a node that is not ready, or does not answer yet, is asked again, in milliseconds.",
)
def ready(url: str, *, wait_ms: int) -> None:
    """Say whether a node is ready, by the page that it has at its millstream.http.listener, whose
    address URL is: http://127.0.0.1:9404 if it is not given.

    Who is https must have a certificate of an authority that this machine knows, or that $SSL_CERT_FILE names.
    """
    connection = _connection(url)
    deadline_ns = time.monotonic_ns() + wait_ms * 1_000_000
    while True:
        code, sentence = _look(connection)
        if code == 0 or time.monotonic_ns() >= deadline_ns:
            break
        threading.Event().wait(_PAUSE_S)
    click.echo(printable(sentence), err=code != 0)
    sys.exit(code)


def _look(connection: HTTPConnection) -> tuple[int, str]:
    """Returns the exit code and the sentence of one look."""
    where = f"{connection.host}:{connection.port}"
    try:
        reasons = _reasons(connection)
    except _NoAnswer as error:
        return TIMED_OUT, f"no node answers at {where}: {error}"
    if reasons:
        return FAILED, f"the node at {where} is not ready: {'; '.join(reasons)}"
    return 0, "ready"


def _reasons(connection: HTTPConnection) -> list[str]:
    """Returns why the node is not ready, nothing when it is. Raises _NoAnswer."""
    from http.client import HTTPException

    try:
        connection.request("GET", _PAGE)
        answer = connection.getresponse()
        body = answer.read(_ANSWER_BYTES_MAX)
    except (OSError, HTTPException) as error:
        raise _NoAnswer(str(error) or type(error).__name__) from error
    finally:
        connection.close()
    if answer.status == HTTPStatus.OK:
        return []
    try:
        told = json.loads(body)["reasons"]
    except (ValueError, LookupError, TypeError):
        raise _NoAnswer(f"what answers has no {_PAGE} (status {answer.status})") from None
    return [str(reason) for reason in told]


def _connection(url: str) -> HTTPConnection:
    from http.client import HTTPConnection, HTTPSConnection

    try:
        asked = urlsplit(url)
        host, port = asked.hostname, asked.port
    except ValueError as error:
        raise click.BadParameter(f"{url!r}: {error}", param_hint="URL") from error
    if asked.scheme not in {"http", "https"} or not host or asked.path not in {"", "/", _PAGE}:
        raise click.BadParameter(
            f"{url!r} is not http://HOST:PORT, as millstream.http.listener is", param_hint="URL"
        )
    if asked.scheme == "https":
        return HTTPSConnection(host, port, timeout=_ANSWER_S)
    return HTTPConnection(host, port, timeout=_ANSWER_S)
