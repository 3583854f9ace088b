"""Range and round robin as Kafka's Java assignors; cooperative sticky keeps, balances and moves in two steps."""

from __future__ import annotations

import pytest

from millstream.clients.config import ConsumerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.group.assignors import ASSIGNORS, MemberSubscription, chosen_assignors
from millstream.clients.group.assignors.range import RangeAssignor
from millstream.clients.group.assignors.round_robin import RoundRobinAssignor
from millstream.clients.group.assignors.sticky import assign_sticky
from millstream.errors import ConfigError
from millstream.model import TopicPartition


def wants(
    *topics: str, owned: str = "", generation: int = 1, instance: str | None = None
) -> MemberSubscription:
    return MemberSubscription(frozenset(topics), partitions(owned), generation, instance)


def sized(**counts: int) -> dict[str, list[frozenset[str]]]:
    """Topics of so many partitions, on no racks."""
    return {topic: [frozenset()] * count for topic, count in counts.items()}


def partitions(text: str) -> frozenset[TopicPartition]:
    """`a0 b1` -> {a-0, b-1}."""
    return frozenset(TopicPartition(item[0], int(item[1:])) for item in text.split())


def shown(assignment: dict[str, list[TopicPartition]]) -> dict[str, str]:
    return {member: " ".join(f"{t}{p}" for t, p in tps) for member, tps in assignment.items()}


def test_range_gives_consecutive_partitions_and_the_first_members_one_more() -> None:
    """Javadoc of RangeAssignor."""
    members = {"c0": wants("a", "b"), "c1": wants("a", "b")}
    assert shown(ASSIGNORS["range"].assign(sized(a=3, b=3), members)) == {
        "c0": "a0 a1 b0 b1",
        "c1": "a2 b2",
    }


def test_range_leaves_late_members_without_when_there_are_too_few_partitions() -> None:
    members = {"c2": wants("a"), "c0": wants("a"), "c1": wants("a")}
    assert shown(ASSIGNORS["range"].assign(sized(a=2), members)) == {
        "c2": "",
        "c0": "a0",
        "c1": "a1",
    }


def test_static_members_come_first_by_instance_id() -> None:
    members = {
        "a-member": wants("t"),
        "z-member": wants("t", instance="i1"),
        "y-member": wants("t", instance="i2"),
    }
    assert shown(ASSIGNORS["range"].assign(sized(t=3), members)) == {
        "a-member": "t2",
        "z-member": "t0",
        "y-member": "t1",
    }


def test_round_robin_deals_all_partitions_in_turn() -> None:
    """Javadoc of RoundRobinAssignor, first example."""
    members = {"c0": wants("a", "b"), "c1": wants("a", "b")}
    assert shown(ASSIGNORS["roundrobin"].assign(sized(a=3, b=3), members)) == {
        "c0": "a0 a2 b1",
        "c1": "a1 b0 b2",
    }


def test_round_robin_passes_over_members_that_do_not_want_a_topic() -> None:
    """Javadoc of RoundRobinAssignor, second example."""
    members = {"c0": wants("a"), "c1": wants("a", "b"), "c2": wants("a", "b", "c")}
    assert shown(ASSIGNORS["roundrobin"].assign(sized(a=1, b=2, c=3), members)) == {
        "c0": "a0",
        "c1": "b0",
        "c2": "b1 c0 c1 c2",
    }


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
def test_topics_that_do_not_exist_are_no_ones(name: str) -> None:
    assert ASSIGNORS[name].assign(sized(a=1), {"m": wants("a", "ghost")}) == {
        "m": [TopicPartition("a", 0)]
    }


def test_sticky_moves_only_what_balance_needs() -> None:
    members = {
        "old": wants("a", owned="a0 a1 a2 a3"),
        "new": wants("a"),
    }
    assert shown(assign_sticky(sized(a=4), members)[0]) == {"old": "a0 a1", "new": "a2 a3"}


def test_sticky_hands_out_what_a_leaver_left_and_keeps_the_rest() -> None:
    members = {"x": wants("a", owned="a0 a3"), "y": wants("a", owned="a1")}
    assert shown(assign_sticky(sized(a=4), members)[0]) == {"x": "a0 a3", "y": "a1 a2"}


def test_a_claim_of_an_older_generation_loses() -> None:
    members = {
        "zombie": wants("a", owned="a0 a1", generation=3),
        "live": wants("a", owned="a0", generation=4),
    }
    assert shown(assign_sticky(sized(a=2), members)[0]) == {"zombie": "a1", "live": "a0"}


def test_two_claims_in_one_generation_are_both_void() -> None:
    members = {"x": wants("a", owned="a0"), "y": wants("a", owned="a0")}
    assigned = assign_sticky(sized(a=1), members)[0]
    assert sorted(len(tps) for tps in assigned.values()) == [0, 1]


def test_cooperative_takes_away_first_and_gives_in_the_next_round() -> None:
    """KIP-429: no partition has two owners, not even for a moment."""
    first = {"old": wants("a", owned="a0 a1"), "new": wants("a")}
    assert shown(ASSIGNORS["cooperative-sticky"].assign(sized(a=2), first)) == {
        "old": "a0",
        "new": "",
    }
    second = {"old": wants("a", owned="a0"), "new": wants("a")}
    assert shown(ASSIGNORS["cooperative-sticky"].assign(sized(a=2), second)) == {
        "old": "a0",
        "new": "a1",
    }


def strategy(value: object) -> tuple[object, ...]:
    config = parse_settings(
        ConsumerConfig, {"bootstrap_servers": "a:1", "partition_assignment_strategy": value}
    )
    return config.partition_assignment_strategy


def test_a_strategy_is_a_list_of_names_or_of_ones_own_assignors() -> None:
    class Own(RoundRobinAssignor):
        name = "own"

    own = Own()
    assert strategy("sticky") == ("sticky",)
    assert strategy("range, sticky") == ("range", "sticky")
    assert strategy(own) == (own,)
    assert strategy(["range", own]) == ("range", own)
    assert [a.name for a in chosen_assignors(("sticky", own))] == ["sticky", "own"]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], "must be a list of different assignors"),
        (["range", RangeAssignor()], "must be a list of different assignors"),
        ("mystery", "must be one of range, roundrobin, sticky, cooperative-sticky; got 'mystery'"),
        (7, "must be a list of names, got 7"),
    ],
)
def test_a_strategy_that_no_group_could_use_is_refused(value: object, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        strategy(value)
