"""Whatever step of a transaction the log refuses: afterwards the coordinator knows what it knew before, and the step can be tried again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.transaction.shard import TransactionShard
from millstream.errors import KafkaError, NotEnoughReplicas
from millstream.model import NO_PRODUCER_ID, Offset, TopicPartition
from millstream.protocol.record_frames import decode_transaction_record
from tests.support.coordinators.transactions import SimTransactions

T0 = TopicPartition("t", 0)
HOUR_MS = 3_600_000


def producer(world: SimTransactions) -> tuple[int, int]:
    known = world.shard.transactions.find("x")
    return (NO_PRODUCER_ID, -1) if known is None else (known.producer_id, known.producer_epoch)


def init(world: SimTransactions) -> None:
    world.init(timeout_ms=60_000)


def init_again(world: SimTransactions) -> None:
    producer_id, epoch = producer(world)
    world.init(producer_id=producer_id, epoch=epoch, timeout_ms=60_000)


def add(world: SimTransactions) -> None:
    world.add(producer(world), T0)


def end(world: SimTransactions, *, commit: bool) -> None:
    world.end(producer(world), commit=commit)


STEPS: Mapping[str, Callable[[SimTransactions], object]] = {
    "init": init,
    "init again": init_again,
    "add a partition": add,
    "commit": partial(end, commit=True),
    "abort": partial(end, commit=False),
    "markers are written": lambda world: world.write_markers(),
    "the transaction times out": lambda world: world.pass_time(60_000),
    "the id expires": lambda world: world.pass_time(8 * 24 * HOUR_MS),
}


def memory(world: SimTransactions) -> dict[str, tuple[object, int]]:
    transactions = world.shard.transactions
    return {
        known.transactional_id: (known, transactions.last_epoch(known.transactional_id))
        for known in transactions
    }


def log(world: SimTransactions) -> set[object]:
    """What a shard knows that has read the log and done nothing yet."""
    shard = TransactionShard(world.config, lambda: NO_PRODUCER_ID)
    for offset, (key, value) in enumerate(world.log):
        shard.replay(Offset(offset), CoordinatorRecord(*decode_transaction_record(key, value)))
    return set(shard.transactions)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.booleans()), max_size=20))
def test_a_refused_step_changes_nothing(story: list[tuple[str, bool]]) -> None:
    world = SimTransactions()
    for name, is_refused in story:
        before, length = memory(world), len(world.log)
        world.next_append_error = NotEnoughReplicas() if is_refused else None
        with suppress(KafkaError):
            STEPS[name](world)
        was_refused = is_refused and world.next_append_error is None
        world.next_append_error = None
        if was_refused and len(world.log) == length:
            assert memory(world) == before
        assert log(world) == set(world.shard.transactions)
