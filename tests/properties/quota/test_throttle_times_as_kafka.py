"""Throttle times equal those of Kafka's quota managers, for random quotas and usage whose answers are recorded.

tests/oracle/quotas made them and says how.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream.metadata.stored_security import QuotaEntity, quota_entity
from millstream.quota.client_quota_manager import (
    ClientQuotaManager,
    ControllerMutationQuotaManager,
)
from millstream.quota.client_quotas import ClientQuotas
from millstream.quota.rate import QuotaWindows
from tests.oracle.quotas.judge import Case, read_cases

UNLIMITED = 1.7976931348623157e308
"""What Java says of the largest fetch without a quota."""


def entity(user: str | bool | None, client_id: str | bool | None) -> QuotaEntity:
    parts = (("client-id", client_id), ("user", user))
    return quota_entity((kind, name) for kind, name in parts if not isinstance(name, bool))


class Ours:
    """One kind of quota, changed and asked by the steps of a case."""

    def __init__(self, case: Case) -> None:
        windows = QuotaWindows(case["count"], case["size_s"] * 1_000)
        bound = windows.size_ms if case["kind"] == "request" else None
        self._limits: dict[QuotaEntity, float] = {}
        self._mutations = case["kind"] == "mutation"
        self._rates = ClientQuotaManager(windows, bound)
        self._buckets = ControllerMutationQuotaManager(windows)

    def quota(self, user: Any, client_id: Any, limit: float | None) -> None:  # Any: JSON
        self._limits.pop(entity(user, client_id), None)
        if limit is not None:
            self._limits[entity(user, client_id)] = limit
        self._rates.change_quotas(ClientQuotas(self._limits))
        self._buckets.change_quotas(ClientQuotas(self._limits))

    def take(self, user: str, client_id: str, value: float, now_ms: int) -> int:
        if not self._mutations:
            return self._rates.record(user, client_id, value, now_ms)
        bucket = self._buckets.bucket(user, client_id, now_ms)
        if bucket is None:
            return 0
        if bucket.tokens(now_ms) < 0:
            return bucket.throttle_time_ms(now_ms)
        bucket.take(value, now_ms)
        return 0

    def take_back(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        self._rates.take_back(user, client_id, value, now_ms)

    def largest(self, user: str, client_id: str) -> float:
        largest = self._rates.largest(user, client_id)
        return UNLIMITED if largest is None else largest


def answers(case: Case) -> Iterator[float]:
    ours = Ours(case)
    for name, *arguments in case["steps"]:
        answer = getattr(ours, name)(*arguments)
        if answer is not None:
            yield answer


def test_clients_wait_as_long_as_on_kafka() -> None:
    cases = read_cases()
    waits = 0
    for case, expected in cases:
        assert list(answers(case)) == expected, case
        waits += sum(answer > 0 for answer in expected)
    assert len(cases) == 1_000
    assert waits > 1_000, "cases in which nobody waits show nothing"
