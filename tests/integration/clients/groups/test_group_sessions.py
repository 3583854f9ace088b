"""Sessions of groups' members: who is silent is out, and a coordinator that restarts forgets nobody.

On brokers of our own, which allow short sessions.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millstream.clients import Consumer
from millstream.errors import FencedInstanceId
from millstream.testing.broker import Broker
from tests.integration.clients.groups.group_steps import (
    Diary,
    polled_until,
    topic_with_partitions,
    until_shared,
)

NewName = Callable[[], str]
SESSION_MS = 700
PROTOCOLS = ["classic", "consumer"]
SETTINGS = {
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.assignment.interval.ms": "0",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Broker(in_process=False, settings=SETTINGS) as broker:
        yield broker.bootstrap_servers


def settings_of(protocol: str) -> dict[str, Any]:
    """For a short session."""
    if protocol == "consumer":
        return {"group_protocol": "consumer"}
    return {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 100}


def member(bootstrap: str, topic: str, protocol: str, **settings: Any) -> Consumer:
    return Consumer(
        bootstrap_servers=bootstrap, group_id=f"g-{topic}", **settings_of(protocol), **settings
    )


_SILENT = """
import asyncio, sys
from millstream.clients import Consumer
from tests.integration.clients.groups.group_steps import Diary
from tests.integration.clients.groups.test_group_sessions import settings_of

async def main():
    bootstrap, topic, protocol = sys.argv[1:]
    diary = Diary()
    settings = dict(bootstrap_servers=bootstrap, group_id=f"g-{topic}", **settings_of(protocol))
    async with Consumer(**settings) as consumer:
        consumer.subscribe([topic], listener=diary)
        told = 0
        while True:
            await consumer.poll(timeout_ms=50)
            for what, partitions in diary.moves[told:]:
                print(what, sorted(partitions), flush=True)
            told = len(diary.moves)

asyncio.run(main())
"""


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_who_is_silent_for_a_session_is_out_and_learns_that_its_partitions_are_lost(
    bootstrap: str, new_topic: NewName, protocol: str
) -> None:
    topic = await topic_with_partitions(bootstrap, new_topic(), 2)
    command = [sys.executable, "-c", _SILENT, bootstrap, topic, protocol]
    silent = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert silent.stdout is not None
    try:
        assert await silent.stdout.readline() == b"assigned [0, 1]\n"
        silent.send_signal(signal.SIGSTOP)
        async with member(bootstrap, topic, protocol) as other:
            other.subscribe([topic])
            await until_shared([other], 2)
            silent.send_signal(signal.SIGCONT)
            while await silent.stdout.readline() != b"lost [0, 1]\n":
                pass
            await polled_until([other], lambda: len(other.assignment()) == 1)
    finally:
        silent.kill()
        await silent.communicate()


async def test_a_second_member_of_the_same_name_fences_the_first(
    bootstrap: str, new_topic: NewName
) -> None:
    """Classic groups: the newcomer is believed (KIP-345)."""
    topic = await topic_with_partitions(bootstrap, new_topic(), 1)
    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{topic}",
        "group_instance_id": "i",
        "heartbeat_interval_ms": 100,
    }
    async with Consumer(**settings) as first, Consumer(**settings) as second:
        first.subscribe([topic])
        await until_shared([first], 1)
        second.subscribe([topic])
        await until_shared([second], 1)
        with pytest.raises(FencedInstanceId):
            await polled_until([first], lambda: False)


async def test_members_of_a_classic_group_outlive_a_restart_of_their_coordinator(
    new_topic: NewName,
) -> None:
    with Broker(in_process=False) as broker:
        bootstrap = broker.bootstrap_servers
        topic = await topic_with_partitions(bootstrap, new_topic(), 2)
        diary = Diary()
        async with Consumer(
            bootstrap_servers=bootstrap,
            group_id=f"g-{topic}",
            heartbeat_interval_ms=100,
        ) as consumer:
            consumer.subscribe([topic], listener=diary)
            await until_shared([consumer], 2)
            generation = consumer.group_metadata().generation_id
            broker.restart()
            await consumer.commit(dict.fromkeys(consumer.assignment(), 0))
            await until_shared([consumer], 2)
            assert consumer.group_metadata().generation_id == generation
            assert diary.entries == [("assigned", {0, 1})]
