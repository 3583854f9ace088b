"""Who guesses passwords waits, and whoever is attacked is not kept out."""

from __future__ import annotations

import pytest

from millstream.console.entrance.failed_logins import (
    ADDRESS_WAIT_MAX_MS,
    FORGOTTEN_AFTER_MS,
    NAME_CHARACTERS_MAX,
    REMEMBERED_MAX,
    USER_WAIT_MAX_MS,
    FailedLogins,
    network_of,
)


def failed(times: int, address: str = "10.0.0.9", user: str = "alice") -> FailedLogins:
    found = FailedLogins()
    for _ in range(times):
        found.begin(address, user, 0)
    return found


@pytest.mark.parametrize(
    ("times", "wait_ms"),
    [(0, 0), (2, 0), (3, 1000), (4, 2000), (5, 4000), (9, 60_000), (500, 60_000)],
)
def test_the_wait_doubles_up_to_a_minute(times: int, wait_ms: int) -> None:
    assert failed(times).wait_ms("10.0.0.9", "somebody else", 0) == wait_ms


def test_the_wait_is_over_when_it_is_over() -> None:
    found = failed(3)
    assert [found.wait_ms("10.0.0.9", "alice", now) for now in (0, 999, 1000, 5000)] == [
        1000,
        1,
        0,
        0,
    ]


def test_a_user_who_is_attacked_from_everywhere_waits_seconds_at_most() -> None:
    found = FailedLogins()
    for number in range(200):
        found.begin(f"10.1.0.{number}", "alice", 0)
    assert found.wait_ms("10.0.0.9", "alice", 0) == USER_WAIT_MAX_MS
    assert found.wait_ms("10.0.0.9", "bob", 0) == 0


def test_who_has_a_password_of_their_own_guesses_no_faster_with_it() -> None:
    found = failed(10, user="alice")
    found.begin("10.0.0.9", "mallory", 0)
    found.note_success("10.0.0.9", "mallory")
    assert found.wait_ms("10.0.0.9", "bob", 0) == ADDRESS_WAIT_MAX_MS


def test_a_login_that_succeeds_forgets_the_slips_of_its_user() -> None:
    found = failed(3)
    found.note_success("10.0.0.9", "alice")
    assert found.wait_ms("10.0.0.8", "alice", 0) == 0
    assert found.wait_ms("10.0.0.9", "alice", 0) == 0, "two of this address are free"


def test_a_login_that_was_not_looked_at_takes_back_itself_alone() -> None:
    found = failed(4)
    found.take_back("10.0.0.9", "alice", 0)
    assert found.wait_ms("10.0.0.9", "bob", 0) == 1_000
    assert found.wait_ms("10.0.0.8", "alice", 0) == 1_000
    for _ in range(9):
        found.take_back("10.0.0.9", "alice", 0)
    found.begin("10.0.0.9", "alice", 0)
    assert found.wait_ms("10.0.0.9", "alice", 0) == 0


def test_a_login_that_was_not_looked_at_makes_no_wait_longer() -> None:
    found = failed(4)
    found.begin("10.0.0.9", "alice", 5_000)
    found.take_back("10.0.0.9", "alice", 5_000)
    assert found.wait_ms("10.0.0.9", "alice", 1_500) == 500, "two seconds after the fourth failure"
    assert found.wait_ms("10.0.0.9", "alice", 5_000) == 0


def test_one_that_was_not_looked_at_leaves_the_time_of_one_that_began_after_it() -> None:
    found = failed(3)
    found.begin("10.0.0.9", "alice", 5_000)
    found.begin("10.0.0.9", "alice", 6_000)
    found.take_back("10.0.0.9", "alice", 5_000)
    assert found.wait_ms("10.0.0.9", "alice", 6_000) == 2_000


def test_failures_are_forgotten() -> None:
    found = failed(100)
    found.begin("10.0.0.9", "alice", FORGOTTEN_AFTER_MS)
    assert found.wait_ms("10.0.0.9", "alice", FORGOTTEN_AFTER_MS) == 0


def test_no_more_is_remembered_than_fits() -> None:
    found = FailedLogins()
    for number in range(REMEMBERED_MAX + 50):
        found.begin(f"address {number}", f"user {number}", 0)
    assert len(found._addresses) == len(found._users) == REMEMBERED_MAX


def test_of_a_long_name_no_more_is_remembered_than_of_one_that_somebody_may_have() -> None:
    """Whoever has no login chooses the name, and a form has room for thousands of characters."""
    found = failed(9, user="x" * 8_000)
    assert max(map(len, found._users)) <= NAME_CHARACTERS_MAX
    assert found.wait_ms("10.0.0.8", "x" * 8_000, 0) == USER_WAIT_MAX_MS
    found.take_back("10.0.0.9", "x" * 8_000, 0)
    found.note_success("10.0.0.9", "x" * 8_000)
    assert not found._users


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.9", "10.0.0.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:10.0.0.9", "::ffff:10.0.0.9"),
        ("", ""),
    ],
)
def test_addresses_of_ipv6_count_by_network(address: str, network: str) -> None:
    assert network_of(address) == network
