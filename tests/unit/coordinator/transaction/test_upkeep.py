"""What the coordinator does by itself: time-outs, expiry, and taking over from another one."""

from __future__ import annotations

import pytest

from millstream.coordinator.transaction import upkeep
from millstream.coordinator.transaction.context import TransactionCoordinatorConfig
from millstream.coordinator.transaction.state import TRANSITIONS
from millstream.coordinator.transaction.transaction import EPOCH_MAX
from millstream.errors import InvalidProducerIdMapping, NotEnoughReplicas, ProducerFenced
from millstream.protocol.enums import TransactionState
from tests.support.coordinators.transactions import SimTransactions

T0 = ("t", 0)
HOUR_MS = 3_600_000


def test_an_open_transaction_is_aborted_when_its_time_is_up(world: SimTransactions) -> None:
    producer = world.init(timeout_ms=1_000)
    world.pass_time(5_000)
    world.add(producer, T0)
    world.pass_time(999)
    assert world.state().state is TransactionState.ONGOING
    world.pass_time(1)
    assert (world.state().state, world.state().producer_epoch) == (
        TransactionState.PREPARE_ABORT,
        1,
    )
    world.write_markers()
    with pytest.raises(ProducerFenced):
        world.add(producer, T0)


def test_a_transaction_that_ended_does_not_time_out(world: SimTransactions) -> None:
    producer = world.init(timeout_ms=1_000)
    world.add(producer, T0)
    producer = world.end(producer)
    world.write_markers()
    world.pass_time(900)
    world.add(producer, T0)
    world.pass_time(999)
    assert world.state().state is TransactionState.ONGOING


def test_an_abort_that_could_not_be_written_is_tried_again(world: SimTransactions) -> None:
    producer = world.init(timeout_ms=1_000)
    world.add(producer, T0)
    world.next_append_error = NotEnoughReplicas()
    world.pass_time(1_000)
    assert world.state().state is TransactionState.ONGOING
    world.pass_time(10_000)
    assert world.state().state is TransactionState.PREPARE_ABORT


def test_an_abort_that_needs_a_producer_id_waits_for_one(world: SimTransactions) -> None:
    world.init(timeout_ms=1_000)
    world.set_epoch(EPOCH_MAX - 1)
    world.add((1000, EPOCH_MAX - 1), T0)
    world.has_producer_ids = False
    world.pass_time(1_000)
    assert world.state().state is TransactionState.ONGOING
    world.has_producer_ids = True
    world.pass_time(10_000)
    world.write_markers()
    assert (world.state().producer_id, world.state().producer_epoch) == (1001, 0)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("level", [0, 2])
def test_what_was_decided_is_completed_by_the_next_coordinator(level: int, commit: bool) -> None:
    world = SimTransactions(level=level)
    producer = world.init()
    world.add(producer, T0, version=3 if level == 0 else 5)
    world.end(producer, commit=commit, version=4 if level == 0 else 5)
    successor = world.restarted()
    (decided,) = successor.write_markers()
    assert (decided.is_commit, decided.partitions) == (commit, {T0})
    assert successor.state().is_complete


def test_what_was_open_times_out_at_the_next_coordinator_when_it_would_have(
    world: SimTransactions,
) -> None:
    producer = world.init(timeout_ms=1_000)
    world.add(producer, T0)
    world.pass_time(400)
    successor = world.restarted()
    successor.pass_time(599)
    assert successor.state().state is TransactionState.ONGOING
    successor.pass_time(1)
    assert successor.state().state is TransactionState.PREPARE_ABORT


def test_a_successor_answers_a_repeated_end_as_its_predecessor(world: SimTransactions) -> None:
    producer = world.init()
    world.add(producer, T0)
    answer = world.end(producer)
    world.write_markers()
    assert world.restarted().end(producer) == answer


def test_unused_transactional_ids_are_forgotten() -> None:
    config = TransactionCoordinatorConfig(transactional_id_expiration_ms=2 * HOUR_MS)
    world = SimTransactions(config)
    world.init("idle")
    producer = world.init("open", timeout_ms=900_000)
    for _ in range(5):
        world.pass_time(HOUR_MS // 2)
        world.add(producer, T0, transactional_id="open")
        producer = world.end(producer, transactional_id="open")
        world.write_markers()
    with pytest.raises(InvalidProducerIdMapping):
        world.state("idle")
    assert world.state("open").producer_epoch == 5
    assert world.restarted().init("idle") == (1002, 0)


def test_states_follow_each_other_as_kafka_says() -> None:
    previous = {
        state: sorted(each for each in TRANSITIONS if state in TRANSITIONS[each])
        for state in TRANSITIONS
    }
    assert previous == {
        "Empty": ["CompleteAbort", "CompleteCommit", "Empty"],
        "Ongoing": ["CompleteAbort", "CompleteCommit", "Empty", "Ongoing"],
        "PrepareCommit": ["Ongoing"],
        "PrepareAbort": [
            "CompleteAbort",
            "CompleteCommit",
            "Empty",
            "Ongoing",
            "PrepareEpochFence",
        ],
        "CompleteCommit": ["PrepareCommit"],
        "CompleteAbort": ["PrepareAbort"],
        "Dead": ["CompleteAbort", "CompleteCommit", "Empty"],
        "PrepareEpochFence": ["Ongoing"],
    }


def expiring() -> SimTransactions:
    """Ids that are not used for a minute are forgotten; looked at every second."""
    return SimTransactions(
        TransactionCoordinatorConfig(
            transactional_id_expiration_ms=60_000,
            transaction_remove_expired_transaction_cleanup_interval_ms=1_000,
        )
    )


def test_the_producer_of_a_forgotten_id_has_lost_it() -> None:
    world = expiring()
    producer = world.init()
    world.pass_time(61_000)
    with pytest.raises(InvalidProducerIdMapping):
        world.add(producer, T0)
    assert world.init() == (1001, 0)


@pytest.mark.parametrize("is_decided", [False, True])
def test_an_id_with_an_open_or_decided_transaction_is_not_forgotten(is_decided: bool) -> None:
    world = expiring()
    producer = world.init(timeout_ms=900_000)
    world.add(producer, T0)
    if is_decided:
        world.end(producer)
    world.pass_time(120_000)
    expected = TransactionState.PREPARE_COMMIT if is_decided else TransactionState.ONGOING
    assert world.state().state is expected


def test_many_forgotten_ids_are_removed_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_TOMBSTONES_MAX", 2)
    world = expiring()
    for number in range(5):
        world.init(f"id-{number}")
    before = len(world.log)
    world.pass_time(60_000)
    assert len(world.log) == before + 2
    world.pass_time(200)
    assert len(world.log) == before + 5
    with pytest.raises(InvalidProducerIdMapping):
        world.state("id-4")
