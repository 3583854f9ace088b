"""An operator reads who is held back, once in a while, and metrics tell for how long."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from millstream.broker.quotas.throttled_clients import Held, QuotaKind, ThrottledClients
from millstream.quota.client_quotas import Counted

ALICE = Held(QuotaKind.PRODUCE, Counted("alice", "reports"))
MINUTE_MS = 60_000


@pytest.fixture(autouse=True)
def at_info(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO, "millstream.broker.quotas"):
        yield


def test_the_first_wait_is_told_with_what_changes_it(caplog: pytest.LogCaptureFixture) -> None:
    throttled = ThrottledClients()
    for _ in range(100):
        throttled.note(ALICE, 1_000_000, 250, 0)
    assert caplog.messages == [
        (
            "user 'alice' with client id 'reports' is held back for 250 ms: above its quota producer_byte_rate of 1000000. More for it: "
            "kafka-configs.sh --alter --entity-type users --entity-name alice --entity-type clients --entity-name reports "
            "--add-config producer_byte_rate=NUMBER"
        )
    ]


def test_who_is_still_held_back_is_told_again_after_ten_minutes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    throttled = ThrottledClients()
    for minute in range(11):
        throttled.note(ALICE, 1_000, 100 + minute, minute * MINUTE_MS)
    assert len(caplog.messages) == 2
    assert (
        "is held back for 110 ms (10 times since it was told, 110 ms at most)" in caplog.messages[1]
    )


def test_clients_that_make_up_their_ids_fill_no_log(caplog: pytest.LogCaptureFixture) -> None:
    throttled = ThrottledClients()
    for number in range(1_000):
        throttled.note(Held(QuotaKind.PRODUCE, Counted("", f"c{number}")), 1, 1, 0)
    assert len(caplog.messages) == 21
    assert "more clients are held back" in caplog.messages[-1]


def test_a_name_breaks_no_line_and_no_shell(caplog: pytest.LogCaptureFixture) -> None:
    throttled = ThrottledClients()
    throttled.note(Held(QuotaKind.FETCH, Counted("", "a\nERROR all is lost")), 1, 1, 0)
    throttled.note(Held(QuotaKind.FETCH, Counted("", "x; rm -rf ~")), 1, 1, 0)
    assert not any("\n" in message for message in caplog.messages)
    assert "--entity-name 'x; rm -rf ~' " in caplog.messages[1]


def test_the_average_is_that_of_the_last_minute() -> None:
    throttled = ThrottledClients()
    for wait_ms in (100, 300):
        throttled.note(ALICE, 1, wait_ms, 0)
    assert throttled.average_ms(ALICE, 1_000) == 200
    assert throttled.average_ms(ALICE, 2 * MINUTE_MS) == 0
    assert throttled.average_ms(Held(QuotaKind.FETCH, ALICE.counted), 0) == 0
    assert throttled.counts[QuotaKind.PRODUCE] == 2
