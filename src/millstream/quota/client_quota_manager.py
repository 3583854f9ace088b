"""Counts what each user and client id has taken of one kind, and tells how long it has to wait, as Kafka's ClientQuotaManager does.

    record -> the rate of those that are counted together -> above their quota: wait until the average is back at it

A client that waits is told so in its answer, and is not read until then (KIP-219); that is the business of whoever asks here. Changes of
metadata are limited by `ControllerMutationQuotaManager`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar, final

from millstream.quota.client_quotas import ClientQuotas, Counted
from millstream.quota.mutation_charge import MutationCharge
from millstream.quota.rate import QuotaWindows, Rate
from millstream.quota.token_bucket import THROTTLE_TIME_MAX_MS, TokenBucket

_INACTIVE_MS: Final = 3_600_000
"""Kafka's: who has taken nothing for an hour is forgotten."""
_COUNTED_MAX: Final = 10_000
"""Client ids are made up by clients; Kafka has no bound. Those that took nothing for the longest time are forgotten first."""


_T = TypeVar("_T")


class _Usages(Generic[_T]):
    """What is known of those that are counted together, in the order in which they took something last."""

    def __init__(self) -> None:
        self._known: OrderedDict[Counted, tuple[_T, int]] = OrderedDict()

    def get(self, counted: Counted) -> _T | None:
        found = self._known.get(counted)
        return None if found is None else found[0]

    def put(self, counted: Counted, usage: _T, now_ms: int) -> None:
        self._known[counted] = usage, now_ms
        self._known.move_to_end(counted)
        while len(self._known) > _COUNTED_MAX or self._oldest_ms() <= now_ms - _INACTIVE_MS:
            self._known.popitem(last=False)

    def items(self) -> list[tuple[Counted, _T]]:
        return [(counted, usage) for counted, (usage, _) in self._known.items()]

    def forget(self, counted: Counted) -> None:
        self._known.pop(counted, None)

    def _oldest_ms(self) -> int:
        return next(iter(self._known.values()))[1]


@final
class ClientQuotaManager:
    """Rates of one kind. Times are milliseconds that never go back."""

    def __init__(self, windows: QuotaWindows, throttle_time_max_ms: int | None = None) -> None:
        """`throttle_time_max_ms`: nobody waits longer; Kafka's bound for request time is the length of one window."""
        self._windows = windows
        self._throttle_time_max_ms = throttle_time_max_ms
        self._quotas = ClientQuotas({})
        self._rates: _Usages[Rate] = _Usages()

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
        per_second = rate.per_second(now_ms)
        if per_second <= quota:
            return 0
        if quota <= 0:
            # No time brings a rate to nothing; Kafka divides by zero and waits 2,147,483,647 ms.
            wait_ms = THROTTLE_TIME_MAX_MS
        else:
            wait_ms = int((per_second - quota) / quota * rate.elapsed_ms(now_ms) + 0.5)
        return min(wait_ms, self._throttle_time_max_ms or THROTTLE_TIME_MAX_MS)

    def take_back(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        """Takes back what was recorded: a fetch that has to wait is answered without records."""
        self._record(self._quotas.counted(user, client_id), -value, now_ms)

    def largest(self, user: str, client_id: str) -> float | None:
        """Returns the largest value that need not make a client wait that took nothing before; None: no bound."""
        quota = self._quotas.limit(self._quotas.counted(user, client_id))
        if quota is None:
            return None
        return quota * (self._windows.count - 1) * self._windows.size_ms / 1_000

    def rates(self, now_ms: int) -> list[tuple[Counted, float]]:
        """Returns who has taken how much a second."""
        return [(counted, rate.per_second(now_ms)) for counted, rate in self._rates.items()]

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
        self._buckets: _Usages[TokenBucket] = _Usages()

    @property
    def is_enabled(self) -> bool:
        return bool(self._quotas)

    def change_quotas(self, quotas: ClientQuotas) -> None:
        """Counts by other quotas from now on; buckets keep their tokens, as far as they still hold them."""
        self._quotas = quotas

    def bucket(self, user: str, client_id: str, now_ms: int) -> TokenBucket | None:
        """Returns the bucket that a client takes from; None: it has no quota."""
        counted = self._quotas.counted(user, client_id)
        quota = self._quotas.limit(counted)
        if quota is None:
            # What is taken without a quota is not owed when there is one again.
            self._buckets.forget(counted)
            return None
        bucket = self._buckets.get(counted)
        if bucket is None:
            bucket = TokenBucket(quota, self._windows, now_ms)
        bucket.change_rate(quota)
        self._buckets.put(counted, bucket, now_ms)
        return bucket

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
        bucket = self.bucket(user, client_id, now_ms)
        if bucket is not None:
            bucket.take(charge.taken, now_ms)

    def tokens(self, now_ms: int) -> list[tuple[Counted, float]]:
        """Returns who has how many tokens left."""
        return [(counted, bucket.tokens(now_ms)) for counted, bucket in self._buckets.items()]
