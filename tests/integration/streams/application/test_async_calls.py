"""Async functions in an application: one call fails, its thread is replaced, and every answer is written once."""

from __future__ import annotations

import asyncio

from millstream.streams import StreamsBuilder
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.serdes import string
from tests.integration.streams.application.instances import Instances


async def test_a_call_that_fails_once_leaves_every_answer_written_once(
    instances: Instances,
) -> None:
    failures = [KeyError("v7")]
    asked: list[Exception] = []

    async def answer(value: str) -> str:
        await asyncio.sleep(0)
        if value == "v7" and failures:
            raise failures.pop()
        return value.upper()

    def replace_thread(error: Exception) -> OnUncaughtError:
        asked.append(error)
        return OnUncaughtError.REPLACE_THREAD

    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string())
    values.map_values_async(answer, max_in_flight=5).to(instances.sink, value=string())
    app = instances.new(
        builder.build(),
        on_uncaught_error=replace_thread,
        processing_guarantee="exactly_once_v2",
    )
    given = [f"v{number}" for number in range(20)]
    await instances.put(given)
    async with app:
        await instances.until_written(20)
    assert sorted(key for key, _ in await instances.updates()) == sorted(map(str, range(20)))
    assert len(asked) == 1
    assert f"{instances.source}-" in str(asked[0])
