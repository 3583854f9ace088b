"""What every assignment keeps, whoever joins, leaves or wants something else."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.clients.group.assignors import ASSIGNORS, Assignment, MemberSubscription
from millstream.clients.group.assignors.sticky import assign_sticky
from millstream.model import TopicPartition

MEMBERS = [f"consumer-{number}" for number in range(8)]
TOPICS = ["t", "u", "v"]
RACKS = ["r1", "r2"]
ROUNDS_MAX = 8

racks_of_a_partition = st.frozensets(st.sampled_from(RACKS), max_size=2)
topics_on_racks = st.dictionaries(
    st.sampled_from(TOPICS), st.lists(racks_of_a_partition, min_size=1, max_size=7), min_size=1
)
wishes = st.frozensets(st.sampled_from(TOPICS), min_size=1)


@st.composite
def groups(
    draw: st.DrawFn, *, alike: bool = False, on_racks: bool = True
) -> dict[str, MemberSubscription]:
    """New members, who hold nothing."""
    names = draw(st.lists(st.sampled_from(MEMBERS), min_size=1, unique=True))
    same = draw(wishes)
    return {
        name: MemberSubscription(
            topics=same if alike else draw(wishes),
            rack=draw(st.sampled_from([None, *RACKS])) if on_racks else None,
        )
        for name in names
    }


def holding(
    members: Mapping[str, MemberSubscription], assignment: Assignment, generation_id: int
) -> dict[str, MemberSubscription]:
    """The same members, after they took over what they were given."""
    return {
        name: MemberSubscription(
            said.topics, frozenset(assignment.get(name, ())), generation_id, None, said.rack
        )
        for name, said in members.items()
    }


def wanted(
    topics: Mapping[str, list[frozenset[str]]], members: Mapping[str, MemberSubscription]
) -> set[TopicPartition]:
    names = {topic for said in members.values() for topic in said.topics}
    return {TopicPartition(t, index) for t in names for index in range(len(topics.get(t, ())))}


@given(st.sampled_from(sorted(ASSIGNORS)), topics_on_racks, groups())
def test_every_wanted_partition_has_one_owner_that_wants_it(
    name: str,
    topics: dict[str, list[frozenset[str]]],
    members: dict[str, MemberSubscription],
) -> None:
    assignment = ASSIGNORS[name].assign(topics, members)
    assert assignment.keys() == members.keys()
    given_out = [tp for partitions in assignment.values() for tp in partitions]
    assert sorted(given_out) == sorted(wanted(topics, members))
    for member, partitions in assignment.items():
        assert {tp.topic for tp in partitions} <= members[member].topics


@given(topics_on_racks, groups(alike=True), groups(alike=True))
def test_sticky_is_even_for_members_that_want_the_same(
    topics: dict[str, list[frozenset[str]]],
    before: dict[str, MemberSubscription],
    after: dict[str, MemberSubscription],
) -> None:
    held = holding(after, assign_sticky(topics, before)[0], 3)
    sizes = {len(partitions) for partitions in assign_sticky(topics, held)[0].values()}
    assert max(sizes) - min(sizes) <= 1


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), groups())
def test_sticky_moves_nothing_when_nothing_changes(
    counts: list[int], members: dict[str, MemberSubscription]
) -> None:
    topics = {topic: [frozenset[str]()] * n for topic, n in zip(TOPICS, counts, strict=False)}
    assignment, _ = assign_sticky(topics, members)
    again, _ = assign_sticky(topics, holding(members, assignment, 3))
    assert {m: set(tps) for m, tps in again.items()} == {
        m: set(tps) for m, tps in assignment.items()
    }


@given(topics_on_racks, st.booleans(), st.data())
@settings(max_examples=200)
def test_cooperative_gives_nothing_that_somebody_holds_and_comes_to_rest(
    topics: dict[str, list[frozenset[str]]], alike: bool, data: st.DataObject
) -> None:
    """Members on racks that want different topics are left out: where some replicas have no rack, Java's assignor, and
    ours with it, may deal those partitions round and round."""
    before, after = (data.draw(groups(alike=alike, on_racks=alike)) for _ in range(2))
    assign = ASSIGNORS["cooperative-sticky"].assign
    held: Assignment = assign(topics, before)
    for generation_id in range(3, 3 + ROUNDS_MAX):
        members = holding(after, held, generation_id)
        given_out = assign(topics, members)
        for member, partitions in given_out.items():
            others = {tp for name, said in members.items() if name != member for tp in said.owned}
            assert others.isdisjoint(partitions)
        if all(set(held.get(name, ())) == set(given_out[name]) for name in after):
            break
        held = given_out
    else:
        raise AssertionError("the group goes on rebalancing")
    assert {tp for partitions in held.values() for tp in partitions} >= wanted(topics, after)
