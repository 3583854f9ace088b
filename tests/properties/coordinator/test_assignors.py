"""What holds for every assignment of the server-side assignors, whatever the group looked like before."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.coordinator.assignors.partition_assignor import (
    AssignableGroup,
    AssignableMember,
    PartitionAssignor,
    Partitions,
)
from millstream.coordinator.assignors.range_assignor import RangeAssignor
from millstream.coordinator.assignors.uniform_assignor import UniformAssignor
from millstream.model import Uuid

TOPICS = [Uuid(bytes([n]) * 16) for n in range(1, 5)]
ASSIGNORS = [RangeAssignor(), UniformAssignor()]


@st.composite
def groups(draw: st.DrawFn, *, homogeneous: bool = False) -> AssignableGroup:
    """Members own anything at all from before, but no partition twice."""
    counts = {topic: draw(st.integers(1, 7)) for topic in TOPICS}
    ids = draw(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=6, unique=True))
    topics = st.frozensets(st.sampled_from(TOPICS))
    shared = draw(topics)
    owned: dict[str, dict[Uuid, set[int]]] = {member: {} for member in ids}
    for topic in TOPICS:
        for partition in range(counts[topic] + 1):
            owner = draw(st.sampled_from([None, *ids]))
            if owner is not None:
                owned[owner].setdefault(topic, set()).add(partition)
    members = {
        member: AssignableMember(
            shared if homogeneous else draw(topics),
            {topic: frozenset(partitions) for topic, partitions in owned[member].items()},
            draw(st.sampled_from([None, f"instance-{member}"])),
        )
        for member in ids
    }
    return AssignableGroup(members, counts)


def sizes(targets: Mapping[str, Partitions], group: AssignableGroup) -> dict[str, int]:
    return {m: sum(map(len, targets.get(m, {}).values())) for m in group.members}


def carried_on(group: AssignableGroup, targets: Mapping[str, Partitions]) -> AssignableGroup:
    members = {
        member_id: AssignableMember(member.topic_ids, targets.get(member_id, {}))
        for member_id, member in group.members.items()
    }
    return AssignableGroup(members, group.partition_counts)


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=lambda a: a.name)
@given(group=groups())
def test_every_partition_somebody_wants_has_one_owner_who_wants_it(
    assignor: PartitionAssignor, group: AssignableGroup
) -> None:
    targets = assignor.assign(group)
    given_out = [
        (topic, partition)
        for target in targets.values()
        for topic, partitions in target.items()
        for partition in partitions
    ]
    wanted = {topic for member in group.members.values() for topic in member.topic_ids}
    assert sorted(given_out) == sorted(
        (topic, partition) for topic in wanted for partition in range(group.partition_counts[topic])
    )
    for member_id, target in targets.items():
        assert target.keys() <= group.members[member_id].topic_ids


@given(groups(homogeneous=True))
def test_uniform_shares_differ_by_one_at_most_when_everyone_reads_the_same(
    group: AssignableGroup,
) -> None:
    shares = sizes(UniformAssignor().assign(group), group).values()
    assert max(shares) - min(shares) <= 1


@given(groups())
def test_uniform_leaves_nobody_who_could_take_from_a_member_with_two_more(
    group: AssignableGroup,
) -> None:
    targets = UniformAssignor().assign(group)
    shares = sizes(targets, group)
    for owner, target in targets.items():
        for topic in target:
            for other, member in group.members.items():
                if topic in member.topic_ids:
                    assert shares[owner] <= shares[other] + 1


@given(groups(homogeneous=True))
def test_uniform_moves_no_more_than_balance_asks_for(group: AssignableGroup) -> None:
    """Of what members own and still read, only what is above their share goes."""
    targets = UniformAssignor().assign(group)
    shares = sizes(targets, group)
    for member_id, member in group.members.items():
        valid = {
            (topic, partition)
            for topic, partitions in member.assigned.items()
            if topic in member.topic_ids
            for partition in partitions
            if partition < group.partition_counts[topic]
        }
        kept = {(t, p) for t, ps in targets[member_id].items() for p in ps} & valid
        assert len(kept) == min(len(valid), shares[member_id])


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=lambda a: a.name)
@given(group=groups())
def test_nothing_moves_when_nothing_has_changed(
    assignor: PartitionAssignor, group: AssignableGroup
) -> None:
    group = carried_on(group, {})
    first = assignor.assign(group)
    again = assignor.assign(carried_on(group, first))
    assert {m: dict(first.get(m, {})) for m in group.members} == {
        m: dict(again.get(m, {})) for m in group.members
    }


@given(groups(homogeneous=True))
def test_range_gives_the_same_numbers_of_topics_with_as_many_partitions(
    group: AssignableGroup,
) -> None:
    counts = dict.fromkeys(group.partition_counts, 5)
    targets = RangeAssignor().assign(AssignableGroup(group.members, counts))
    assert all(len(set(target.values())) <= 1 for target in targets.values())
