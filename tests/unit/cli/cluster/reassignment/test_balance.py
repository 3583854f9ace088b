"""Plans of reassignments: evenly, over racks, and with as few moves as that takes."""

from __future__ import annotations

import pytest

from millstream.cli.cluster.reassignment.balance import balanced
from millstream.errors import ConfigError
from millstream.model import TopicPartition


def partitions(*replicas: tuple[int, ...]) -> dict[TopicPartition, tuple[int, ...]]:
    return {TopicPartition("t", number): each for number, each in enumerate(replicas)}


def no_racks(*brokers: int) -> dict[int, str | None]:
    return dict.fromkeys(brokers)


def test_what_is_even_stays() -> None:
    current = partitions((1, 2), (2, 3), (3, 1))
    assert balanced(current, no_racks(1, 2, 3)) == current


def test_a_new_broker_takes_its_share_and_nothing_else_moves() -> None:
    current = partitions((1, 2), (2, 1), (1, 2), (2, 1), (1, 2), (2, 1))
    planned = balanced(current, no_racks(1, 2, 3))
    assert sum(3 in replicas for replicas in planned.values()) == 4
    moved = sum(len(set(planned[key]) - set(current[key])) for key in current)
    assert moved == 4
    assert {replicas[0] for replicas in planned.values()} == {1, 2, 3}


def test_a_broker_that_is_to_go_has_nothing_left() -> None:
    planned = balanced(partitions((1, 2), (2, 3), (3, 1)), no_racks(1, 3, 4))
    assert not any(2 in replicas for replicas in planned.values())
    assert all(len(set(replicas)) == 2 for replicas in planned.values())


def test_partitions_get_as_many_replicas_as_they_shall_have() -> None:
    grown = balanced(partitions((1,), (2,), (3,)), no_racks(1, 2, 3), 3)
    assert {tuple(sorted(replicas)) for replicas in grown.values()} == {(1, 2, 3)}
    assert [replicas[0] for replicas in grown.values()] == [1, 2, 3]
    assert balanced(grown, no_racks(1, 2, 3), 1) == partitions((1,), (2,), (3,))


def test_replicas_stand_on_different_racks() -> None:
    racks: dict[int, str | None] = {1: "a", 2: "a", 3: "b", 4: "b"}
    planned = balanced(partitions(*[(1, 3)] * 8), racks)
    assert all({racks[each] for each in replicas} == {"a", "b"} for replicas in planned.values())
    assert sum(4 in replicas for replicas in planned.values()) == 4


def test_more_replicas_than_brokers_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match="3 replicas need as many brokers, and there are 2"):
        balanced(partitions((1, 2, 3)), no_racks(1, 2))
    with pytest.raises(ConfigError, match="2 replicas need as many brokers, and there is 1"):
        balanced(partitions((1,)), no_racks(1), 2)


def test_no_partitions_is_no_plan() -> None:
    assert balanced({}, no_racks(1)) == {}
