"""A range of a topic that is deleted, or deleted and made anew, while it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.clients import Admin, NewTopic, Producer, RangeReader, TopicDeleted
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S, eventually

NewName = Callable[[], str]
FETCH_BYTES = 1
"""A broker gives one batch at a time then."""
RECORDS = 20


async def fill(bootstrap: str, topic: str, value: bytes) -> None:
    async with Producer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        for _ in range(RECORDS):
            await (await producer.send(topic, value))


@pytest.mark.parametrize("is_made_anew", [False, True])
async def test_a_range_ends_with_its_topic(
    bootstrap: str, new_topic: NewName, is_made_anew: bool
) -> None:
    """Offsets of a topic mean nothing in another one of the same name."""
    topic = new_topic()
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        RangeReader(
            bootstrap_servers=bootstrap,
            max_partition_fetch_bytes=FETCH_BYTES,
            default_api_timeout_ms=10 * LONG_ENOUGH_MS,
        ) as reader,
    ):
        (await admin.create_topics([NewTopic(topic, 1)])).raise_errors()
        await fill(bootstrap, topic, b"first")
        values: list[bytes] = []

        async def read() -> None:
            async for batch in reader.read(topic, 0, 0, RECORDS):
                if not values:
                    await replace(admin, bootstrap, topic, is_made_anew=is_made_anew)
                values.extend(batch.column("value").to_pylist())

        with pytest.raises(TopicDeleted, match="made anew" if is_made_anew else "was deleted"):
            await asyncio.wait_for(read(), LONG_ENOUGH_S)
    assert set(values) == {b"first"}
    assert len(values) < RECORDS


async def replace(admin: Admin, bootstrap: str, topic: str, *, is_made_anew: bool) -> None:
    (await admin.delete_topics([topic])).raise_errors()

    async def is_gone() -> bool:
        return topic not in await admin.list_topics()

    await eventually(is_gone)
    if is_made_anew:
        (await admin.create_topics([NewTopic(topic, 1)])).raise_errors()
        await fill(bootstrap, topic, b"second")
