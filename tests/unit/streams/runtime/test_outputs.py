"""Writing what a task has produced: whose errors a task meets, and what is still on its way when it meets one."""

from __future__ import annotations

from typing import Any, cast

import pytest

from millstream.clients import BatchDelivery, Producer
from millstream.clients.admin import Admin
from millstream.clients.config import ProducerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.consumer.range_reader import RangeReader
from millstream.clients.core.values import RecordMetadata
from millstream.errors import RecordListTooLarge, UnknownTopicOrPartition
from millstream.streams.kernel.columns.batch import SinkBatch
from millstream.streams.kernel.task.output import TaskOutput
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.outputs import write


class SharedProducer:
    """Stands for a producer without transactions that several tasks use. Nobody knows of the topic `missing`."""

    def __init__(self) -> None:
        self.config = parse_settings(ProducerConfig, {"bootstrap_servers": "x:1"})
        self.sent: list[str] = []
        self.flushed: list[str] = []
        self.first_flush: list[str] = []
        self.closed = False

    async def send_batch(
        self, topic: str, _rows: object, partition: int = 0, batch_headers: tuple[()] = ()
    ) -> BatchDelivery:
        assert partition == 0
        assert not batch_headers
        if topic == "missing":
            raise UnknownTopicOrPartition(topic)
        self.sent.append(topic)
        return cast("BatchDelivery", Written())

    async def flush(self) -> None:
        self.flushed = list(self.sent)
        self.first_flush = self.first_flush or self.flushed
        raise RecordListTooLarge("a record of another task")

    async def close(self, timeout_ms: int) -> None:
        assert timeout_ms == 0
        self.closed = True


class Written:
    """Stands for a delivery that has been acknowledged at offset 7."""

    def __await__(self) -> Any:  # Any: what a coroutine yields
        yield from ()
        return []

    def last_record(self) -> RecordMetadata:
        return RecordMetadata("a", 0, 7, 0)


def output(*changelogs: str) -> TaskOutput:
    return TaskOutput(
        {}, {topic: SinkBatch(topic, [b"k"], [b"v"], [0], [()]) for topic in changelogs}
    )


async def test_a_task_does_not_meet_the_errors_of_others_that_share_its_producer() -> None:
    producer = SharedProducer()
    written = await write(cast("Producer", producer), output("a", "b"), 0)
    assert written.logged == {"a": 8, "b": 8}


@pytest.mark.parametrize(
    ("value", "before_changelogs"), [(None, ["out"]), (b"v", ["out", "changelog"])]
)
async def test_outputs_are_acknowledged_before_a_changelog_says_that_a_row_is_gone(
    value: bytes | None, before_changelogs: list[str]
) -> None:
    """A window that has been closed would be in no store and in no output if the task were killed between the two."""
    producer = SharedProducer()
    made = TaskOutput(
        {"out": SinkBatch("out", [b"k"], [b"v"], [0], [()])},
        {"changelog": SinkBatch("changelog", [b"k"], [value], [0], [()])},
    )
    await write(cast("Producer", producer), made, 0)
    assert producer.sent == ["out", "changelog"]
    assert producer.first_flush == before_changelogs


async def test_nothing_is_on_its_way_when_a_task_meets_an_error() -> None:
    """A record that came later would undo what the next owner of the task has written by then."""
    producer = SharedProducer()
    with pytest.raises(UnknownTopicOrPartition):
        await write(cast("Producer", producer), output("a", "missing"), 0)
    assert producer.flushed == ["a"]


async def test_tasks_without_transactions_share_a_producer_that_none_of_them_closes() -> None:
    made: list[str | None] = []

    def make(transactional_id: str | None) -> Producer:
        made.append(transactional_id)
        return cast("Producer", SharedProducer())

    shared = SharedProducer()
    clients = TaskClients(
        cast("RangeReader", None),
        cast("Admin", None),
        make,
        shared_producer=cast("Producer", shared),
    )
    assert clients.producer(None) is cast("Producer", shared)
    await clients.release(clients.producer(None))
    assert not shared.closed
    own = clients.producer("app@in_0")
    await clients.release(own)
    assert made == ["app@in_0"]
    assert cast("SharedProducer", own).closed
