"""Errors of answers name what they are about, and say what to do."""

from __future__ import annotations

import pytest

from millstream.clients.core.named_errors import membership_error, named_error
from millstream.errors import ERRORS, GroupAuthorizationFailed, TopicAuthorizationFailed


def test_an_error_begins_with_its_subject_and_has_what_the_broker_says() -> None:
    assert str(named_error(10, "t-0", "2500 bytes")) == "t-0: 2500 bytes"
    assert str(named_error(10, "t-0")) == f"t-0: {ERRORS[10].sentence}"


def test_a_member_is_told_the_topics_among_which_there_is_one_that_it_may_not_see() -> None:
    error = membership_error(29, "mine", {"b", "a"})
    assert isinstance(error, TopicAuthorizationFailed)
    assert str(error).startswith("one of the topics 'a', 'b' of group 'mine': Not authorized")
    assert str(membership_error(29, "mine", {"a"})).startswith("topic 'a' of group 'mine': ")


def test_other_errors_of_a_member_name_the_group() -> None:
    error = membership_error(30, "mine", {"a"})
    assert isinstance(error, GroupAuthorizationFailed)
    assert str(error).startswith("group 'mine': Not authorized")


def test_what_to_allow_is_said_behind_what_the_broker_says() -> None:
    error = named_error(29, "t", "Authorization failed.")
    assert str(error).startswith(
        "t: Authorization failed. Not authorized for this topic: its user needs"
    )


@pytest.mark.parametrize("code", [29, 30, 31, 53])
def test_an_error_of_a_missing_permission_says_what_to_allow(code: int) -> None:
    assert "its user needs" in ERRORS[code].sentence
