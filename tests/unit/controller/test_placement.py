"""Kafka's striped placement of replicas."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from millstream.controller.placement import UsableBroker, place_replicas
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


def test_brokers_take_turns_and_replicas_follow() -> None:
    assert place_replicas(brokers(0, 1, 2, 3), 4, 3, Zero()) == [
        (1, 2, 3),
        (2, 3, 0),
        (3, 0, 1),
        (0, 1, 2),
    ]


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


def test_too_few_brokers_are_refused() -> None:
    with pytest.raises(
        InvalidReplicationFactor, match="3 replicas need as many brokers, and 2 take new ones"
    ):
        place_replicas(brokers(1, 2), 1, 3, Zero())
    with pytest.raises(InvalidReplicationFactor, match="fenced"):
        place_replicas(brokers(1, 2, fenced=True), 1, 1, Zero())
    with pytest.raises(InvalidReplicationFactor):
        place_replicas([], 1, 1, Zero())
