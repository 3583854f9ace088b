"""The edge to a schema registry: JSON over HTTP from one thread of its own, so that no event loop waits for a socket.

Requests of a registry go one after another; what a request learns may answer those behind it. Owns connections,
time limits and retries; knows no schemas.
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

import orjson

from millstream.clients.serdes.registry.errors import (
    RegistryMoved,
    SchemaRegistryError,
    SchemaRegistryUnavailable,
    error_for_answer,
)
from millstream.clients.serdes.registry.exchange import NO_ANSWER, exchange, reason
from millstream.errors import ConfigError
from millstream.net.client.core.http_answer import HttpAnswer
from millstream.net.client.core.outages import Backoff
from millstream.quoting import shortened
from millstream.runtime.system import SystemRandom

T = TypeVar("T")

Auth = tuple[str, str] | str | Callable[[], str]
"""User and password, or a bearer token, or a function that gives one for each request."""

_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_RETRIED = {408, 429, 500, 502, 503, 504}
_PATH: Final = re.compile("[!-~]*")
_REDIRECTED: Final = range(300, 400)
_MESSAGE_CHARACTERS_MAX: Final = 2_000
"""A registry gives reasons of several lines; a page of another server's is no reason."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Each address is tried in turn, and all of them `retries` times more, with waits between."""

    timeout_ms: int = 10_000
    retries: int = 3
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 2_000


class _Address(NamedTuple):
    url: str
    secure: bool
    host: str
    port: int | None
    path: str
    login: str | None


class Transport:
    """Calls of one registry, which may have several addresses."""

    def __init__(
        self, urls: str | list[str], auth: Auth | None, tls: ssl.SSLContext | None, limits: Limits
    ) -> None:
        items = urls.split(",") if isinstance(urls, str) else urls
        self._urls = [item.strip() for item in items if item.strip()]
        self._addresses = [_address(url) for url in self._urls]
        if not self._addresses:
            raise ConfigError("name the schema registry's address, as in http://localhost:8081")
        self._auth = auth
        self._tls = tls
        self._limits = limits
        self._backoff = Backoff(limits.retry_backoff_ms, limits.retry_backoff_max_ms)
        self._random = SystemRandom()
        self._closing = threading.Event()
        self._thread = ThreadPoolExecutor(1, "schema-registry")

    def __str__(self) -> str:
        """The addresses, without the logins that they may have brought."""
        return ",".join(
            f"{'https' if each.secure else 'http'}://{each.host}"
            f"{'' if each.port is None else f':{each.port}'}{each.path}"
            for each in self._addresses
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled, it is what it was made from: in another process it has a thread of its own."""
        if self._tls is not None:
            raise TypeError(
                "a schema registry with an ssl_context cannot be sent to another process: leave it out, and let "
                "SSL_CERT_FILE name the certificates there"
            )
        return Transport, (self._urls, self._auth, None, self._limits)

    async def run(self, job: Callable[[], T]) -> T:
        """Run `job` in the thread, after those that came before; it may use `call`."""
        if self._closing.is_set():
            raise SchemaRegistryUnavailable("the schema registry was closed", status=0, code=0)
        return await asyncio.wrap_future(self._thread.submit(job))

    def close(self) -> None:
        """Waits are cut short and calls not begun are cancelled; nothing can be called any more."""
        self._closing.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def call(self, method: str, path: str, body: object = None) -> Any:  # Any: what the JSON holds
        """Calls the registry, in the thread. Returns the answer's JSON; raises SchemaRegistryError."""
        reasons: list[str] = []
        for attempt in range(self._limits.retries + 1):
            if attempt and self._closing.wait(self._backoff.delay_ms(attempt, self._random) / 1000):
                break
            for address in self._addresses:
                shown = shortened(address.url)
                try:
                    answer = self._ask(address, method, path, body)
                except NO_ANSWER as error:
                    reasons.append(f"{shown}: {reason(error)}")
                    continue
                if answer.status in _RETRIED:
                    reasons.append(f"{shown}: {_failure(answer)}")
                    continue
                return _judged(method, path, answer)
        told = "; ".join(dict.fromkeys(reasons))
        raise SchemaRegistryUnavailable(
            f"{method} {shortened(path)} had no answer: {told}", status=0, code=0
        )

    def _ask(self, address: _Address, method: str, path: str, question: object) -> HttpAnswer:
        timeout = self._limits.timeout_ms / 1000
        connection: HTTPConnection
        if address.secure:
            tls = self._tls or ssl.create_default_context()
            connection = HTTPSConnection(address.host, address.port, timeout=timeout, context=tls)
        else:
            connection = HTTPConnection(address.host, address.port, timeout=timeout)
        headers = {"Accept": _MEDIA_TYPE, "Connection": "close"} | self._login(address)
        data = None
        if question is not None:
            data = orjson.dumps(question)
            headers["Content-Type"] = _MEDIA_TYPE
        asked = address.path + path
        return exchange(
            connection, method, asked, data, headers, timeout_ms=self._limits.timeout_ms
        )

    def _login(self, address: _Address) -> dict[str, str]:
        if self._auth is None:
            return {} if address.login is None else {"Authorization": address.login}
        if isinstance(self._auth, tuple):
            return {"Authorization": _basic(*self._auth)}
        token = self._auth if isinstance(self._auth, str) else self._auth()
        if not (token and token.isascii() and token.isprintable()):
            raise ConfigError(
                "the bearer token for the schema registry is none: write it in ASCII, on one line"
            )
        return {"Authorization": f"Bearer {token}"}


def _address(url: str) -> _Address:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:  # brackets without an IPv6 address, a port that is none
        raise _no_address(url) from error
    if parts.scheme not in {"http", "https"} or not host or not _PATH.fullmatch(parts.path):
        raise _no_address(url)
    login = None
    if parts.username is not None:
        login = _basic(unquote(parts.username), unquote(parts.password or ""))
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return _Address(shown, parts.scheme == "https", host, port, parts.path.rstrip("/"), login)


def _no_address(url: str) -> ConfigError:
    """Returns the refusal of an address, without the login that it may have."""
    shown = shortened(url.rpartition("@")[2])
    return ConfigError(f"{shown!r} is not the address of a schema registry; write http://host:8081")


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def _judged(method: str, path: str, answer: HttpAnswer) -> Any:  # Any: what the JSON holds
    asked, status = f"{method} {shortened(path)}", answer.status
    if status in _REDIRECTED:
        where = shortened((answer.location or "it does not say where").rpartition("@")[2])
        raise RegistryMoved(
            f"{asked}: the caller is sent elsewhere: {where}", status=status, code=status
        )
    if status >= 300:
        raise error_for_answer(f"{asked}: {_failure(answer)}", status, _code(answer))
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise SchemaRegistryError(
            f"{asked} was answered with something that is not JSON; is this a schema registry?",
            status=status, code=status,
        ) from error  # fmt: skip


def _error_members(answer: bytes) -> dict[str, Any]:  # Any: what the JSON holds
    try:
        members = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return {}
    return members if isinstance(members, dict) else {}


def _failure(answer: HttpAnswer) -> str:
    told = _error_members(answer.body).get("message", f"HTTP status {answer.status}")
    return shortened(str(told), _MESSAGE_CHARACTERS_MAX)


def _code(answer: HttpAnswer) -> int:
    code = _error_members(answer.body).get("error_code")
    return code if isinstance(code, int) else answer.status
