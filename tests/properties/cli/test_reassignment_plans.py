"""Whatever replicas there are, a plan has the right number of them on the brokers that may have them, evenly, and settles at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.cli.cluster.reassignment.balance import balanced
from millstream.model import TopicPartition

broker_ids = st.integers(1, 6)


@st.composite
def clusters(
    draw: st.DrawFn,
) -> tuple[dict[TopicPartition, tuple[int, ...]], dict[int, str | None], int]:
    brokers = draw(st.lists(broker_ids, min_size=1, unique=True))
    factor = draw(st.integers(1, len(brokers)))
    replicas = draw(
        st.lists(st.lists(broker_ids, min_size=1, max_size=4, unique=True), max_size=25)
    )
    racks = draw(st.sampled_from((None, ("a", "b"), ("a", "b", "c"))))
    current = {TopicPartition("t", n): tuple(each) for n, each in enumerate(replicas)}
    of = {b: None if racks is None else racks[b % len(racks)] for b in brokers}
    return current, of, factor


@given(clusters())
def test_a_plan_is_even_and_settled(
    case: tuple[dict[TopicPartition, tuple[int, ...]], dict[int, str | None], int],
) -> None:
    current, racks, factor = case
    planned = balanced(current, racks, factor)
    assert planned.keys() == current.keys()
    for replicas in planned.values():
        assert len(replicas) == len(set(replicas)) == factor
        assert set(replicas) <= racks.keys()
    if not any(racks.values()):
        held = [sum(broker in each for each in planned.values()) for broker in racks]
        assert max(held) - min(held) <= 1
    again = balanced(planned, racks, factor)
    assert {k: set(v) for k, v in again.items()} == {k: set(v) for k, v in planned.items()}


@given(clusters())
def test_replicas_use_as_many_racks_as_there_are(
    case: tuple[dict[TopicPartition, tuple[int, ...]], dict[int, str | None], int],
) -> None:
    """Where partitions begin with none of their replicas here: nothing is kept that stands badly."""
    current, racks, factor = case
    if not any(racks.values()):
        return
    away = {key: tuple(100 + n for n in range(len(each))) for key, each in current.items()}
    for replicas in balanced(away, racks, factor).values():
        used = {racks[broker] for broker in replicas}
        assert len(used) == min(factor, len(set(racks.values())))
