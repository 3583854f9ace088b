"""Which connections are accepted, and when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.net.server.admission import Admission
from millstream.net.server.limits import ConnectionLimits


def admission(**limits: object) -> Admission:
    return Admission(ConnectionLimits(**limits), 0)  # type: ignore[arg-type]


def test_an_address_may_have_as_many_connections_as_its_limit() -> None:
    counted = admission(connections_per_host_max=2, connections_per_host_overrides={"::1": 0})
    counted.admit("10.0.0.1")
    assert counted.refusal("10.0.0.1") is None
    counted.admit("10.0.0.1")
    assert "has 2 connections already" in (counted.refusal("10.0.0.1") or "")
    assert counted.refusal("10.0.0.2") is None
    assert counted.refusal("::1") is not None
    counted.leave("10.0.0.1")
    assert counted.refusal("10.0.0.1") is None


def test_it_is_full_at_the_limit_and_not_beyond() -> None:
    counted = admission(connections_max=1)
    assert not counted.is_full
    counted.admit("a")
    assert counted.is_full
    counted.leave("a")
    assert not counted.is_full


def test_connections_of_one_second_may_come_at_once_and_the_next_waits() -> None:
    counted = admission(connections_per_second_max=10)
    for _ in range(10):
        assert counted.wait_ms(0) == 0
        counted.admit("a")
    assert counted.wait_ms(0) == 101
    assert counted.wait_ms(101) == 0


def test_a_rate_of_zero_lets_nobody_in() -> None:
    assert admission(connections_per_second_max=0).wait_ms(10_000) == 1_000


@given(st.integers(1, 50), st.lists(st.integers(0, 400), max_size=80))
def test_no_second_sees_more_than_twice_the_rate(rate: int, pauses: list[int]) -> None:
    """A burst of a second's worth, and what the second itself adds."""
    counted, now_ms, admitted = admission(connections_per_second_max=rate), 0, []
    for pause in pauses:
        now_ms += pause
        if counted.wait_ms(now_ms) == 0:
            counted.admit("a")
            admitted.append(now_ms)
    for start in admitted:
        assert sum(start <= at < start + 1_000 for at in admitted) <= 2 * rate
