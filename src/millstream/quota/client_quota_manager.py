"""Counts what each user and client id has taken of one kind, and tells how long it has to wait, as
Kafka's ClientQuotaManager does.

    record -> the rate of those that are counted together -> above their quota: wait until the average is back at it

A client that waits is told so in its answer, and is not read until then (KIP-219); that is the business of whoever asks
here. Changes of metadata are limited by `ControllerMutationQuotaManager`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, final

from millstream.quota.client_quotas import ClientQuotas, Counted
from millstream.quota.rate import QuotaWindows, Rate, throttle_time_ms
from millstream.quota.token_bucket import MutationCharge, TokenBucket
from millstream.quota.usages import Usages


class Mutations(NamedTuple):
    """The changes of metadata of those that are counted together."""

    bucket: TokenBucket
    rate: Rate
    """Kept for whoever looks: the bucket alone decides."""


@final
class ClientQuotaManager:
    """Rates of one kind. Times are milliseconds that never go back."""

    def __init__(self, windows: QuotaWindows, throttle_time_max_ms: int | None = None) -> None:
        """`throttle_time_max_ms`: nobody waits longer; Kafka's bound for request time is the length of one window."""
        self._windows = windows
        self._throttle_time_max_ms = throttle_time_max_ms
        self._quotas = ClientQuotas({})
        self._rates: Usages[Counted, Rate] = Usages()

    @property
    def is_enabled(self) -> bool:
        """Whether there is any quota: without one nothing is to be recorded."""
        return bool(self._quotas)

    def change_quotas(self, quotas: ClientQuotas) -> None:
        """Counts by other quotas from now on. What was taken is still known to those that are counted as before."""
        self._quotas = quotas

    def record(self, user: str, client_id: str, value: float, now_ms: int) -> int:
        """Adds what a client took, and returns for how many milliseconds it has to wait now."""
        counted = self._quotas.counted(user, client_id)
        rate = self._record(counted, value, now_ms)
        quota = self._quotas.limit(counted)
        if quota is None:
            return 0
        return throttle_time_ms(rate, quota, now_ms, self._throttle_time_max_ms)

    def take_back(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        """Takes back what was recorded: a fetch that has to wait is answered without records."""
        self._record(self._quotas.counted(user, client_id), -value, now_ms)

    def largest(self, user: str, client_id: str) -> float | None:
        """Returns the largest value that need not make a client wait that took nothing before; None: no bound."""
        quota = self.limit(user, client_id)[1]
        if quota is None:
            return None
        return quota * (self._windows.count - 1) * self._windows.size_ms / 1_000

    def limit(self, user: str, client_id: str) -> tuple[Counted, float | None]:
        """Returns with whom a client is counted, and their quota."""
        counted = self._quotas.counted(user, client_id)
        return counted, self._quotas.limit(counted)

    def latest(self) -> Iterator[tuple[Counted, Rate]]:
        """Yields who has a quota and has taken how much a second, who took something last first."""
        return (each for each in self._rates.latest() if self._quotas.limit(each[0]) is not None)

    def _record(self, counted: Counted, value: float, now_ms: int) -> Rate:
        rate = self._rates.get(counted)
        if rate is None:
            rate = Rate(self._windows)
        self._rates.put(counted, rate, now_ms)
        rate.record(value, now_ms)
        return rate


@final
class ControllerMutationQuotaManager:
    """Token buckets of changes of metadata: a partition that is created or deleted takes a token (KIP-599)."""

    def __init__(self, windows: QuotaWindows) -> None:
        self._windows = windows
        self._quotas = ClientQuotas({})
        self._mutations: Usages[Counted, Mutations] = Usages()

    @property
    def is_enabled(self) -> bool:
        return bool(self._quotas)

    def change_quotas(self, quotas: ClientQuotas) -> None:
        """Counts by other quotas from now on; buckets keep their tokens, as far as they still hold them."""
        self._quotas = quotas

    def bucket(self, user: str, client_id: str, now_ms: int) -> TokenBucket | None:
        """Returns the bucket that a client takes from; None: it has no quota."""
        found = self._mutations_of(user, client_id, now_ms)
        return None if found is None else found.bucket

    def begin(
        self, user: str, client_id: str, now_ms: int, *, is_strict: bool
    ) -> MutationCharge | None:
        """Returns what a request of a client is charged with; None: it has no quota. `settle` takes the tokens."""
        bucket = self.bucket(user, client_id, now_ms)
        if bucket is None:
            return None
        return MutationCharge(bucket.tokens(now_ms), bucket.per_second, is_strict=is_strict)

    def settle(self, user: str, client_id: str, charge: MutationCharge, now_ms: int) -> None:
        """Takes what a request was charged with."""
        found = self._mutations_of(user, client_id, now_ms)
        if found is not None:
            found.bucket.take(charge.taken, now_ms)
            found.rate.record(charge.taken, now_ms)

    def limit(self, user: str, client_id: str) -> tuple[Counted, float | None]:
        """Returns with whom a client is counted, and their quota."""
        counted = self._quotas.counted(user, client_id)
        return counted, self._quotas.limit(counted)

    def latest(self) -> Iterator[tuple[Counted, Mutations]]:
        """Yields who has a quota and how many tokens left, who changed something last first."""
        return (
            each for each in self._mutations.latest() if self._quotas.limit(each[0]) is not None
        )

    def _mutations_of(self, user: str, client_id: str, now_ms: int) -> Mutations | None:
        counted, quota = self.limit(user, client_id)
        if quota is None:
            # What is taken without a quota is not owed when there is one again.
            self._mutations.forget(counted)
            return None
        found = self._mutations.get(counted)
        if found is None:
            found = Mutations(TokenBucket(quota, self._windows, now_ms), Rate(self._windows))
        found.bucket.change_rate(quota)
        self._mutations.put(counted, found, now_ms)
        return found
