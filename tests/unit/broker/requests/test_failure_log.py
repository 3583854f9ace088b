"""The operator is told of each failure once, however many clients meet it."""

from __future__ import annotations

import logging

import pytest

from millstream.broker.requests.failure_log import FailureLog, PartitionOffline
from millstream.errors import (
    GroupMaxSizeReached,
    KafkaStorageError,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    PolicyViolation,
    UnknownServerError,
)
from millstream.log.log_health import LogGone
from millstream.runtime import Instant


class ManualClock:
    def __init__(self) -> None:
        self.monotonic_ms = 0

    def now(self) -> Instant:
        return Instant(0, self.monotonic_ms)

    def wall_ms(self) -> int:
        return 0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def failures(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> FailureLog:
    caplog.set_level(logging.WARNING)
    return FailureLog(clock)


def raised() -> ZeroDivisionError:
    try:
        1 / 0  # noqa: B018 - for its traceback
    except ZeroDivisionError as error:
        return error
    raise AssertionError


def test_an_unexpected_error_is_told_once_with_its_trace_and_is_unknown_to_clients(
    failures: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    told = [failures.of("t-0", raised()) for _ in range(5_000)]
    assert {type(each) for each in told} == {UnknownServerError}
    (record,) = caplog.records
    assert record.getMessage() == "t-0 failed unexpectedly"
    assert record.exc_info is not None


def test_an_error_of_the_disk_is_told_once_in_a_sentence_and_is_what_it_is(
    failures: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    error = KafkaStorageError("0.txnindex is damaged")
    assert [failures.of("t-0", error) for _ in range(5_000)] == [error] * 5_000
    (record,) = caplog.records
    assert record.getMessage() == "t-0: 0.txnindex is damaged"
    assert record.exc_info is None


def test_what_a_client_brings_about_is_not_told(
    failures: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    error = OffsetOutOfRange("offset 9")
    assert failures.of("t-0", error) is error
    assert caplog.records == []


def test_a_partition_that_was_told_to_be_offline_is_not_told_again(
    failures: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    failures.of("t-0", PartitionOffline("the log of t-0 is offline"))
    assert caplog.records == []


def test_another_partition_and_another_reason_are_told_as_well(
    failures: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    for what, why in (("t-0", "a"), ("t-1", "a"), ("t-0", "b"), ("t-0", "a")):
        failures.of(what, KafkaStorageError(why))
    assert [record.getMessage() for record in caplog.records] == ["t-0: a", "t-1: a", "t-0: b"]


def test_a_failure_that_goes_on_is_told_again_after_ten_minutes_with_its_number(
    failures: FailureLog, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(4):
        failures.of("t-0", KafkaStorageError("a"))
    clock.monotonic_ms = 599_999
    failures.of("t-0", KafkaStorageError("a"))
    clock.monotonic_ms = 600_000
    failures.of("t-0", KafkaStorageError("a"))
    assert [record.getMessage() for record in caplog.records] == [
        "t-0: a",
        "t-0: a (4 times since it was told)",
    ]


def test_a_replica_that_moved_away_is_no_failure(
    failures: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    assert type(failures.of("t-0", LogGone("it moved"))) is NotLeaderOrFollower
    assert caplog.records == []


def test_a_bound_that_is_reached_is_told_once_in_ten_minutes_whoever_meets_it(
    failures: FailureLog, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for owner in ("ann", "bob", "carol"):
        error = PolicyViolation(f"{owner} has 9 tokens already", bound="tokens")
        assert failures.of("t-0", error) is error
    failures.log_bound("t-1", GroupMaxSizeReached("too many groups", bound="groups"))
    clock.monotonic_ms = 600_000
    failures.of("t-1", PolicyViolation("dan has 9 tokens already", bound="tokens"))
    failures.of("t-1", PolicyViolation("said in the answer"))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "t-0: refused, ann has 9 tokens already"),
        ("WARNING", "t-1: refused, too many groups"),
        ("WARNING", "t-1: refused, dan has 9 tokens already (2 times since it was told)"),
    ]
