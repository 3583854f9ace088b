"""Connections by address (KIP-612). Rates of all and of listeners: tests/unit/net/server/test_admission.py."""

from __future__ import annotations

import logging

import pytest

from millstream.broker.quotas.connection_quotas import ConnectionQuotas
from millstream.quota.rate import QuotaWindows

UNLIMITED = float((1 << 31) - 1)


def quotas(limits: dict[str | None, float]) -> ConnectionQuotas:
    made = ConnectionQuotas(QuotaWindows())
    made.use(limits)
    return made


def come(made: ConnectionQuotas, host: str, now_ms: int = 0) -> int:
    assert made.record("CLIENTS", UNLIMITED, UNLIMITED, now_ms) == 0
    return made.record_address("CLIENTS", host, now_ms, counts_for_all=True)


def test_an_address_above_its_rate_waits_and_is_counted_for_nobody() -> None:
    made = quotas({"10.0.0.1": 2})
    waits = [come(made, "10.0.0.1") for _ in range(23)]
    # Twenty in ten windows are free. Each one that is refused is taken back, so the next one waits no longer.
    assert waits == [0] * 20 + [500] * 3
    assert made.accepted_per_second(0) == 2
    assert [(name, rate.per_second(0)) for name, rate, _, _ in made.listeners()] == [("CLIENTS", 2)]
    assert [come(made, "10.0.0.2") for _ in range(100)] == [0] * 100


def test_nobody_waits_longer_than_a_window() -> None:
    """Whoever comes again after it is refused again, until the average is back at the quota."""
    made = quotas({None: 1})
    for _ in range(10):
        come(made, "10.0.0.1")
    assert [come(made, "10.0.0.1", now_ms) for now_ms in (0, 9_000, 11_000)] == [1_000, 1_000, 0]


def test_the_own_quota_of_an_address_counts_before_that_of_all() -> None:
    made = quotas({None: 1, "10.0.0.1": 100})
    assert [come(made, "10.0.0.1") for _ in range(1_000)] == [0] * 1_000
    assert [come(made, "10.0.0.2") for _ in range(11)] == [0] * 10 + [1_000]


@pytest.mark.parametrize(
    ("quota", "host"),
    [("10.0.0.1", "::ffff:10.0.0.1"), ("0:0:0:0:0:0:0:1", "::1"), ("2001:DB8::1", "2001:db8::1")],
)
def test_an_address_is_the_same_however_it_is_written(quota: str, host: str) -> None:
    made = quotas({quota: 1})
    assert [come(made, host) for _ in range(11)] == [0] * 10 + [1_000]


def test_a_quota_that_is_removed_holds_nobody_back() -> None:
    made = quotas({"10.0.0.1": 1})
    made.use({})
    assert [come(made, "10.0.0.1") for _ in range(100)] == [0] * 100
    assert list(made.addresses()) == []


def test_addresses_are_remembered_within_a_bound() -> None:
    """Of version 6 everybody has more than memory."""
    made = quotas({None: 1})
    for number in range(10_100):
        come(made, f"2001:db8::{number:x}")
    assert len(list(made.addresses())) == 10_000


def test_an_operator_reads_whom_it_holds_back(caplog: pytest.LogCaptureFixture) -> None:
    made = quotas({None: 1})
    with caplog.at_level(logging.INFO, "millstream.broker.quotas"):
        for _ in range(20):
            come(made, "10.0.0.1")
    assert caplog.messages == [
        (
            "address 10.0.0.1 is held back for 1000 ms: above its quota connection_creation_rate of 1. More for it: "
            "kafka-configs.sh --alter --entity-type ips --entity-name 10.0.0.1 --add-config connection_creation_rate=NUMBER"
        )
    ]
