"""`millstream console`: serves the pages in this process until SIGTERM or Ctrl-C.

Standard output has one line, printed when the console can be asked. Exit code 0 after a clean end, 1 when the port
cannot be had, 2 when it was told something it cannot understand or its packages are missing.
"""

from __future__ import annotations

import ipaddress
import signal
import socket
import sys
from importlib.util import find_spec
from typing import Final, NoReturn

import click

from millstream.errors import ConfigError

_NEEDED: Final = ("starlette", "uvicorn", "jinja2")
_DEFAULT_PORT: Final = 8080
_CONNECTIONS_MAX: Final = 64
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1", "[::1]")


@click.command(short_help="Serve the web console.")
@click.option(
    "--bootstrap-servers",
    "-b",
    default="localhost:9092",
    show_default=True,
    help="HOST:PORT[,HOST:PORT...] of the cluster to show.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_DEFAULT_PORT,
    show_default=True,
    help="Port of the pages; 0: any free one.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address of the pages. There is no login: only open it to a network that may see all data.",
)
@click.option(
    "--timeout-ms",
    type=click.IntRange(100, 600_000),
    default=5_000,
    show_default=True,
    help="How long one question to the cluster may take.",
)
def console(bootstrap_servers: str, port: int, host: str, timeout_ms: int) -> None:
    """Show a cluster in the browser: brokers, topics, records, groups and their lag. Reads only."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        _fail(f"{', '.join(missing)} not installed: pip install 'millstream[console]'", code=2)
    try:
        listening = _listen(host, port)
    except OSError as error:
        _fail(f"cannot listen on {host} port {port}: {error.strerror or error}", code=1)
    with listening:
        try:
            _serve(listening, bootstrap_servers, timeout_ms)
        except ConfigError as error:
            _fail(str(error), code=2)


def _serve(listening: socket.socket, bootstrap_servers: str, timeout_ms: int) -> None:
    import uvicorn

    from millstream.console.application import ANY_HOST, create_application
    from millstream.console.cluster_reader import ClusterReader

    host, port = listening.getsockname()[:2]
    allowed_hosts = _LOOPBACK_NAMES if ipaddress.ip_address(host).is_loopback else ANY_HOST
    application = create_application(ClusterReader(bootstrap_servers, timeout_ms), allowed_hosts)
    server = uvicorn.Server(
        uvicorn.Config(
            application,
            log_level="warning",
            limit_concurrency=_CONNECTIONS_MAX,
            timeout_graceful_shutdown=2 * timeout_ms // 1000 + 1,
            server_header=False,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn stops on the signal, then raises it once more for whoever listened before: that is the default
        # action, and a clean end would be a death by signal.
        signal.signal(number, lambda *_: None)
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"millstream console url=http://{shown}:{port}/ bootstrap={bootstrap_servers}")
    server.run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _fail(sentence: str, code: int) -> NoReturn:
    click.echo(f"millstream console: {sentence}", err=True)
    sys.exit(code)
