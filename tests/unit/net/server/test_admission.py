"""Which connections are accepted, and when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.broker.quotas.connection_quotas import ConnectionQuotas
from millstream.net.server.admission import Admission
from millstream.net.server.limits import ConnectionLimits, ListenerLimits
from millstream.quota.rate import QuotaWindows

CLIENTS, BROKERS = "CLIENTS", "BROKERS"


def admission(**limits: object) -> Admission:
    return Admission(ConnectionLimits(**limits), ConnectionQuotas(QuotaWindows()))  # type: ignore[arg-type]


def test_an_address_may_have_as_many_connections_as_its_limit() -> None:
    counted = admission(connections_per_host_max=2, connections_per_host_overrides={"::1": 0})
    counted.admit(CLIENTS, "10.0.0.1")
    assert counted.refusal("10.0.0.1") is None
    counted.admit(CLIENTS, "10.0.0.1")
    assert "has 2 connections already" in (counted.refusal("10.0.0.1") or "")
    assert counted.refusal("10.0.0.2") is None
    assert counted.refusal("::1") is not None
    counted.leave(CLIENTS, "10.0.0.1")
    assert counted.refusal("10.0.0.1") is None


def test_it_is_full_at_the_limit_and_not_beyond() -> None:
    counted = admission(connections_max=1)
    assert not counted.is_full(CLIENTS)
    counted.admit(CLIENTS, "a")
    assert counted.is_full(CLIENTS)
    counted.leave(CLIENTS, "a")
    assert not counted.is_full(CLIENTS)


def test_a_listener_has_a_limit_of_its_own() -> None:
    counted = admission(of_listeners={CLIENTS: ListenerLimits(connections_max=1)})
    counted.admit(CLIENTS, "a")
    assert counted.is_full(CLIENTS)
    assert not counted.is_full("OTHERS")


def test_whether_the_end_of_one_would_make_room() -> None:
    counted = admission(
        connections_max=3, of_listeners={CLIENTS: ListenerLimits(connections_max=1)}
    )
    counted.admit(CLIENTS, "a")
    counted.admit("OTHERS", "a")
    assert not counted.is_full(CLIENTS, without=CLIENTS)
    assert counted.is_full(CLIENTS, without="OTHERS"), "its own limit is reached"
    counted.admit("OTHERS", "a")
    assert counted.is_full("OTHERS")
    assert not counted.is_full("OTHERS", without=CLIENTS)


def test_brokers_are_let_in_beside_as_many_clients_as_there_may_be() -> None:
    """KIP-402: their listener waits for its own connections alone, and then there is one too many."""
    counted = admission(connections_max=2, protected_listener=BROKERS)
    for _ in range(2):
        counted.admit(CLIENTS, "a")
    assert counted.is_full(CLIENTS)
    assert not counted.is_full(BROKERS)
    assert not counted.is_exceeded
    counted.admit(BROKERS, "b")
    assert counted.is_exceeded


def test_what_comes_in_the_first_ten_windows_is_let_in_at_the_rate_of_all() -> None:
    """Kafka's rate counts missing windows as passed: ten seconds' worth may come at once, and the next one waits a second at most."""
    counted = admission(connections_per_second_max=10)
    assert [counted.wait_ms(CLIENTS, 0) for _ in range(100)] == [0] * 100
    assert counted.wait_ms(CLIENTS, 0) == 100
    assert [counted.wait_ms(CLIENTS, 0) for _ in range(20)][-1] == 1_000


def test_a_listener_has_a_rate_of_its_own_and_that_of_brokers_is_not_counted_for_all() -> None:
    counted = admission(
        connections_per_second_max=10,
        of_listeners={CLIENTS: ListenerLimits(connections_per_second_max=1), BROKERS: ListenerLimits(connections_per_second_max=1_000)},
        protected_listener=BROKERS,
    )  # fmt: skip
    assert [counted.wait_ms(CLIENTS, 0) for _ in range(11)] == [0] * 10 + [1_000]
    assert [counted.wait_ms(BROKERS, 0) for _ in range(1_000)] == [0] * 1_000
    assert [counted.wait_ms("OTHERS", 0) for _ in range(89)] == [0] * 89


@given(st.integers(1, 50), st.lists(st.integers(0, 400), max_size=200))
def test_whoever_waits_as_told_keeps_to_the_rate(rate: int, pauses: list[int]) -> None:
    """Of each wait a window is the most, so a burst is paid for in several; the average of all windows stays at the rate."""
    counted, now_ms, admitted = admission(connections_per_second_max=rate), 0, []
    for pause in pauses:
        now_ms += pause
        now_ms += counted.wait_ms(CLIENTS, now_ms)
        admitted.append(now_ms)
    for start in admitted:
        assert sum(start <= at < start + 1_000 for at in admitted) <= 11 * rate + 1
