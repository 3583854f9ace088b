"""What may be committed: the end of what is acked without a gap, whatever the order of acks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.clients import IllegalState
from millstream.clients.spout.core.offsets import EmittedOffsets


def emitted(*offsets: int) -> EmittedOffsets:
    partition = EmittedOffsets()
    for offset in offsets:
        partition.emit(offset)
    return partition


def test_nothing_is_committable_before_the_first_record() -> None:
    assert EmittedOffsets().committable() is None


def test_the_lowest_pending_offset_is_committable() -> None:
    partition = emitted(1, 2, 3)
    assert partition.ack(1)
    assert partition.ack(3)
    assert partition.committable() == 2
    assert partition.ack(2)
    assert partition.committable() == 4


def test_offsets_without_a_record_do_not_stop_the_run() -> None:
    partition = emitted(10, 14, 20)
    partition.ack(10)
    assert partition.committable() == 14
    partition.ack(14)
    partition.ack(20)
    partition.advance_to(23)
    assert partition.committable() == 23


def test_an_ack_of_what_is_not_pending_changes_nothing() -> None:
    partition = emitted(5)
    assert not partition.ack(4)
    assert not partition.ack(6)
    assert partition.committable() == 5
    assert partition.ack(5)
    assert not partition.ack(5)
    assert partition.committable() == 6


def test_an_offset_below_an_earlier_one_is_refused() -> None:
    partition = emitted(5)
    with pytest.raises(IllegalState, match="offset 5 was passed already: the next one is 6"):
        partition.emit(5)


def test_records_count_as_uncommitted_until_the_commit() -> None:
    partition = emitted(0, 1, 2)
    partition.ack(0)
    assert (partition.pending_count, partition.uncommitted_count) == (2, 3)
    partition.commit(1)
    assert (partition.pending_count, partition.uncommitted_count) == (2, 2)
    assert partition.committed == 1


@given(
    gaps=st.lists(st.integers(1, 3), min_size=1, max_size=30),
    data=st.data(),
)
def test_no_unacked_record_is_ever_passed_and_in_the_end_all_are(
    gaps: list[int], data: st.DataObject
) -> None:
    offsets = [sum(gaps[: number + 1]) for number in range(len(gaps))]
    partition, unacked, to_emit = EmittedOffsets(), set(), list(offsets)
    committed = 0
    while to_emit or unacked:
        if to_emit and (not unacked or data.draw(st.booleans(), label="emit")):
            partition.emit(to_emit[0])
            unacked.add(to_emit.pop(0))
        else:
            acked = data.draw(st.sampled_from(sorted(unacked)), label="ack")
            unacked.discard(acked)
            assert partition.ack(acked)
        committable = partition.committable()
        assert committable is not None
        assert all(committable <= offset for offset in unacked)
        assert committable >= committed
        committed = committable
        if data.draw(st.booleans(), label="commit"):
            partition.commit(committed)
            assert partition.uncommitted_count == sum(
                committed <= o for o in offsets if o not in to_emit
            )
    assert committed == offsets[-1] + 1
