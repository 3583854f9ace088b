"""Fetches the public keys of token issuers, at the start, every so often, and when a token names
one that is not known yet.

Logins never wait for a fetch: who comes with an unknown key is refused, and finds it known a moment later. Keys that
were fetched stay while the issuer cannot be reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import logging
import ssl
import urllib.parse
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from millstream.broker.config.sasl_settings import BearerSettings
from millstream.broker.login.jwt_validation import IssuerKey, read_keys
from millstream.net.client.web_request import ANSWER_BYTES_MAX, WebRequest, ask
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_CONNECT_MS: Final = 5_000
"""Ours."""
_ANSWER_MS: Final = 10_000
"""Ours, for the whole document."""
_AGAIN_MS: Final = 60_000
"""The least time between two fetches that one key id causes (Kafka's)."""
_REMEMBERED_MAX: Final = 16
"""Key ids whose last fetch is remembered (Kafka's)."""
_UNASKED_MS_MIN: Final = 10_000
"""The least time between two fetches that unknown key ids cause, whatever ids they are: anybody can invent them."""


class MissedKeys:
    """Decides which unknown key ids are worth a fetch. Times are monotonic milliseconds."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, int] = OrderedDict()
        self._last_ms: int | None = None

    def is_worth_a_fetch(self, key_id: str, now_ms: int) -> bool:
        asked_ms = self._asked.get(key_id)
        if asked_ms is not None and now_ms - asked_ms < _AGAIN_MS:
            return False
        if self._last_ms is not None and now_ms - self._last_ms < _UNASKED_MS_MIN:
            return False
        self._asked[key_id] = self._last_ms = now_ms
        self._asked.move_to_end(key_id)
        while len(self._asked) > _REMEMBERED_MAX:
            self._asked.popitem(last=False)
        return True


class FetchedKeys:
    """Implements `jwt_validation.IssuerKeys` for one URL. Made on the node's loop."""

    def __init__(
        self,
        settings: BearerSettings,
        clock: Clock,
        fetch: Callable[[str], Awaitable[bytes]] | None = None,
    ) -> None:
        """Without `fetch`: `fetch_document`."""
        self._settings = settings
        self._clock = clock
        self._fetch = fetch or fetch_document
        self._loop = asyncio.get_running_loop()
        self._keys: dict[str, IssuerKey] = {}
        self._missed = MissedKeys()
        self._wanted = asyncio.Event()

    def find(self, key_id: str) -> IssuerKey | None:
        """Called in a thread, which reads a mapping that is replaced as a whole and never changed."""
        key = self._keys.get(key_id)
        if key is None:
            # The loop may be closed by now: then nobody waits for the key either.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._note_missed, key_id)
        return key

    async def run(self) -> None:
        """Keeps the keys fresh until it is cancelled."""
        while True:
            await self._fetch_until_it_succeeds()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._settings.refresh_ms / 1000):
                    await self._wanted.wait()
            self._wanted.clear()

    def _note_missed(self, key_id: str) -> None:
        if self._missed.is_worth_a_fetch(key_id, self._clock.now().monotonic_ms):
            self._wanted.set()

    async def _fetch_until_it_succeeds(self) -> None:
        wait_ms = max(1, self._settings.retry_backoff_ms)
        while True:
            try:
                document = await self._fetch(self._settings.jwks_url)
                # In a thread: the largest document has keys that take a quarter of a second to read.
                self._keys = await asyncio.to_thread(read_keys, document)
            except (OSError, http.client.HTTPException, ValueError) as error:
                _LOGGER.warning(
                    "the keys of token issuers at %s could not be fetched: %s; %d of before are used",
                    self._settings.jwks_url, str(error) or type(error).__name__, len(self._keys),
                )  # fmt: skip
            else:
                _LOGGER.info(
                    "%d keys of token issuers are at %s", len(self._keys), self._settings.jwks_url
                )
                return
            await asyncio.sleep(wait_ms / 1000)
            wait_ms = min(2 * wait_ms, self._settings.retry_backoff_max_ms)


async def fetch_document(url: str) -> bytes:
    """Reads a document at an https:// or file:/// URL. Raises OSError, HTTPException, ValueError."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file":
        return await asyncio.to_thread(_read, Path(urllib.parse.unquote(parts.path)))
    if parts.scheme != "https":
        raise ValueError(f"it is no https:// or file:/// URL but one with {parts.scheme}")
    tls = ssl.create_default_context()
    request = WebRequest("GET", parts, {"Accept": "application/json"}, None, tls)
    status, document = await ask(request, _CONNECT_MS, _ANSWER_MS)
    if status != http.client.OK:
        raise ValueError(f"status {status}")
    return document


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        document = file.read(ANSWER_BYTES_MAX + 1)
    if len(document) > ANSWER_BYTES_MAX:
        raise ValueError(f"it has more than {ANSWER_BYTES_MAX} bytes")
    return document
