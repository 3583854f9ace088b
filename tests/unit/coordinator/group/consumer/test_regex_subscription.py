"""Subscriptions by regular expression: matched by the coordinator, together, and not too often."""

from __future__ import annotations

import pytest

from millstream.errors import InvalidRegularExpression
from tests.support.coordinators.consumer_group import SimConsumerGroup

REFRESH_MIN_MS = 10_000
REFRESH_MS = 600_000


def test_a_member_is_not_kept_waiting_while_its_expression_is_matched(
    consumers: SimConsumerGroup,
) -> None:
    member = consumers.joins("a", regex="[tu]")
    assert (member.epoch, member.owned) == (1, {})
    consumers.beats(member)
    assert (member.epoch, member.owned) == (2, {"t": [0, 1, 2, 3], "u": [0, 1]})


def test_the_whole_name_must_match(consumers: SimConsumerGroup) -> None:
    consumers.set_topics({"t": 1, "tt": 1, "at": 1})
    member = consumers.joins("a", regex="t")
    consumers.settles(member)
    assert member.owned == {"t": [0]}


@pytest.mark.parametrize("regex", ["([", "(?<=a)b", r"(a)\1", "a{100000}"])
def test_what_cannot_be_matched_in_linear_time_and_bounded_memory_is_refused(
    consumers: SimConsumerGroup, regex: str
) -> None:
    with pytest.raises(InvalidRegularExpression):
        consumers.joins("a", regex=regex)


def test_an_expression_made_to_explode_does_not(consumers: SimConsumerGroup) -> None:
    consumers.set_topics({"a" * 200 + "!": 1})
    member = consumers.joins("a", regex="(a+)+$")
    consumers.settles(member)
    assert member.owned == {}


def test_an_expression_that_others_brought_is_known_at_once(consumers: SimConsumerGroup) -> None:
    first = consumers.joins("a", regex="t")
    consumers.settles(first)
    second = consumers.joins("b", regex="t")
    consumers.settles(first, second)
    assert sorted(first.owned["t"] + second.owned["t"]) == [0, 1, 2, 3]
    assert consumers.state.regexes.keys() == {"t"}


def test_new_topics_are_looked_at_after_ten_seconds(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", regex="t.*")
    consumers.settles(member)
    consumers.set_topics({"t": 4, "u": 2, "t2": 1})
    consumers.settles(member)
    assert member.owned == {"t": [0, 1, 2, 3]}
    consumers.coordinator.pass_time(REFRESH_MIN_MS)
    consumers.settles(member)
    assert member.owned == {"t": [0, 1, 2, 3], "t2": [0]}


def test_expressions_are_matched_anew_now_and_then(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", regex="t")
    consumers.settles(member)
    first = consumers.state.regexes["t"].timestamp_ms
    for _ in range(REFRESH_MS // 40_000 + 1):
        consumers.coordinator.pass_time(40_000)
        consumers.beats(member)
    assert consumers.state.regexes["t"].timestamp_ms >= first + REFRESH_MS
    assert member.epoch == 2


def test_the_last_one_takes_its_expression_along(consumers: SimConsumerGroup) -> None:
    first, second = consumers.joins("a", regex="t"), consumers.joins("b", "u")
    consumers.settles(first, second)
    consumers.leaves(first)
    assert consumers.state.regexes == {}


def test_a_member_may_go_from_an_expression_to_names(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", regex="t")
    consumers.settles(member)
    consumers.changes(member, ["u"], regex="")
    consumers.settles(member)
    assert member.owned == {"u": [0, 1]}
    assert consumers.state.regexes == {}


def test_names_and_an_expression_add_up(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "u", regex="t")
    consumers.settles(member)
    assert member.owned == {"t": [0, 1, 2, 3], "u": [0, 1]}
