"""Serves the pages in this process until SIGTERM or Ctrl-C."""

from __future__ import annotations

import contextlib
import logging
import secrets
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, Final, NoReturn

import uvicorn

from millstream.console.application import PATHS, create_application
from millstream.console.cluster_reader import ClusterReader
from millstream.console.entrance.door import Door
from millstream.console.entrance.entrance import Entrance, Everybody
from millstream.console.entrance.logins import Logins
from millstream.console.entrance.users import ClusterUsers
from millstream.net.tls_contexts import load_stores, server_context
from millstream.runtime.system import SystemClock
from millstream.security.tls.stores import PEM, StoreSettings
from millstream.security.tls.tls_settings import TlsSettings
from millstream.streams.query_server.crowded_http import GivesWay
from millstream.streams.query_server.crowded_server import CrowdedServer

_CONNECTIONS_MAX: Final = 64
_SECRET_BYTES: Final = 32


class _Connection(GivesWay):
    connections_max = _CONNECTIONS_MAX


def serve(
    listening: socket.socket,
    settings: Mapping[str, Any],  # Any: the clients check the values
    timeout_ms: int,
    announce: Callable[[str], None],
    *,
    door: Door,
    tls: ssl.SSLContext | None = None,
) -> None:
    """Serves the console. `announce` gets the address of the pages, before the first is served.

    Raises ConfigError for `settings`.
    """
    host, port = listening.getsockname()[:2]
    config = uvicorn.Config(
        create_application(_entrance(door, settings, timeout_ms), door.allowed_hosts),
        log_level="warning",
        http=_Connection,
        ws="none",
        timeout_graceful_shutdown=2 * timeout_ms // 1000 + 1,
        server_header=False,
        proxy_headers=False,  # anybody on this machine could say in them that it is somebody else
    )
    server = CrowdedServer(config, _Connection, listening, tls)
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn stops on the signal, then raises it once more for the handler before: with the default action a clean
        # end would be a death by signal.
        signal.signal(number, _stop)
    shown = f"[{host}]" if ":" in host else host
    with contextlib.suppress(_Stopped), _told_on_the_terminal():
        announce(f"{'http' if tls is None else 'https'}://{shown}:{port}/")
        server.run()


@contextlib.contextmanager
def _told_on_the_terminal() -> Iterator[None]:
    """Shows the lines that say who logs in and what is changed, on standard error."""
    logger, handler = logging.getLogger("millstream.console"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


def tls_of(path: str) -> ssl.SSLContext:
    """Returns the TLS of the pages, from a PEM file with a private key and its certificates. Raises ConfigError."""
    stores = StoreSettings(keystore_type=PEM, keystore_location=path)
    return server_context(
        TlsSettings(listener="of the console", stores=stores), load_stores(stores)
    )


def _entrance(
    door: Door,
    settings: Mapping[str, Any],  # Any: as above
    timeout_ms: int,
) -> Entrance:
    if not door.asks_for_login:
        return Everybody(ClusterReader(settings, timeout_ms), SystemClock())

    def secret() -> str:
        return secrets.token_urlsafe(_SECRET_BYTES)

    return Logins(ClusterUsers(settings, timeout_ms), door, SystemClock(), secret, PATHS)


class _Stopped(BaseException):
    """A signal has asked to end: before the server was there, or after it has ended."""


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped
