"""EndTxn: every answer to every state, for clients that keep their epoch and for those that raise it (KIP-890)."""

from __future__ import annotations

import pytest

from millstream.coordinator.transaction.transaction import EPOCH_MAX
from millstream.errors import (
    ConcurrentTransactions,
    CoordinatorNotAvailable,
    InvalidProducerIdMapping,
    InvalidRequest,
    InvalidTxnState,
    NotEnoughReplicas,
    ProducerFenced,
)
from millstream.protocol.enums import TransactionState
from tests.support.coordinators.transactions import SimTransactions

T0 = ("t", 0)
OLD, NEW = 4, 5
"""The last version that keeps the epoch, the first that raises it."""


def ended(world: SimTransactions, *, commit: bool, version: int) -> tuple[int, int]:
    """A transaction from beginning to end; the producer as it was in it."""
    producer = world.init()
    world.add(producer, T0, version=3 if version == OLD else 5)
    world.end(producer, commit=commit, version=version)
    world.write_markers()
    return producer


@pytest.mark.parametrize(("commit", "name"), [(True, "Commit"), (False, "Abort")])
@pytest.mark.parametrize(("version", "epoch"), [(OLD, 0), (NEW, 1)])
def test_the_decision_is_written_then_the_markers_then_the_completion(
    world: SimTransactions, version: int, epoch: int, commit: bool, name: str
) -> None:
    producer = world.init()
    world.add(producer, T0)
    world.end(producer, commit=commit, version=version)
    assert (world.state().state, world.state().producer_epoch) == (f"Prepare{name}", epoch)
    (decided,) = world.write_markers()
    assert (decided.partitions, decided.producer_epoch) == ({T0}, epoch)
    assert (world.state().state, world.state().partitions) == (
        f"Complete{name}",
        frozenset(),
    )


def test_from_version_5_on_the_answer_says_how_to_go_on(world: SimTransactions) -> None:
    producer = world.init()
    world.add(producer, T0)
    assert world.end(producer) == (1000, 1)


def test_up_to_version_4_the_answer_says_nothing(world: SimTransactions) -> None:
    producer = world.init()
    world.add(producer, T0, version=3)
    assert world.end(producer, version=OLD) == (-1, -1)


@pytest.mark.parametrize("commit", [True, False])
def test_a_repeated_end_is_answered_alike(world: SimTransactions, commit: bool) -> None:
    producer = ended(world, commit=commit, version=NEW)
    written = len(world.log)
    assert world.end(producer, commit=commit) == (1000, 1)
    assert len(world.log) == written


@pytest.mark.parametrize("commit", [True, False])
def test_up_to_version_4_a_repeated_end_is_answered_too(
    world: SimTransactions, commit: bool
) -> None:
    producer = ended(world, commit=commit, version=OLD)
    assert world.end(producer, commit=commit, version=OLD) == (-1, -1)


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("commit", [True, False])
def test_while_markers_are_written_everybody_waits(
    world: SimTransactions, version: int, commit: bool
) -> None:
    producer = world.init()
    world.add(producer, T0)
    world.end(producer, version=version)
    with pytest.raises(ConcurrentTransactions):
        world.end(producer, commit=commit, version=version)


def test_up_to_version_4_a_wrong_end_is_a_wrong_state(world: SimTransactions) -> None:
    producer = world.init()
    with pytest.raises(InvalidTxnState):
        world.end(producer, version=OLD)
    with pytest.raises(InvalidTxnState):
        world.end(producer, commit=False, version=OLD)
    world.add(producer, T0, version=3)
    world.end(producer, version=OLD)
    world.write_markers()
    with pytest.raises(InvalidTxnState):
        world.end(producer, commit=False, version=OLD)


def test_an_abort_of_nothing_raises_the_epoch(world: SimTransactions) -> None:
    producer = world.init()
    producer = world.end(producer, commit=False)
    assert producer == (1000, 1)
    world.write_markers()
    assert world.state().state is TransactionState.COMPLETE_ABORT
    producer = world.end(producer, commit=False)
    world.write_markers()
    assert producer == (1000, 2)


def test_there_is_no_commit_of_nothing(world: SimTransactions) -> None:
    producer = world.init()
    with pytest.raises(InvalidTxnState):
        world.end(producer)
    ended(world, commit=True, version=NEW)
    with pytest.raises(InvalidTxnState):
        world.end((1000, 2))


def test_a_commit_and_an_abort_of_nothing_do_not_fence_their_own_producer(
    world: SimTransactions,
) -> None:
    """KAFKA-18464: the abort at the new epoch comes before the markers of the commit are written."""
    producer = world.init()
    world.add(producer, T0)
    producer = world.end(producer)
    with pytest.raises(ConcurrentTransactions):
        world.end(producer, commit=False)
    world.write_markers()
    assert world.end(producer, commit=False) == (1000, 2)


@pytest.mark.parametrize("commit", [True, False])
def test_a_delayed_end_never_reaches_the_next_transaction(
    world: SimTransactions, commit: bool
) -> None:
    """Held back until the next transaction runs, it would have torn it apart (KIP-890)."""
    first = ended(world, commit=True, version=NEW)
    second = (1000, 1)
    world.add(second, T0)
    with pytest.raises(ProducerFenced):
        world.end(first, commit=commit)
    assert world.state().state is TransactionState.ONGOING
    assert world.end(second) == (1000, 2)


def test_an_end_that_says_otherwise_than_the_first_is_refused(world: SimTransactions) -> None:
    producer = ended(world, commit=True, version=NEW)
    with pytest.raises(InvalidTxnState):
        world.end(producer, commit=False)


def test_a_commit_that_races_with_a_time_out_is_in_the_wrong_state(world: SimTransactions) -> None:
    """As in Kafka 4.3.1; later releases say PRODUCER_FENCED (KAFKA-20785)."""
    producer = world.init(timeout_ms=1_000)
    world.add(producer, T0)
    world.pass_time(1_000)
    with pytest.raises(ConcurrentTransactions):
        world.end(producer)
    world.write_markers()
    with pytest.raises(InvalidTxnState):
        world.end(producer)
    assert world.end(producer, commit=False) == (1000, 1), "an abort is what has happened"


def test_up_to_version_4_a_commit_that_races_with_a_time_out_is_fenced(
    older: SimTransactions,
) -> None:
    producer = older.init(timeout_ms=1_000)
    older.add(producer, T0, version=3)
    older.pass_time(1_000)
    with pytest.raises(ProducerFenced):
        older.end(producer, version=OLD)
    older.write_markers()
    with pytest.raises(ProducerFenced):
        older.end(producer, version=OLD)
    assert older.init(producer_id=1000, epoch=1) == (1000, 2)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_who_may_end_a_transaction(world: SimTransactions, version: int) -> None:
    world.init()
    producer = world.init()
    world.add(producer, T0)
    with pytest.raises(ProducerFenced):
        world.end((1000, 0), version=version)
    with pytest.raises(ProducerFenced):
        world.end((1000, 2), version=version)
    with pytest.raises(InvalidProducerIdMapping):
        world.end((1001, 1), version=version)
    with pytest.raises(InvalidProducerIdMapping):
        world.end(producer, transactional_id="unknown", version=version)
    with pytest.raises(InvalidRequest):
        world.end(producer, transactional_id="", version=version)


def test_the_last_epoch_leads_over_to_a_new_producer_id(world: SimTransactions) -> None:
    world.init()
    world.set_epoch(EPOCH_MAX - 1)
    last = (1000, EPOCH_MAX - 1)
    world.add(last, T0)
    assert world.end(last) == (1001, 0)
    (decided,) = world.write_markers()
    assert (decided.producer_id, decided.producer_epoch) == (1000, EPOCH_MAX)
    assert (world.state().producer_id, world.state().producer_epoch) == (1001, 0)
    assert world.end(last) == (1001, 0), "a retry that missed the answer"
    assert world.add((1001, 0), T0) == [0]
    with pytest.raises(InvalidProducerIdMapping):
        world.end(last)


def test_an_end_that_could_not_be_written_has_not_happened(world: SimTransactions) -> None:
    producer = world.init(timeout_ms=20_000)
    world.add(producer, T0)
    world.next_append_error = NotEnoughReplicas()
    with pytest.raises(CoordinatorNotAvailable):
        world.end(producer)
    assert (world.state().state, world.prepared) == (TransactionState.ONGOING, [])
    world.pass_time(20_000)
    assert world.state().state is TransactionState.PREPARE_ABORT, "its time-out still runs"


def test_markers_wait_until_the_decision_is_committed(world: SimTransactions) -> None:
    """Otherwise a new coordinator could decide otherwise after some markers were written."""
    producer = world.init()
    world.add(producer, T0)
    world.commits_by_itself = False
    with pytest.raises(AssertionError, match="nothing was committed"):
        world.end(producer)
    assert world.prepared == []
    world.commit()
    assert len(world.prepared) == 1


def test_markers_that_are_reported_twice_complete_once(world: SimTransactions) -> None:
    producer = world.init()
    world.add(producer, T0)
    producer = world.end(producer)
    (again,) = world.prepared
    world.write_markers()
    world.add(producer, T0)
    world.end(producer)
    written = len(world.log)
    world.prepared = [again]
    world.write_markers()
    assert (len(world.log), world.state().state) == (written, TransactionState.PREPARE_COMMIT)
