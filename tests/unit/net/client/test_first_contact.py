"""When a connection that ended early is believed to be at a wrong listener."""

from __future__ import annotations

import pytest

from millstream.errors import KafkaError, NetworkException
from millstream.net.client.core.first_contact import FirstContact, ListenerMismatch, WrongListener

EARLY_END = ListenerMismatch("b:1 closed the connection; try security_protocol=SSL")


def judged(contact: FirstContact, *times_ms: int) -> list[type[KafkaError]]:
    return [type(contact.judge(EARLY_END, now_ms)) for now_ms in times_ms]


def test_the_second_early_end_is_believed() -> None:
    assert judged(FirstContact(), 0, 0) == [ListenerMismatch, WrongListener]


def test_what_to_set_is_said_still() -> None:
    contact = FirstContact()
    contact.judge(EARLY_END, 0)
    told = contact.judge(EARLY_END, 0)
    assert str(told) == str(EARLY_END)
    assert not told.retriable


def test_a_client_that_waits_for_a_cluster_to_start_believes_it_after_that_time() -> None:
    assert judged(FirstContact(1_000), 500, 700, 1_499, 1_500) == [*[ListenerMismatch] * 3, WrongListener]  # fmt: skip


def test_a_client_that_was_served_goes_on() -> None:
    assert judged(FirstContact(is_over=True), 0, 0, 10_000) == [ListenerMismatch] * 3


def test_other_failures_do_not_count() -> None:
    contact = FirstContact()
    for _ in range(3):
        assert type(contact.judge(NetworkException("reset"), 0)) is NetworkException
    assert judged(contact, 0) == [ListenerMismatch]


@pytest.mark.parametrize("error", [WrongListener, ListenerMismatch])
def test_they_have_a_sentence_of_their_own(error: type[KafkaError]) -> None:
    assert str(error())
