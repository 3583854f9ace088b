"""InitProducerId: who may write under a transactional id (KIP-98, KIP-360)."""

from __future__ import annotations

import pytest

from millstream.coordinator.transaction.context import TransactionCoordinatorConfig
from millstream.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidRequest,
    InvalidTransactionTimeout,
    NotEnoughReplicas,
    PolicyViolation,
    ProducerFenced,
)
from millstream.protocol.enums import TransactionState
from tests.support.coordinators.transactions import SimTransactions

LAST_EPOCH = 32_766


def test_a_new_transactional_id_gets_a_new_producer_id_with_epoch_0(world: SimTransactions) -> None:
    assert (world.init("x"), world.init("y")) == ((1000, 0), (1001, 0))


def test_every_further_call_raises_the_epoch(world: SimTransactions) -> None:
    assert [world.init(), world.init(), world.init()] == [(1000, 0), (1000, 1), (1000, 2)]


@pytest.mark.parametrize("level", [0, 2])
def test_an_open_transaction_is_aborted_first(level: int) -> None:
    world = SimTransactions(level=level)
    producer = world.init()
    world.add(producer, ("t", 0), version=3 if level == 0 else 5)
    with pytest.raises(ConcurrentTransactions):
        world.init()
    with pytest.raises(ConcurrentTransactions):
        world.init()
    (aborted,) = world.write_markers()
    assert (aborted.state, aborted.producer_epoch) == (TransactionState.PREPARE_ABORT, 1)
    assert world.init() == (1000, 2)


def test_a_producer_that_names_its_epoch_is_let_in_when_it_is_the_newest(
    world: SimTransactions,
) -> None:
    producer = world.init()
    assert world.init(producer_id=1000, epoch=0) == (1000, 1)
    assert world.init(producer_id=1000, epoch=0) == (1000, 1), "the answer was lost: asked again"
    assert world.init(producer_id=1000, epoch=1) == (1000, 2)
    with pytest.raises(ProducerFenced):
        world.init(producer_id=1000, epoch=producer[1])


def test_a_zombie_that_names_its_epoch_is_fenced(world: SimTransactions) -> None:
    """Somebody else has taken the transactional id."""
    world.init()
    world.init()
    with pytest.raises(ProducerFenced):
        world.init(producer_id=1000, epoch=0)
    assert world.init(producer_id=1000, epoch=1) == (1000, 2)


def test_a_producer_cut_off_in_a_transaction_recovers_with_its_epoch(
    world: SimTransactions,
) -> None:
    """KIP-360: its transaction is aborted, and it goes on under the same producer id."""
    producer = world.init()
    world.add(producer, ("t", 0))
    with pytest.raises(ConcurrentTransactions):
        world.init(producer_id=1000, epoch=0)
    world.write_markers()
    assert world.init(producer_id=1000, epoch=0) == (1000, 1)


def test_the_id_of_another_producer_is_fenced(world: SimTransactions) -> None:
    world.init()
    with pytest.raises(ProducerFenced):
        world.init(producer_id=7, epoch=0)


def test_an_unknown_transactional_id_takes_no_notice_of_what_the_producer_had(
    world: SimTransactions,
) -> None:
    """It had expired."""
    assert world.init(producer_id=7, epoch=5) == (1000, 0)


def test_used_up_epochs_give_a_new_producer_id(world: SimTransactions) -> None:
    world.init()
    world.set_epoch(LAST_EPOCH)
    assert world.init() == (1001, 0)


def test_a_producer_that_missed_the_new_id_may_ask_with_the_old_one(world: SimTransactions) -> None:
    world.init()
    world.set_epoch(LAST_EPOCH)
    assert world.init(producer_id=1000, epoch=LAST_EPOCH) == (1001, 0)
    assert world.init(producer_id=1000, epoch=LAST_EPOCH) == (1001, 0)
    with pytest.raises(ProducerFenced):
        world.init(producer_id=1000, epoch=5)


def test_without_a_producer_id_at_hand_nothing_has_happened(world: SimTransactions) -> None:
    world.has_producer_ids = False
    with pytest.raises(CoordinatorLoadInProgress):
        world.init()
    assert world.log == []


@pytest.mark.parametrize("timeout_ms", [0, -1, 60_001])
def test_time_outs_have_limits(timeout_ms: int) -> None:
    world = SimTransactions(TransactionCoordinatorConfig(transaction_max_timeout_ms=60_000))
    with pytest.raises(InvalidTransactionTimeout):
        world.init(timeout_ms=timeout_ms)
    assert world.init(timeout_ms=60_000) == (1000, 0)


def test_a_transactional_id_is_not_empty(world: SimTransactions) -> None:
    with pytest.raises(InvalidRequest):
        world.init("")


def test_a_new_coordinator_fences_as_the_old_one_did(world: SimTransactions) -> None:
    world.init()
    world.init()
    successor = world.restarted()
    assert successor.init() == (1000, 2)
    with pytest.raises(ProducerFenced):
        successor.init(producer_id=1000, epoch=1)


def test_an_epoch_that_could_not_be_written_takes_no_retry_away(world: SimTransactions) -> None:
    """Who asked for the present epoch may ask again, although another request came between and failed."""
    world.init()
    assert world.init(producer_id=1000, epoch=0) == (1000, 1)
    world.next_append_error = NotEnoughReplicas()
    with pytest.raises(CoordinatorNotAvailable):
        world.init(producer_id=1000, epoch=1)
    assert world.init(producer_id=1000, epoch=0) == (1000, 1)


def test_an_id_too_many_is_refused_and_those_that_are_known_go_on() -> None:
    world = SimTransactions()
    world.shard.transactions.ids_max = 2
    for name in ("one", "two"):
        world.init(name)
    with pytest.raises(PolicyViolation, match="knows 2 transactional ids of 6 characters already"):
        world.init("three")
    world.init("two")
    assert world.shard.transactions.id_bytes == len("one" + "two")
