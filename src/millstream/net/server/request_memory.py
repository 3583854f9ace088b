"""Bounds the memory that unanswered requests take, and decides which connections have to wait when it is reached.

Only those wait who hold more than an equal share of it: a few clients that fill it slow down themselves, and
the others go on. Of those who wait in the middle of a request one at a time may complete it, so that they
cannot wait for each other.
"""

from __future__ import annotations

from typing import Protocol


class Holder(Protocol):
    """One connection."""

    def resume_reading(self) -> None: ...


class RequestMemory:
    """Counts bytes of requests that have arrived, whole or not, and are not answered yet."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._held: dict[Holder, int] = {}
        self._total = 0
        self._waiting: dict[Holder, bool] = {}
        """Who waits, and whether in the middle of a request."""
        self._completing: Holder | None = None

    @property
    def is_short(self) -> bool:
        return self._total >= self._bytes_max

    def change_limit(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._settle()

    def hold(self, holder: Holder, held_bytes: int, in_request: bool) -> None:
        """Notes the bytes that `holder` has from now on; `in_request`: the last of them are the start of a request."""
        self._total += held_bytes - self._held.pop(holder, 0)
        if held_bytes:
            self._held[holder] = held_bytes
        if holder is self._completing and not in_request:
            self._completing = None
        if self._waiting:
            self._settle()

    def must_wait(self, holder: Holder, in_request: bool) -> bool:
        """Whether `holder` may read no more for now; it is called back once it may."""
        held_bytes = self._held.get(holder, 0)
        if not self.is_short or held_bytes * len(self._held) <= self._bytes_max:
            return False
        if in_request and self._completing in (None, holder):
            self._completing = holder
            return False
        self._waiting[holder] = in_request
        return True

    def is_waiting(self, holder: Holder) -> bool:
        """Whether `holder` was told to read no more, and has not been called back."""
        return holder in self._waiting

    def forget(self, holder: Holder) -> None:
        """Forgets a connection that is gone, and the bytes it held."""
        self._waiting.pop(holder, None)
        self.hold(holder, 0, in_request=False)

    def _settle(self) -> None:
        if not self.is_short:
            resumed, self._waiting = self._waiting, {}
            for holder in resumed:
                holder.resume_reading()
        elif self._completing is None:
            self._completing = next(
                (holder for holder, inside in self._waiting.items() if inside), None
            )
            if self._completing is not None:
                del self._waiting[self._completing]
                self._completing.resume_reading()
