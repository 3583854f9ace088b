"""A transaction is told to be complete when its marker is on every leader to come, whatever leader comes and goes before that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.long_work import LongWork
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.storage.durability import Durability
from millstream.broker.transactions import completion
from millstream.broker.transactions.completion import TransactionCompletion
from millstream.broker.transactions.markers import TransactionMarkers
from millstream.coordinator.transaction.context import PreparedTransaction
from millstream.coordinator.transaction.state import TransactionVersion
from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.model import ProducerId, TopicPartition
from millstream.protocol.enums import TransactionState
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.runtime.system import SystemClock
from tests.support.replicated_partition import NOW, ReplicatedPartition

T0 = TopicPartition("t", 0)
PRODUCER = 1000
WRITTEN_EPOCH, MARKER_EPOCH = 3, 4
PREPARED = PreparedTransaction(
    TransactionMetadata(
        "x",
        ProducerId(PRODUCER),
        MARKER_EPOCH,
        60_000,
        TransactionState.PREPARE_COMMIT,
        frozenset({T0}),
        client_version=TransactionVersion.TV_2,
    )
)
SHARES = st.sampled_from([0.0, 0.5, 1.0])
STEPS = st.tuples(
    st.one_of(
        st.tuples(st.just("replicate"), SHARES),
        st.tuples(st.just("lose"), SHARES, st.integers(0, 2)),
        st.just("time out"),
    ),
    st.booleans(),
)


class World:
    """A partition with an open transaction that is being completed. Also plays its coordinator, and the metadata."""

    is_closed = False
    leader_epoch = 7

    def __init__(self) -> None:
        clock = SystemClock()
        self.purgatory = Purgatory(clock)
        self.replicated = ReplicatedPartition(T0, self.purgatory.wake)
        options = BatchOptions(
            producer_id=PRODUCER,
            producer_epoch=WRITTEN_EPOCH,
            base_sequence=0,
            is_transactional=True,
        )
        batch = memoryview(build_batch([Record(value=b"a", timestamp=1)], options))
        self.replicated.partition.append(batch, NOW)
        self.replicated.replicate()
        self.is_told = False
        me: Any = self  # Any: as much of each as is called
        services = CoordinatorServices(
            clock,
            self.purgatory.wake,
            Durability(me, self.purgatory, lambda: "never"),
            0,
            pool=me,
            long_work=LongWork(lambda: 0.0),
        )
        self.completion = TransactionCompletion(
            TransactionMarkers(me, me, services, failures=FailureLog(clock)),  # type: ignore[arg-type]  # this node leads all
            me,
            LongWork(lambda: 0.0),
        )

    def get(self, _topic: str, _number: int) -> object:
        return self.replicated.partition

    @property
    def image(self) -> World:
        return self

    def partition(self, _topic: str, _number: int) -> object:
        return self.replicated.image

    def submit(self, _request: object, _caller: object, _check: object) -> asyncio.Future[object]:
        self.is_told = True
        self.check()
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        answer.set_result(None)
        return answer

    def check(self) -> None:
        """Of a transaction that is told to be complete nothing is open in what is committed."""
        partition = self.replicated.partition
        if self.is_told:
            entry = partition.log.producers.last_marker_offset(PRODUCER)
            assert 0 <= entry < partition.high_watermark, "a marker told before it is replicated"
            assert partition.last_stable_offset == partition.high_watermark

    def happen(self, step: object) -> None:
        replicated = self.replicated
        mark, end = replicated.partition.high_watermark, replicated.log.log_end_offset
        match step:
            case "time out":
                self.purgatory.expire()
            case ("replicate", float(share)):
                replicated.replicate(mark + round((end - mark) * share))
            case ("lose", float(share), int(count)):
                replicated.follow()
                records = [Record(value=b"another", timestamp=1) for _ in range(count)]
                replicated.take_over(mark + round((end - mark) * share), records)
                replicated.lead()


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def play(steps: list[tuple[object, bool]]) -> None:
    world = World()
    coordinator: Any = world  # Any: what is asked of a coordinator's partition
    async with asyncio.TaskGroup() as tasks:
        completing = tasks.create_task(world.completion.complete(coordinator, PREPARED))
        for step, runs in steps:
            world.happen(step)
            if runs:
                await turns()
            world.check()
        for _ in range(20):
            await turns()
            world.purgatory.expire()
            world.replicated.replicate()
            await turns()
            world.replicated.replicate()
        assert completing.done(), "a transaction whose partition has its replicas is completed"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "_RETRY_PAUSE_S", 0)


@pytest.mark.usefixtures("at_once")
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=20))
def test_a_complete_transaction_has_its_marker_on_every_leader_to_come(
    steps: list[tuple[object, bool]],
) -> None:
    asyncio.run(play(steps))
