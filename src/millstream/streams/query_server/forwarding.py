"""Asks the query server of another instance, in a thread beside the event loop.

The threads are its own: those of the event loop are needed for other work while an instance
that has died is waited for.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final, Protocol

from millstream.streams.host_info import HostInfo
from millstream.streams.query_server.problems import HostUnavailable

FORWARDED: Final = "Millstream-Forwarded"
"""The header of a question that another instance passes on: it is answered here or not at all."""
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""An answer lies in memory in both instances."""
THREADS_MAX: Final = 16
"""Questions that wait for other instances at a time: an instance that has died holds up each for its time-out."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The status and the JSON of another instance."""

    status: int
    body: bytes


class Forwarder(Protocol):
    def ask(self, host: HostInfo, path: str) -> Awaitable[Answer]:
        """Returns the answer of another instance. Raises HostUnavailable."""


class HttpForwarder:
    """Asks each time over a connection of its own.

    `token` is shown to the other instance; with `tls` it is asked over https.
    """

    def __init__(
        self,
        timeout_s: float = 5.0,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._tls = tls
        self._headers = {FORWARDED: "1", "Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._threads = ThreadPoolExecutor(THREADS_MAX, "query-forwarding")

    async def ask(self, host: HostInfo, path: str) -> Answer:
        """Returns the answer of a host. Raises HostUnavailable where it has none, or says that it cannot answer now."""
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._threads, self._ask, host, path)
        if answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise HostUnavailable(f"the instance at {host} cannot answer now: ask again")
        return answer

    def _ask(self, host: HostInfo, path: str) -> Answer:
        connection = self._connection(host)
        try:
            connection.request("GET", path, headers=self._headers)
            response = connection.getresponse()
            body = response.read(ANSWER_BYTES_MAX + 1)
        except (OSError, HTTPException) as error:
            raise HostUnavailable(
                f"the instance at {host} does not answer ({error!r}): ask again"
            ) from error
        finally:
            connection.close()
        if len(body) > ANSWER_BYTES_MAX:
            raise HostUnavailable(
                f"the answer of {host} has more than {ANSWER_BYTES_MAX:,} bytes: ask for fewer rows"
            )
        return Answer(response.status, body)

    def _connection(self, host: HostInfo) -> HTTPConnection:
        if self._tls is None:
            return HTTPConnection(host.host, host.port, timeout=self._timeout_s)
        return HTTPSConnection(host.host, host.port, timeout=self._timeout_s, context=self._tls)
