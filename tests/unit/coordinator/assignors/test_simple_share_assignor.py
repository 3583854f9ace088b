"""The simple assignor of share groups: everybody works, evenly, and keeps what it has (KIP-932; as Kafka 4.3's SimpleAssignor)."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from millstream.coordinator.assignors import simple_share_assignor as share_simple
from millstream.coordinator.assignors.partition_assignor import (
    AssignableGroup,
    AssignableMember,
    Partitions,
)
from millstream.model import Uuid

ONE, TWO = Uuid(b"1" * 16), Uuid(b"2" * 16)
NAMES = {ONE: "one", TWO: "two"}


def assigned(
    partitions: dict[Uuid, int],
    members: dict[str, set[Uuid]],
    before: dict[str, Partitions] | None = None,
) -> dict[str, str]:
    group = AssignableGroup(
        {
            name: AssignableMember(frozenset(topics), (before or {}).get(name, {}))
            for name, topics in members.items()
        }
    )
    targets = share_simple.assign(group, {t: frozenset(range(n)) for t, n in partitions.items()})
    return {
        name: " ".join(sorted(f"{NAMES[t]}:{p}" for t, numbers in target.items() for p in numbers))
        for name, target in targets.items()
    }


def test_one_member_reads_all() -> None:
    assert assigned({ONE: 2, TWO: 1}, {"a": {ONE, TWO}}) == {"a": "one:0 one:1 two:0"}


def test_partitions_are_shared_out() -> None:
    assert assigned({ONE: 4}, {"a": {ONE}, "b": {ONE}}) == {"a": "one:0 one:2", "b": "one:1 one:3"}


def test_members_share_a_partition_when_there_are_too_few() -> None:
    assert assigned({ONE: 1}, {"a": {ONE}, "b": {ONE}, "c": {ONE}}) == dict.fromkeys("abc", "one:0")


def test_partitions_that_may_not_be_read_yet_are_nobodys() -> None:
    assert assigned({ONE: 0}, {"a": {ONE}}) == {}
    assert assigned({ONE: 1}, {"a": {ONE, TWO}}) == {"a": "one:0"}


def test_everybody_keeps_what_it_has() -> None:
    before = {"a": {ONE: frozenset({1, 3})}, "b": {ONE: frozenset({0, 2})}}
    kept = {"a": "one:1 one:3", "b": "one:0 one:2"}
    assert assigned({ONE: 4}, {"a": {ONE}, "b": {ONE}}, before) == kept


def test_a_new_member_gets_a_share() -> None:
    before = {"a": {ONE: frozenset(range(4))}}
    assert assigned({ONE: 4}, {"a": {ONE}, "b": {ONE}}, before) == {
        "a": "one:0 one:1",
        "b": "one:2 one:3",
    }


def test_topics_are_shared_out_one_by_one_among_members_that_differ() -> None:
    targets = assigned({ONE: 2, TWO: 2}, {"a": {ONE}, "b": {ONE, TWO}})
    assert targets["a"] in ("one:0", "one:1")
    assert targets["b"].endswith("two:0 two:1")


@given(
    partitions=st.integers(1, 12),
    members=st.integers(1, 12),
    held=st.dictionaries(st.integers(0, 11), st.sets(st.integers(0, 11)), max_size=12),
)
def test_the_work_is_even_whatever_was_before(
    partitions: int, members: int, held: dict[int, set[int]]
) -> None:
    names = [f"m{n:02}" for n in range(members)]
    before = {
        names[n]: {ONE: frozenset(p for p in numbers if p < partitions)}
        for n, numbers in held.items()
        if n < members
    }
    targets = assigned({ONE: partitions}, {name: {ONE} for name in names}, before)
    readers = Counter(place for text in targets.values() for place in text.split())
    sizes = [len(targets.get(name, "").split()) for name in names]
    assert set(readers) == {f"one:{n}" for n in range(partitions)}, "every partition is read"
    assert max(readers.values()) <= -(-members // partitions)
    assert min(sizes) >= min(1, partitions), "everybody has work"
    if members <= partitions:
        assert max(sizes) - min(sizes) <= 1
