"""Kafka's striped placement of replicas."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.controller.topics.placement import UsableBroker, place_replicas
from millstream.errors import InvalidReplicationFactor


class Zero:
    """Randomness that always says zero."""

    def random(self) -> float:
        return 0.0

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


def brokers(*ids: int, rack: str | None = None, fenced: bool = False) -> list[UsableBroker]:
    return [UsableBroker(n, rack, fenced) for n in ids]


@pytest.mark.parametrize(
    ("known", "factor", "expected"),
    [
        (
            brokers(0, 1, 2, 3),
            3,
            "012 123 230 301 123 230 301 012 230 301",  # the second round is shuffled
        ),
        (
            [*brokers(0, 1, rack="a"), *brokers(2, 3, rack="b"), *brokers(4, rack="c", fenced=True), *brokers(5)],
            4,
            "5024 1345 2450 5413 5024 2450 5413 5024 1345 2450 5024 1345",
        ),
        (
            [*brokers(1, rack="a"), *brokers(2, rack="a", fenced=True), *brokers(3, rack="b", fenced=True),
             *brokers(7, rack="b"), *brokers(9, rack="c", fenced=True)],
            3,
            "179 791 179 791 179 791 179 791 179",
        ),
    ],
)  # fmt: skip
def test_replicas_are_those_of_kafkas_placer(
    known: list[UsableBroker], factor: int, expected: str
) -> None:
    """What the striped placer of 4.3.1 gives with the same randomness."""
    wanted = [tuple(int(broker) for broker in replicas) for replicas in expected.split()]
    assert place_replicas(known, len(wanted), factor, Zero()) == wanted


def test_racks_are_striped() -> None:
    known = brokers(0, 1, rack="a") + brokers(2, 3, rack="b") + brokers(4, 5, rack="c")
    placed = place_replicas(known, 6, 3, Zero())
    assert all(len({broker // 2 for broker in replicas}) == 3 for replicas in placed)
    assert [replicas[0] // 2 for replicas in placed[:3]] == [0, 1, 2]


def test_a_fenced_broker_leads_nothing_and_comes_last_in_its_rack() -> None:
    known = brokers(1, 2) + brokers(3, fenced=True)
    for replicas in place_replicas(known, 20, 3, random.Random(1)):
        assert replicas[0] != 3
        assert set(replicas) == {1, 2, 3}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_replicas_are_distinct_and_even(seed: int, factor: int) -> None:
    known = brokers(1, 2, rack="a") + brokers(3, 4, rack="b") + brokers(5, rack=None)
    placed = place_replicas(known, 500, factor, random.Random(seed))
    assert all(len(set(replicas)) == factor for replicas in placed)
    leaders = Counter(replicas[0] for replicas in placed)
    assert set(leaders) == {1, 2, 3, 4, 5}
    per_rack = Counter(
        {1: "a", 2: "a", 3: "b", 4: "b", 5: None}[leader] for leader in leaders.elements()
    )
    assert max(per_rack.values()) - min(per_rack.values()) <= 100


clusters = st.lists(
    st.tuples(st.integers(0, 50), st.sampled_from(["a", "b", "c", None]), st.booleans()),
    min_size=1, max_size=12, unique_by=lambda broker: broker[0],
).map(lambda known: [UsableBroker(*broker) for broker in known])  # fmt: skip


@given(clusters, st.data(), st.integers(0, 2**32))
def test_racks_are_used_before_they_repeat_and_who_is_up_leads(
    known: list[UsableBroker], data: st.DataObject, seed: int
) -> None:
    """Ids may have gaps; a broker without a rack is in a rack of its own kind."""
    if all(broker.fenced for broker in known):
        known.append(UsableBroker(51, "a"))
    racks = {broker.id: broker.rack for broker in known}
    factor = data.draw(st.integers(1, len(known)))
    placed = place_replicas(known, data.draw(st.integers(1, 40)), factor, random.Random(seed))
    up = {broker.id for broker in known if not broker.fenced}
    for replicas in placed:
        assert replicas[0] in up
        assert len(set(replicas)) == len(replicas) == factor
        assert len({racks[broker] for broker in replicas}) == min(factor, len(set(racks.values())))


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 60), st.integers(0, 2**32))
def test_in_racks_of_one_size_brokers_lead_equally_often(
    rack_count: int, size: int, partitions: int, seed: int
) -> None:
    known = [UsableBroker(n, f"rack {n % rack_count}") for n in range(rack_count * size)]
    leaders = Counter(dict.fromkeys(range(len(known)), 0))
    placed = place_replicas(known, partitions, 1, random.Random(seed))
    leaders.update(replicas[0] for replicas in placed)
    assert max(leaders.values()) - min(leaders.values()) <= 1


def test_where_placing_begins_is_drawn() -> None:
    first = {place_replicas(brokers(0, 1, 2), 1, 1, random.Random(n))[0] for n in range(50)}
    assert first == {(0,), (1,), (2,)}


def test_too_few_brokers_are_refused() -> None:
    with pytest.raises(
        InvalidReplicationFactor,
        match="The target replication factor of 3 cannot be reached because only 2 broker",
    ):
        place_replicas(brokers(1, 2), 1, 3, Zero())
    with pytest.raises(InvalidReplicationFactor, match="fenced"):
        place_replicas(brokers(1, 2, fenced=True), 1, 1, Zero())
    with pytest.raises(InvalidReplicationFactor):
        place_replicas([], 1, 1, Zero())
