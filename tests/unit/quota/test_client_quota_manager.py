"""Who waits, for how long, and what is kept of those that took something. Throttle times are Kafka's: tests/properties/quota."""

from __future__ import annotations

import math

import pytest

from millstream.quota.client_quota_manager import (
    ClientQuotaManager,
    ControllerMutationQuotaManager,
)
from millstream.quota.client_quotas import ClientQuotas, Counted
from millstream.quota.rate import QuotaWindows
from millstream.quota.token_bucket import MutationCharge

ALICE = (("user", "alice"),)
HOUR_MS = 3_600_000


def manager(limit: float, entity: tuple[tuple[str, str | None], ...] = ALICE) -> ClientQuotaManager:
    made = ClientQuotaManager(QuotaWindows())
    made.change_quotas(ClientQuotas({entity: limit}))
    return made


def test_a_burst_within_the_windows_is_free_and_what_is_above_waits() -> None:
    quota = manager(1_000)
    assert quota.record("alice", "c", 10_000, 0) == 0, "ten windows of 1,000 have passed"
    assert quota.record("alice", "c", 500, 0) == 500, "half a second of the quota"
    assert quota.record("bob", "c", 1_000_000, 0) == 0, "who has no quota"


def test_without_quotas_nothing_is_enabled() -> None:
    quota = manager(1)
    assert quota.is_enabled
    quota.change_quotas(ClientQuotas({(("ip", "127.0.0.1"),): 3.0}))
    assert not quota.is_enabled


def test_a_quota_of_nothing_waits_for_ever_and_does_not_fail() -> None:
    assert manager(0).record("alice", "c", 1, 0) == (1 << 31) - 1


@pytest.mark.parametrize("quota", [1e-9, 1e-300, 5e-324])
def test_a_quota_next_to_nothing_waits_as_long_as_can_be_told(quota: float) -> None:
    assert manager(quota).record("alice", "c", 1e6, 0) == (1 << 31) - 1
    assert mutated(quota, 10).throttle_time_ms == (1 << 31) - 1


@pytest.mark.parametrize("quota", [math.inf, math.nan])
def test_a_quota_that_is_no_number_holds_nobody_back(quota: float) -> None:
    """Kafka's controllers take both, and its brokers wait for neither."""
    assert manager(quota).record("alice", "c", 1e6, 0) == 0
    assert mutated(quota, 10).throttle_time_ms == 0


def mutated(quota: float, partitions: int) -> MutationCharge:
    """A request that changes so many partitions, behind another one."""
    made = ControllerMutationQuotaManager(QuotaWindows())
    made.change_quotas(ClientQuotas({ALICE: quota}))
    for now_ms in (0, 1):
        charge = made.begin("alice", "c", now_ms, is_strict=False)
        assert charge is not None
        charge.take(partitions)
        made.settle("alice", "c", charge, now_ms)
    return charge


def test_who_takes_nothing_for_an_hour_and_who_is_one_of_very_many_is_forgotten() -> None:
    quota = manager(1_000, (("client-id", None),))
    for number in range(10_001):
        quota.record("", f"c{number}", 1, 0)
    assert len(list(quota.latest())) == 10_000
    quota.record("", "late", 1, HOUR_MS)
    assert [counted for counted, _ in quota.latest()] == [Counted("", "late")]


def test_a_bucket_that_is_not_empty_is_overdrawn_once() -> None:
    quota = ControllerMutationQuotaManager(QuotaWindows())
    quota.change_quotas(ClientQuotas({ALICE: 1.0}))
    bucket = quota.bucket("alice", "c", 0)
    assert bucket is not None
    assert bucket.tokens(0) == 11
    bucket.take(12, 0)
    (counted, mutations) = next(quota.latest())
    assert (counted, mutations.bucket.tokens(0)) == (Counted("alice", ""), -1.0)
    assert bucket.throttle_time_ms(0) == 1_000
    assert bucket.throttle_time_ms(1_000) == 0
    assert quota.bucket("bob", "c", 0) is None
