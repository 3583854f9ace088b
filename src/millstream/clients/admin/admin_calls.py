"""The client whose methods the calls of this package are, as far as they need it."""

from __future__ import annotations

from typing import Protocol

from millstream.clients.admin.driver import Driver
from millstream.clients.async_client import AsyncClient


class AdminCalls(AsyncClient, Protocol):
    """The admin client, as a call sees it."""

    _driver: Driver
    """Carries the call out."""
