"""Runs the steps of a shutdown one after the other: an error in one never keeps the others from running."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from millstream.errors import MillstreamError

_LOGGER = logging.getLogger(__name__)


class OrderedStop:
    """The steps of a shutdown. Errors are logged as they come; `raise_first` raises the first one at the end."""

    def __init__(self) -> None:
        self._first: Exception | None = None

    def take(self, step: str, act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - kept for `raise_first`; the next step comes in any case
            self._handle_failure(step, error)

    async def wait(self, step: str, act: Callable[[], Awaitable[object]]) -> None:
        try:
            await act()
        except Exception as error:  # noqa: BLE001 - kept for `raise_first`; the next step comes in any case
            self._handle_failure(step, error)

    def raise_first(self) -> None:
        if self._first is not None:
            raise self._first

    def _handle_failure(self, step: str, error: Exception) -> None:
        # What a disk or another node has done is said by the sentence; only what nobody expected needs its trace.
        is_told = isinstance(error, MillstreamError | OSError)
        _LOGGER.critical(
            "shutdown: %s failed: %s", step, error, exc_info=None if is_told else error
        )
        if self._first is None:
            self._first = error
