"""AddPartitionsToTxn: what is part of a transaction before anything is written to it."""

from __future__ import annotations

import pytest

from millstream.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidRequest,
    NotEnoughReplicas,
    ProducerFenced,
    TransactionAbortable,
)
from millstream.protocol.enums import TransactionState
from tests.support.coordinators.transactions import START_WALL_MS, SimTransactions

T0, T1 = ("t", 0), ("t", 1)


def test_a_transaction_begins_with_its_first_partition(world: SimTransactions) -> None:
    producer = world.init()
    world.pass_time(500)
    assert world.add(producer, T0) == [0]
    begun = world.state()
    assert (begun.state, begun.partitions) == (TransactionState.ONGOING, {T0})
    assert begun.start_timestamp_ms == START_WALL_MS + 500


def test_further_partitions_join_the_same_transaction(world: SimTransactions) -> None:
    producer = world.init()
    world.add(producer, T0)
    world.pass_time(500)
    assert world.add(producer, T0, T1) == [0, 0]
    assert world.state().partitions == {T0, T1}
    assert world.state().start_timestamp_ms == START_WALL_MS


def test_what_is_part_of_it_already_is_not_written_again(world: SimTransactions) -> None:
    producer = world.init()
    world.add(producer, T0)
    written = len(world.log)
    assert world.add(producer, T0) == [0]
    assert len(world.log) == written


@pytest.mark.parametrize("verify_only", [False, True])
def test_others_may_not_add_and_are_not_verified(world: SimTransactions, verify_only: bool) -> None:
    world.init()
    world.init()
    with pytest.raises(ProducerFenced):
        world.add((1000, 0), T0, verify_only=verify_only)
    with pytest.raises(ProducerFenced):
        world.add((1000, 2), T0, verify_only=verify_only)
    with pytest.raises(InvalidProducerIdMapping):
        world.add((1001, 1), T0, verify_only=verify_only)
    with pytest.raises(InvalidProducerIdMapping):
        world.add((1000, 1), T0, transactional_id="unknown", verify_only=verify_only)
    with pytest.raises(InvalidRequest):
        world.add((1000, 1), T0, transactional_id="", verify_only=verify_only)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("verify_only", [False, True])
def test_the_next_transaction_waits_for_the_markers_of_this_one(
    world: SimTransactions, commit: bool, verify_only: bool
) -> None:
    producer = world.init()
    world.add(producer, T0)
    producer = world.end(producer, commit=commit)
    with pytest.raises(ConcurrentTransactions):
        world.add(producer, T1, verify_only=verify_only)
    world.write_markers()
    assert world.add(producer, T1) == [0]
    assert world.state().partitions == {T1}


def test_verification_changes_nothing_and_names_what_is_missing(world: SimTransactions) -> None:
    producer = world.init()
    world.add(producer, T0, version=3)
    written = len(world.log)
    assert world.add(producer, T0, T1, verify_only=True) == [0, TransactionAbortable.code]
    assert (len(world.log), world.state().partitions) == (written, {T0})


def test_a_transaction_that_could_not_be_written_has_not_begun(world: SimTransactions) -> None:
    producer = world.init()
    world.next_append_error = NotEnoughReplicas()
    with pytest.raises(Exception, match="could not store"):
        world.add(producer, T0)
    assert world.state().state is TransactionState.EMPTY
    world.pass_time(120_000)
    assert world.state().producer_epoch == 0
    assert world.add(producer, T0) == [0]
