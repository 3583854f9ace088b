"""What an active task says of itself to those that wait for what it writes to repartition topics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, cast

import pyarrow as pa
import pytest

from millstream.clients import BatchDelivery
from millstream.clients.config import ProducerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.core.values import RecordMetadata
from millstream.model import TopicPartition
from millstream.records.arrow import HEADERS_TYPE
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.kernel import StreamTask, TaskTopics
from millstream.streams.kernel.task.upstreams import AT_ITS_END, NOT_BEGUN
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.report import ProcessedWork
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.active_task import ActiveTask, StartedTask
from millstream.streams.runtime.tasks.processor_state_manager import ProcessorStateManager
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores
from millstream.streams.topology import Topology
from millstream.streams.topology.alignment import AlignedTopics
from tests.unit.streams.application.manual_clock import MovedClock

WRITING_MS = 40
R = "app-r-repartition"
ENDS = {TopicPartition(R, 0): 30, TopicPartition(R, 1): 7}
WRITTEN = {TopicPartition(R, 0): 32, TopicPartition(R, 1): 7}


class Cluster:
    """Stands for clients and for a producer, which writes all there is to partition 0."""

    def __init__(self, clock: MovedClock) -> None:
        self._clock = clock
        self.config = parse_settings(ProducerConfig, {"bootstrap_servers": "x:1"})
        self.end = ENDS[TopicPartition(R, 0)]

    def producer(self, transactional_id: str | None) -> Cluster:
        if transactional_id is not None:
            settings = {"bootstrap_servers": "x:1", "transactional_id": transactional_id}
            self.config = parse_settings(ProducerConfig, settings)
        return self

    async def owners(self, *_: object) -> frozenset[str]:
        return frozenset()

    def group_metadata(self, _application: str) -> None:
        """Is not asked for."""

    async def while_there(self, _topics: object, sending: Coroutine[Any, Any, None]) -> None:
        await sending

    def with_leader_epochs(
        self, position: CommittedPosition, _partition: int, _writer: object
    ) -> CommittedPosition:
        return position

    async def init_transactions(self) -> None:
        """Has nobody to fence."""

    async def begin_transaction(self) -> None:
        """Keeps nothing of it."""

    async def send_offsets_to_transaction(self, _offsets: object, _group: object) -> None:
        """Keeps them."""

    async def commit_transaction(self) -> None:
        """Has written everything already."""

    async def release(self, _producer: object) -> None:
        """Has nothing open."""

    async def readable_ends(self, topic: str) -> dict[int, int]:
        return {tp.partition: 0 for tp in ENDS if tp.topic == topic}

    async def ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: ENDS[tp] for tp in partitions}

    async def commit_offsets(self, _application: str, _offsets: object) -> None:
        """Keeps them."""

    async def send_batch(
        self,
        topic: str,
        rows: pa.RecordBatch,
        partition: int | None = None,
        batch_headers: Sequence[tuple[str, bytes]] = (),
    ) -> BatchDelivery:
        assert bool(batch_headers) == (topic == R), "records of R say who has written them"
        if topic == R:
            self.end += rows.num_rows
        return cast("BatchDelivery", Written(topic, self.end - 1))

    async def flush(self) -> None:
        """All is written when it ends."""
        self._clock.pass_ms(WRITING_MS)


class Written:
    """Stands for a delivery that has been acknowledged."""

    def __init__(self, topic: str, offset: int) -> None:
        self._metadata = RecordMetadata(topic, 0, offset, 0)

    def __await__(self) -> Any:  # Any: what a coroutine yields
        yield from ()
        return []

    def last_record(self) -> RecordMetadata:
        return self._metadata

    def last_records(self) -> list[RecordMetadata]:
        return [self._metadata]


class Stores:
    """Stands for stores that have been restored, of which nobody takes snapshots."""

    restored = 0
    global_stores = None

    def __init__(self, aligned: AlignedTopics) -> None:
        self.aligned = aligned
        self.topic_ids: dict[str, str] = {}
        self.marked_ids = self.topic_ids

    def snapshots(self) -> Stores:
        return self

    async def maybe_snapshot(self) -> None:
        """Takes none."""


@asynccontextmanager
async def started(
    monkeypatch: pytest.MonkeyPatch,
    topology: Topology,
    cache_max_bytes: int = 0,
    *,
    exact: bool = False,
) -> AsyncIterator[ActiveTask]:
    config = StreamsConfig(
        "app",
        string(),
        string(),
        cache_max_bytes=cache_max_bytes,
        processing_guarantee="exactly_once_v2" if exact else "at_least_once",
    )
    spec = TaskSpec(topology=topology, sub_topology=0, config=config, state_directory="")
    topics = TaskTopics(aligned=spec.alignment.of(0))
    kernel = StreamTask(topology, 0, 0, in_memory_stores(), config, topics=topics)
    kernel.resume({}, origin_time=50)

    async def start(*_: object) -> StartedTask:
        return StartedTask(
            kernel,
            cast("ProcessorStateManager", Stores(topics.aligned)),
            CommittedPosition(dict.fromkeys(spec.sources, 3), origin_time=50),
            is_committed=True,
            begins_late=False,
        )

    monkeypatch.setattr(TaskStart, "_started", start)
    with ThreadPoolExecutor(1) as executor:
        clock = MovedClock()
        environment = TaskEnvironment(cast("TaskClients", Cluster(clock)), clock, executor)
        active = await TaskStart(spec, 0, environment).start()
        yield active
        await active.close()


def shown(task: ActiveTask) -> tuple[object, ...]:
    """Returns what the task says: its position, its origin time, what it has written, and what it has still to write."""
    told = task.progress
    return told.position, told.origin_time, told.writes.ends, told.unwritten


def records(*rows: tuple[str, int], from_offset: int = 3) -> pa.RecordBatch:
    """`rows`: keys and timestamps."""
    keys = pa.array([key.encode() for key, _ in rows], pa.binary())
    return pa.RecordBatch.from_pydict(
        {
            "key": keys,
            "value": keys,
            "offset": pa.array(range(from_offset, from_offset + len(rows)), pa.int64()),
            "timestamp": pa.array([time for _, time in rows], pa.int64()),
            "headers": pa.array([[] for _ in rows], HEADERS_TYPE),
        }
    )


async def test_a_task_says_from_its_start_on_how_far_it_had_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or what it had written before, and nobody has read yet, would be taken for something that comes in order."""
    builder = StreamsBuilder()
    builder.stream("in").repartition(name="r").to("out")
    async with started(monkeypatch, builder.build()) as task:
        assert shown(task) == ({"in": 3}, 50, ENDS, AT_ITS_END)
        await task.add("in", records(("a", 60), ("b", 55)))
        task.note_read_to("in", 5)
        assert task.progress.queued == {"in": 60}, "others need not wait for it with what is before"
        assert await task.process() == ProcessedWork(records=2), "brokers are no part of it"
        assert shown(task) == ({"in": 5}, 60, WRITTEN, AT_ITS_END)
        assert task.progress.queued == {}
        await task.add("in", records(("c", 40), ("d", 90), from_offset=5))
        assert task.progress.queued == {"in": 60}, "origin times do not go back"
        assert task.progress.writes.first_unread(TopicPartition(R, 0), 30) == 60
        assert task.progress.writes.first_unread(TopicPartition(R, 0), 29) == NOT_BEGUN


async def test_a_task_has_done_what_it_has_read_to_where_no_record_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The marker behind the last record of a transaction comes alone, and nothing is to be processed."""
    builder = StreamsBuilder()
    builder.stream("in").repartition(name="r").to("out")
    async with started(monkeypatch, builder.build()) as task:
        task.note_read_to("in", 4)
        assert task.progress.position == {"in": 4}


async def test_with_exactly_once_a_task_tells_what_it_has_still_to_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builder = StreamsBuilder()
    builder.stream("in").repartition(name="r").to("out")
    async with started(monkeypatch, builder.build(), exact=True) as task:
        await task.add("in", records(("a", 60), ("b", 55)))
        await task.process()
        assert shown(task) == ({"in": 5}, 60, ENDS, 60)
        await task.add("in", records(("c", 80), from_offset=5))
        await task.process()
        assert shown(task) == ({"in": 6}, 80, ENDS, 60)
        await task.commit()
        written = {TopicPartition(R, 0): 33, TopicPartition(R, 1): 7}
        assert shown(task) == ({"in": 6}, 80, written, AT_ITS_END)
        await task.process()
        assert shown(task) == ({"in": 6}, 80, written, AT_ITS_END)


async def test_what_goes_round_in_a_cycle_is_followed_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever reads what comes out of the cycle must not take it for empty while a question is on its way."""
    builder = StreamsBuilder()
    questions = builder.table("in")
    answers = builder.table("other")
    joined = questions.join(answers, lambda q, a: q + a, foreign_key=lambda value: value, name="fk")
    joined.to_stream().repartition(name="r").to("out")
    async with started(monkeypatch, builder.build(), exact=True) as task:
        assert {topic.rpartition("-")[0] for topic in task.aligned.followed} >= {
            "app-fk-subscription-registration"
        }
        await task.add("in", records(("a", 60)))
        await task.process()
        assert task.progress.unwritten == 50


async def test_a_task_is_not_done_with_what_a_cache_holds_until_it_commits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builder = StreamsBuilder()
    table = builder.table("in")
    table.group_by(lambda key, value: (key, value), name="r").count().to_stream().to("out")
    async with started(monkeypatch, builder.build(), cache_max_bytes=100_000) as task:
        await task.add("in", records(("a", 60), ("b", 70)))
        task.note_read_to("in", 5)
        await task.process()
        assert shown(task) == ({"in": 3}, 70, ENDS, AT_ITS_END)
        await task.commit()
        assert shown(task) == ({"in": 5}, 70, WRITTEN, AT_ITS_END)
