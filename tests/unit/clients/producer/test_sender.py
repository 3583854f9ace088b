"""The sender sleeps until it is woken or its time has come."""

from __future__ import annotations

import asyncio

from millstream.clients import Producer
from millstream.clients.cluster.core.cluster_metadata import (
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.producer.delivery import PlacedRecord
from millstream.clients.producer.sender import Alarm


async def test_an_alarm_that_rang_before_is_not_waited_for() -> None:
    alarm = Alarm()
    alarm.ring()
    await alarm.wait(None)
    alarm.clear()
    waiting = asyncio.ensure_future(alarm.wait(None))
    await asyncio.sleep(0)
    assert not waiting.done()
    alarm.ring()
    alarm.ring()
    assert await waiting is None


async def test_an_alarm_goes_off_when_its_time_is_over() -> None:
    alarm = Alarm()
    await alarm.wait(0)  # the time that is over at once
    again = asyncio.ensure_future(alarm.wait(None))  # it rings until it is cleared
    await asyncio.sleep(0)
    assert again.done()


async def test_who_is_cancelled_while_it_waits_leaves_no_timer() -> None:
    alarm = Alarm()
    waiting = asyncio.ensure_future(alarm.wait(3600))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    alarm.ring()
    assert waiting.cancelled()


async def test_no_record_gets_into_a_batch_once_a_close_has_failed_those_that_are_left() -> None:
    """Threads of the blocking twin append while the loop closes: such a record would have no end."""
    producer: Producer = Producer(bootstrap_servers="127.0.0.1:1")
    appender = producer._appender
    topic = TopicMetadata("t", partitions={0: PartitionMetadata(0, 1)})
    producer._cluster.metadata.cluster = ClusterMetadata(topics={"t": topic})
    placed: list[PlacedRecord | None] = []

    def place_another(*_outcome: object) -> None:
        placed.append(appender.place("t", b"v", None, None, None, None, place_another))

    place_another()
    await producer.close(timeout_ms=0)
    assert len(placed) > 1, "the first has failed"
    assert placed[-1] is None
    assert all(each.is_done for each in placed if each is not None)
