"""Records that wait for a service: their application ends, another one restores them, its thread crashes, and each is written once."""

from __future__ import annotations

from datetime import timedelta

from millstream.streams import Retry, StreamsBuilder
from millstream.streams.application.states import ApplicationState
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.queries import StoreQueryParameters, key_value_store
from millstream.streams.serdes import long, string
from tests.integration.streams.application.instances import Instances
from tests.patience import eventually

STORE = "retries"


async def test_what_waits_when_an_instance_ends_goes_on_in_another_one_in_order_and_once(
    instances: Instances,
) -> None:
    is_away = True
    crashes = [KeyError("in the middle of a retry")]
    asked: list[Exception] = []

    def ask(key: str, value: str) -> int:
        if key == "1" and is_away:
            raise ConnectionError("away")
        if key == "1" and value == "11" and crashes:
            raise crashes.pop()
        return int(value)

    def replace_thread(error: Exception) -> OnUncaughtError:
        asked.append(error)
        return OnUncaughtError.REPLACE_THREAD

    delays = timedelta(milliseconds=20), 2.0, timedelta(milliseconds=100)
    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string())
    answers = values.map_values(
        ask, with_key=True, retry=Retry(STORE, *delays, retry_on=ConnectionError)
    )
    answers.to(instances.sink, value=long())
    topology = builder.build()
    await instances.put(["0", "1", "2"])
    await instances.put(["10", "11", "12"])
    async with instances.new(topology) as first:
        await instances.until_written(4)

        async def has_retried() -> bool:
            if first.state is not ApplicationState.RUNNING:
                return False
            store = first.store(StoreQueryParameters(STORE, key_value_store()))
            waiting = await store.get("1")
            return waiting is not None and len(waiting) == 2 and waiting[0].failures > 2

        await eventually(has_retried)
    is_away = False
    async with instances.new(topology, on_uncaught_error=replace_thread):
        await instances.until_written(6)
    updates = await instances.updates()
    assert [number for key, number in updates if key == "1"] == [1, 11]
    assert sorted(number for _, number in updates) == [0, 1, 2, 10, 11, 12]
    assert len(asked) == 1
    assert f"failed on {instances.source}-" in str(asked[0])
    assert isinstance(asked[0].__cause__, KeyError)
