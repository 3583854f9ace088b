"""The older placement of replicas: the worked examples, and what holds for all clusters."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.controller.round_robin_placement import RoundRobin, alternated, place_round_robin
from millstream.errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
)

NINE = {broker: f"rack{broker // 3}" for broker in range(9)}


def without_racks(*brokers: int) -> dict[int, str | None]:
    return dict.fromkeys(brokers)


def test_three_brokers_the_shift_grows_with_each_round() -> None:
    order = RoundRobin(start=2, shift=2)
    assert place_round_robin(without_racks(0, 1, 2), 6, 3, order) == [
        (2, 0, 1),
        (0, 1, 2),
        (1, 2, 0),
        (2, 1, 0),
        (0, 2, 1),
        (1, 0, 2),
    ]


def test_values_are_positions_so_ids_may_have_gaps() -> None:
    order = RoundRobin(start=2, shift=2)
    assert place_round_robin(without_racks(2, 5, 8), 1, 3, order) == [(8, 2, 5)]
    other = RoundRobin(start=2, shift=1)
    assert place_round_robin(without_racks(0, 1, 2), 1, 3, other) == [(2, 1, 0)]


def test_five_brokers() -> None:
    placed = place_round_robin(without_racks(0, 1, 2, 3, 4), 10, 3, RoundRobin(start=0, shift=0))
    assert [placed[n] for n in (0, 1, 4, 5, 9)] == [
        (0, 1, 2),
        (1, 2, 3),
        (4, 0, 1),
        (0, 2, 3),
        (4, 1, 2),
    ]


def test_added_partitions_go_on_where_the_others_ended() -> None:
    whole = place_round_robin(without_racks(0, 1, 2), 6, 2, RoundRobin(start=1, shift=0))
    added = place_round_robin(
        without_racks(0, 1, 2), 2, 2, RoundRobin(start=1, shift=0, first_partition=1)
    )
    assert added == whole[1:3]


def test_brokers_of_racks_alternate() -> None:
    assert alternated(NINE) == [0, 3, 6, 1, 4, 7, 2, 5, 8]
    assert alternated({1: "b", 2: "a", 3: "b", 4: "b"}) == [2, 1, 3, 4]


def test_nine_brokers_in_three_racks() -> None:
    placed = place_round_robin(NINE, 10, 3, RoundRobin(start=0, shift=0))
    assert [placed[n] for n in (0, 1, 2, 8, 9)] == [
        (0, 3, 6),
        (3, 6, 1),
        (6, 1, 4),
        (8, 0, 3),
        (0, 4, 7),
    ]
    assert place_round_robin(NINE, 3, 3, RoundRobin(start=1, shift=2)) == [
        (3, 8, 0),
        (6, 0, 3),
        (1, 3, 6),
    ]
    assert place_round_robin(NINE, 1, 4, RoundRobin(start=0, shift=0)) == [(0, 3, 6, 1)]


@pytest.mark.parametrize(
    ("racks", "partitions", "factor", "error"),
    [
        (without_racks(1), 0, 1, InvalidPartitions),
        (without_racks(1), 1, 0, InvalidReplicationFactor),
        (without_racks(1, 2, 3), 1, 4, InvalidReplicationFactor),
        ({1: "a", 2: None}, 1, 1, InvalidReplicaAssignment),
    ],
)
def test_what_cannot_be_placed(
    racks: dict[int, str | None], partitions: int, factor: int, error: type[KafkaError]
) -> None:
    with pytest.raises(error):
        place_round_robin(racks, partitions, factor, RoundRobin(start=0, shift=0))


clusters = st.lists(
    st.tuples(st.integers(0, 50), st.sampled_from("abcd")), min_size=1, max_size=12, unique_by=lambda b: b[0]
).map(dict)  # fmt: skip


@given(clusters, st.data())
def test_replicas_are_distinct_leaders_even_and_racks_used_before_they_repeat(
    racks: dict[int, str], data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    order = RoundRobin(
        start=data.draw(st.integers(0, len(racks) - 1)),
        shift=data.draw(st.integers(0, len(racks) - 1)),
    )
    placed = place_round_robin(racks, data.draw(st.integers(1, 40)), factor, order)
    leaders = Counter(dict.fromkeys(racks, 0))
    leaders.update(replicas[0] for replicas in placed)
    assert max(leaders.values()) - min(leaders.values()) <= 1
    rack_count = len(set(racks.values()))
    for replicas in placed:
        assert len(set(replicas)) == factor
        used = Counter(racks[broker] for broker in replicas)
        assert len(used) == min(factor, rack_count)
