"""Requests of the controller: one after the other, answered when committed, and by nobody who does not lead any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.metadata_log.driver import QuorumDescription
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.storage.disk_pool import DiskPool
from millstream.controller.brokers import broker_lifecycle
from millstream.controller.brokers.broker_lifecycle import BROKER_HEARTBEAT, plan_heartbeat
from millstream.controller.brokers.registration import BROKER_REGISTRATION, plan_registration
from millstream.controller.operation import ControllerResult
from millstream.controller.partitions.leadership import plan_broker_gone
from millstream.controller.settings import ControllerSettings
from millstream.controller.topics.create_topics import CREATE_TOPICS
from millstream.errors import (
    InvalidRequest,
    NotController,
    StaleBrokerEpoch,
    ThrottlingQuotaExceeded,
    TopicAlreadyExists,
)
from millstream.metadata.image import MetadataImage
from millstream.metadata.loader import MetadataBatch
from millstream.metadata.stored_security import quota_entity
from millstream.model import BrokerId, LeaderEpoch, Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.headers import RequestHeader
from millstream.protocol.generated.metadata_records import NoOpRecord, TopicRecord
from millstream.protocol.record_frames import decode_metadata_record
from millstream.quota.rate import QuotaWindows
from millstream.raft.ready import LeaderAndEpoch
from millstream.runtime import Instant
from millstream.runtime.system import SystemRandom
from tests.patience import until
from tests.support.handler_services import request_context
from tests.unit.streams.application.manual_clock import MovedClock

ME, ANOTHER = BrokerId(1), BrokerId(2)
MANY = 600
"""Partitions, so that a thread plans the request."""
LEADING = LeaderAndEpoch(ME, LeaderEpoch(1))
FEATURES = [
    Feature(name="metadata.version", min_supported_version=1, max_supported_version=30),
    Feature(name="kraft.version", min_supported_version=0, max_supported_version=1),
]


class Log:
    """What was proposed; `commit` tells of it."""

    def __init__(self) -> None:
        settings = ControllerSettings(cluster_id="c", node_id=1)
        self.clock = MovedClock()
        self.quotas = NodeQuotas(QuotaWindows(), QuotaWindows(), self.clock)
        self.runner = ControllerRunner(
            settings,
            MetadataImage(cluster_id="c"),
            self.clock,
            SystemRandom(),
            60_000,
            pool=DiskPool(),
            quotas=self.quotas,
        )
        driver: Any = self
        self.runner.attach(driver)
        self.end = 0
        self.epoch = 1
        self.proposed: list[tuple[int, list[bytes]]] = []

    def propose(self, records: Sequence[bytes], epoch: LeaderEpoch) -> int:
        assert epoch == self.epoch
        first, self.end = self.end, self.end + len(records)
        self.proposed.append((first, list(records)))
        return first

    @property
    def end_offset(self) -> int:
        return self.end

    def describe(self) -> QuorumDescription:
        return QuorumDescription(ME, LeaderEpoch(1), self.end, self.end, voters=())

    def commit(self) -> None:
        batches, self.proposed = self.proposed, []
        for first, values in batches:
            records = [decode_metadata_record(memoryview(value)) for value in values]
            last = first + len(records) - 1
            self.runner.handle_commit(MetadataBatch(first, last, self.epoch, records))

    async def settle(self, request: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.create_task(request)
        await asyncio.sleep(0)
        self.commit()
        return await task


@pytest.fixture
async def log() -> Log:
    """One broker is registered and up; this node leads."""
    log = Log()
    log.runner.handle_leader_change(LEADING)
    log.end = 1
    log.runner.handle_commit(MetadataBatch(0, 0, 1, [NoOpRecord()]))
    log.commit()
    registration = BrokerRegistrationRequest(
        broker_id=1, cluster_id="c", listeners=[Listener(name="P", host="h", port=1)],
        features=FEATURES, log_dirs=[Uuid(b"1" * 16)],
    )  # fmt: skip
    submit = log.runner.submit
    registered = await log.settle(submit(plan_registration, registration))
    epoch = registered.broker_epoch
    alive = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=epoch)
    await log.settle(submit(plan_heartbeat, alive))
    return log


def create(log: Log, name: str, partitions: int = 1) -> asyncio.Task[Any]:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic])
    return asyncio.create_task(log.runner.ask(CREATE_TOPICS, request))


async def test_requests_are_handled_one_after_the_other_and_answered_when_committed(
    log: Log,
) -> None:
    """The second sees what the first wrote, although neither is committed."""
    asked = [create(log, name) for name in ("a", "a", "b")]
    before = log.end
    await asyncio.sleep(0)
    assert [first for first, _ in log.proposed] == [before, before + 2]  # a topic, a partition
    assert [task.done() for task in asked] == [False, False, False]
    assert "a" not in log.runner.image.topics.by_name
    log.commit()
    answers = [(await task).topics[0].error_code for task in asked]
    assert answers == [0, TopicAlreadyExists.code, 0]
    assert sorted(log.runner.image.topics.by_name) == ["a", "b"]


async def test_a_leader_that_has_learned_of_another_one_before_it_told_so_does_not_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It learns that while a thread replays what it had to apply; the epoch is brought to the disk first."""
    log = Log()

    def refuse(records: Sequence[bytes], epoch: LeaderEpoch) -> int:
        raise NotController("this node does not lead the metadata quorum")

    monkeypatch.setattr(log, "propose", refuse)
    log.runner.handle_leader_change(LEADING)
    log.end = 1
    log.runner.handle_commit(MetadataBatch(0, 0, 1, [NoOpRecord()]))
    assert not log.runner.leads()


async def test_nobody_overtakes_a_request_that_is_planned_in_a_thread(log: Log) -> None:
    """Nor does it hold the loop: it is at work when others have had their turn."""
    before = log.end
    asked = [create(log, "a", MANY), create(log, "a"), create(log, "b")]
    await asyncio.sleep(0)
    assert log.proposed == [], "it is planned elsewhere"
    await until(lambda: len(log.proposed) == 2)
    assert [first for first, _ in log.proposed] == [before, before + 1 + MANY]
    log.commit()
    answers = [(await task).topics[0].error_code for task in asked]
    assert answers == [0, TopicAlreadyExists.code, 0]
    assert len(log.runner.image.topics.by_name["a"].partitions) == MANY


async def test_a_request_that_is_planned_when_the_controller_moves_writes_nothing(log: Log) -> None:
    before = log.end
    asked = create(log, "a", MANY)
    await asyncio.sleep(0)
    log.runner.handle_leader_change(LeaderAndEpoch(ANOTHER, LeaderEpoch(2)))
    with pytest.raises(NotController, match="has moved"):
        await asked
    assert (log.end, log.proposed) == (before, [])


async def test_a_request_that_is_given_up_while_it_is_planned_holds_nobody_up(log: Log) -> None:
    asked = create(log, "a", MANY)
    await asyncio.sleep(0)
    asked.cancel()
    other = create(log, "a")
    await until(lambda: bool(log.proposed))
    log.commit()
    assert (await other).topics[0].error_code == 0
    assert len(log.runner.image.topics.by_name["a"].partitions) == 1


async def test_what_was_written_is_applied_before_its_answer_leaves(log: Log) -> None:
    told: list[tuple[bool, bool]] = []
    asked = create(log, "a")
    log.runner.subscribe(
        lambda published: told.append(("a" in published.image.topics.by_name, asked.done()))
    )
    await asyncio.sleep(0)
    log.commit()
    await asked
    assert told == [(True, False)]


async def test_who_leads_no_more_refuses_what_waits_and_does_no_work(log: Log) -> None:
    waiting = create(log, "a")
    await asyncio.sleep(0)
    assert log.runner.session_deadline_ms() is not None
    log.runner.handle_leader_change(LeaderAndEpoch(ANOTHER, LeaderEpoch(2)))
    with pytest.raises(NotController, match="has moved"):
        await waiting
    written = log.end
    with pytest.raises(NotController):
        await create(log, "b")
    assert log.end == written, "nothing is proposed"
    assert log.runner.session_deadline_ms() is None, "nobody is fenced, so no leader is elected"


async def test_what_no_record_can_hold_is_refused_before_anything_is_written(log: Log) -> None:
    def too_long(*_: object) -> ControllerResult[str]:
        records = (TopicRecord(name="a"), TopicRecord(name="b" * 40_000))
        return ControllerResult(records, "never given")

    before = log.end
    with pytest.raises(InvalidRequest, match="a string of 40000 bytes is longer than 32767"):
        await log.runner.submit(too_long, None)
    assert (log.end, log.proposed) == (before, [])
    await log.settle(log.runner.submit(lambda *_: ControllerResult((), "given"), None))


async def test_the_leaderships_of_thousands_of_partitions_are_given_away_in_a_thread(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    creating = create(log, "large", MANY)
    await until(lambda: bool(log.proposed))
    log.commit()
    await creating
    planned_in: list[threading.Thread] = []

    def noted(*arguments: Any) -> list[Any]:
        planned_in.append(threading.current_thread())
        return plan_broker_gone(*arguments)

    monkeypatch.setattr(broker_lifecycle, "plan_broker_gone", noted)
    image = log.runner.image
    leave = BrokerHeartbeatRequest(
        broker_id=1,
        broker_epoch=image.brokers[ME].broker_epoch,
        current_metadata_offset=image.offset,
        want_shut_down=True,
    )
    leaving = asyncio.create_task(log.runner.ask(BROKER_HEARTBEAT, leave))
    await until(lambda: bool(log.proposed))
    log.commit()
    await leaving
    assert [thread is threading.current_thread() for thread in planned_in] == [False]
    assert {each.leader for each in log.runner.image.topics.by_name["large"].partitions} == {-1}


async def test_a_heartbeat_counts_before_the_requests_that_came_before_it_are_planned(
    log: Log,
) -> None:
    """A plan that takes as long as a session would else have every broker fenced."""
    epoch = log.runner.image.brokers[ME].broker_epoch
    before_ms = log.runner.session_deadline_ms()
    assert before_ms is not None
    creating = create(log, "large", MANY)
    await asyncio.sleep(0)
    log.clock.pass_ms(5_000)
    alive = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=epoch)
    stale = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch - 1)
    beats = [asyncio.create_task(log.runner.ask(BROKER_HEARTBEAT, each)) for each in (stale, alive)]
    await asyncio.sleep(0)
    assert not any(beat.done() for beat in beats)
    assert log.runner.session_deadline_ms() == before_ms + 5_000
    await until(lambda: bool(log.proposed))
    log.commit()
    await creating
    refused, answered = await asyncio.gather(*beats, return_exceptions=True)
    assert isinstance(refused, StaleBrokerEpoch)
    assert not answered.is_fenced


async def test_who_leads_again_begins_with_what_is_committed(log: Log) -> None:
    """What was written and not committed is gone with the epoch, although this node leads the next one, too."""
    waiting = create(log, "lost")
    await asyncio.sleep(0)
    log.end, log.proposed, log.epoch = log.proposed[0][0], [], 2
    log.runner.handle_leader_change(LeaderAndEpoch(ME, LeaderEpoch(2)))
    with pytest.raises(NotController, match="has moved"):
        await waiting
    with pytest.raises(NotController, match="is starting"):
        await create(log, "early")
    log.end += 1  # the leader change
    log.runner.handle_commit(MetadataBatch(log.end - 1, log.end - 1, 2, []))
    asked = create(log, "a")
    await asyncio.sleep(0)
    log.commit()
    assert (await asked).topics[0].error_code == 0
    assert list(log.runner.image.topics.by_name) == ["a"]


@pytest.mark.parametrize("partitions", [1, MANY])
async def test_records_that_the_quorum_writes_of_itself_move_those_of_a_plan(
    log: Log, partitions: int
) -> None:
    """As when a voter is added while a broker registers: its epoch is the offset of its record."""
    registration = BrokerRegistrationRequest(
        broker_id=2, cluster_id="c", incarnation_id=Uuid(b"2" * 16), listeners=[Listener(name="P", host="h", port=1)],
        features=FEATURES, log_dirs=[Uuid(b"2" * 16)],
    )  # fmt: skip
    creating = create(log, "a", partitions)
    registering = asyncio.create_task(log.runner.ask(BROKER_REGISTRATION, registration))
    log.end += 1  # the voters
    log.runner.handle_commit(MetadataBatch(log.end - 1, log.end - 1, 1, []))
    while not registering.done():
        await asyncio.sleep(0)
        log.commit()
    assert (await creating).topics[0].error_code == 0
    broker = log.runner.image.brokers[BrokerId(2)]
    assert broker.broker_epoch == log.end - 1


class PoolBesideTheQuorum(DiskPool):
    """While it works for the second time, the quorum writes a record of its own."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log
        self._runs = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        self._runs += 1
        if self._runs == 2:
            self._log.end += 1
            self._log.runner.handle_commit(
                MetadataBatch(self._log.end - 1, self._log.end - 1, 1, [])
            )
        return work()


async def test_a_plan_that_is_made_again_is_charged_once(log: Log) -> None:
    """First planned, then encoded in vain; then both again. Of a thousand tokens four hundred are left."""
    log.quotas.use({quota_entity([("user", None)]): {"controller_mutation_rate": 1_000 / 11}})
    log.runner._pool = PoolBesideTheQuorum(log)
    header = RequestHeader(request_api_key=ApiKey.CREATE_TOPICS, request_api_version=7)
    caller = RequestContext(header, request_context(7).connection, Instant(0, 0))
    topic = CreatableTopic(name="a", num_partitions=MANY, replication_factor=1)
    asked = log.runner.ask(CREATE_TOPICS, CreateTopicsRequest(topics=[topic]), caller)
    creating = asyncio.create_task(asked)
    while not creating.done():
        await asyncio.sleep(0)
        log.commit()
    assert (await creating).topics[0].error_code == 0
    charge = log.quotas.begin_mutations(caller)
    assert charge is not None
    charge.take(400)
    charge.take(1)
    with pytest.raises(ThrottlingQuotaExceeded):
        charge.take(1)
