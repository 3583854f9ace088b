"""Charges one request with the changes of metadata that it makes (KIP-599).

Nothing is taken from the bucket before the request has been planned for good: a plan may be made again.
"""

from __future__ import annotations

from typing import final

from millstream.errors import ThrottlingQuotaExceeded
from millstream.quota.token_bucket import refill_time_ms


@final
class MutationCharge:
    """A partition that is created or deleted takes a token."""

    def __init__(self, tokens: float, per_second: float, *, is_strict: bool) -> None:
        """`tokens`: what is in the bucket, which fills with `per_second`.

        `is_strict`: what comes when it is overdrawn is refused.

        Clients from before KIP-599, which do not know the error, have it done and wait afterwards.
        """
        self._tokens = tokens
        self._per_second = per_second
        self._is_strict = is_strict
        self.taken = 0
        self.throttle_time_ms = 0
        """How long the client has to wait; one whose version knows the error waits only where something was refused."""

    def take(self, partitions: int) -> None:
        """Raises ThrottlingQuotaExceeded where the request is refused."""
        if self._is_strict and self._tokens < 0:
            self.throttle_time_ms = refill_time_ms(self._tokens, self._per_second)
            raise ThrottlingQuotaExceeded
        self._tokens -= partitions
        self.taken += partitions
        if not self._is_strict:
            self.throttle_time_ms = refill_time_ms(self._tokens, self._per_second)
