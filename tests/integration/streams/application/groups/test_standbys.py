"""Standby tasks: copies of stores on other instances, kept up to date, asked, and taken over when an instance goes."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from millstream.clients.admin import ConfigResource, ConfigResourceType
from millstream.errors import ConfigError
from millstream.net.client.connection import Connection
from millstream.protocol.api import ApiKey
from millstream.streams import Materialized, StreamsBuilder
from millstream.streams.application.interactive.store_lags import LagInfo
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from millstream.streams.errors import InvalidStorePartition
from millstream.streams.host_info import HostInfo
from millstream.streams.queries import (
    FailureReason,
    KeyQuery,
    StateQueryRequest,
    StoreQueryParameters,
    key_value_store,
)
from millstream.streams.serdes import string
from tests.integration.streams.application.instances import PARTITIONS, Instances, Restored
from tests.patience import eventually, until

WORDS = [f"w{number % 23}" for number in range(200)]
COUNTS = Counter(WORDS)
ONE, TWO = HostInfo("one", 7001), HostInfo("two", 7002)
STALE = StoreQueryParameters("counts", key_value_store(), stale_stores=True)


def copies(app: KafkaStreams) -> set[int]:
    """The partitions of counts that it has a copy of."""
    return {
        each.task_id.partition
        for thread in app.metadata_for_local_threads()
        for each in thread.standby_tasks
    }


def has_all(app: KafkaStreams) -> bool:
    """Whether all tasks run in one instance, which has no copies then."""
    active = sum(len(tasks) for tasks in app.tasks.values())
    is_running = app.state is ApplicationState.RUNNING
    return is_running and active == 2 * PARTITIONS and not copies(app)


def are_spread(*apps: KafkaStreams) -> bool:
    """Whether each partition has one copy, and no task is on its way."""
    counted = sorted(number for app in apps for number in copies(app))
    is_running = all(app.state is ApplicationState.RUNNING for app in apps)
    return is_running and counted == list(range(PARTITIONS))


async def are_up_to_date(*apps: KafkaStreams) -> bool:
    lags = [await app.all_local_store_partition_lags() for app in apps]
    return all(
        each["counts"].keys() == set(range(PARTITIONS))
        and not any(lag.offset_lag for lag in each["counts"].values())
        for each in lags
    )


@pytest.fixture
async def pair(
    instances: Instances, use_processes: bool
) -> tuple[KafkaStreams, KafkaStreams, Restored]:
    """Two instances that have counted, with up-to-date copies of each other's stores."""
    restored = Restored()
    settings: dict[str, Any] = {"num_standby_replicas": 1}  # Any: settings of any type
    one = instances.new(application_server=str(ONE), use_processes=use_processes, **settings)
    two = instances.new(application_server=str(TWO), restore_listener=restored, **settings)
    await instances.put(WORDS)
    await asyncio.gather(one.start(), two.start())
    await instances.until_counted(WORDS)
    await until(lambda: are_spread(one, two))
    await eventually(lambda: are_up_to_date(one, two))
    return one, two, restored


@pytest.fixture
def use_processes() -> bool:
    """Whether the threads of the first instance are processes."""
    return False


@pytest.mark.parametrize("use_processes", [False, True])
async def test_an_instance_goes_on_from_its_copies(
    instances: Instances, pair: tuple[KafkaStreams, KafkaStreams, Restored]
) -> None:
    one, two, restored = pair
    before = restored.records
    assert dict(await one.store(STALE).all()) == COUNTS
    await instances.put(WORDS)
    await instances.until_counted(WORDS * 2)
    await one.close()
    await instances.put(["w1", "new"])
    await instances.until_counted([*WORDS * 2, "w1", "new"])
    assert restored.records - before <= len(WORDS), "no more than the copies lacked"
    await until(lambda: has_all(two))
    assert dict(await two.store("counts").all()) == Counter([*WORDS * 2, "w1", "new"])


async def test_copies_are_asked_only_where_that_is_allowed(
    pair: tuple[KafkaStreams, KafkaStreams, Restored],
) -> None:
    one, two, _ = pair
    for app in (one, two):
        mine, stale = dict(await app.store("counts").all()), dict(await app.store(STALE).all())
        assert stale == COUNTS
        assert mine == {word: COUNTS[word] for word in mine}
        assert 0 < len(mine) < len(COUNTS)
        copied = app.store(StoreQueryParameters("counts", key_value_store(), min(copies(app))))
        with pytest.raises(InvalidStorePartition):
            await copied.all()
        found = await app.query(StateQueryRequest("counts", KeyQuery("w3")))
        assert found.partitions.keys() == set(range(PARTITIONS))
        assert [each.value for each in found.partitions.values() if each.value] == [COUNTS["w3"]]
        active = StateQueryRequest("counts", KeyQuery("w3"), require_active=True)
        refused = (await app.query(active)).partitions
        reasons = {number for number, each in refused.items() if not each.is_success}
        assert reasons == copies(app)
        assert {refused[number].failure for number in reasons} == {FailureReason.NOT_ACTIVE}
    place = await one.query_metadata_for_key("counts", "w3")
    assert {place.active_host, *place.standby_hosts} == {ONE, TWO}


async def test_copies_tell_what_they_have_seen(
    pair: tuple[KafkaStreams, KafkaStreams, Restored],
) -> None:
    one, two, _ = pair

    async def seen(app: KafkaStreams) -> dict[str, Any]:  # Any: positions of topics
        return dict((await app.query(StateQueryRequest("counts", KeyQuery("w3")))).position)

    async def both_have_seen_the_same() -> bool:
        return await seen(one) == await seen(two)

    await eventually(both_have_seen_the_same)
    bound = await seen(one)
    ((topic, offsets),) = bound.items()
    assert offsets.keys() == set(range(PARTITIONS))
    at_least = StateQueryRequest("counts", KeyQuery("w3"), position_bound=bound)
    found = await two.query(at_least)
    answered = {number for number, each in found.partitions.items() if each.is_success}
    assert answered == set(), "no partition has seen those of the others"
    for number in range(PARTITIONS):
        own = {topic: {number: offsets[number]}}
        asked = StateQueryRequest("counts", KeyQuery("w3"), (number,), position_bound=own)
        later = StateQueryRequest(
            "counts", KeyQuery("w3"), (number,), position_bound={topic: {number: 10_000}}
        )
        for app in (one, two):
            assert (await app.query(asked)).partitions[number].is_success
            failure = (await app.query(later)).partitions[number].failure
            assert failure is FailureReason.NOT_UP_TO_BOUND
    covered = {
        each.task_id.partition: each.committed_offsets[topic] - 1
        for app in (one, two)
        for thread in app.metadata_for_local_threads()
        for each in thread.standby_tasks
    }
    assert covered == offsets
    lags = (await one.all_local_store_partition_lags())["counts"]
    assert all(
        lag == LagInfo(lag.end_offset_position, lag.end_offset_position) for lag in lags.values()
    )


async def test_copies_that_lack_nothing_cost_four_requests_a_look_for_all_of_them(
    pair: tuple[KafkaStreams, KafkaStreams, Restored], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {len(copies(app)) for app in pair[:2]} == {PARTITIONS // 2}
    asked = Counter[ApiKey]()
    request = Connection.request

    async def counted(
        connection: Connection,
        api: ApiKey,
        *rest: Any,  # Any: as it has them
        **named: Any,  # Any: as it has them
    ) -> Any:  # Any: as it has them
        asked[api] += 1
        return await request(connection, api, *rest, **named)

    async def two_looks_have_found_nothing() -> bool:
        asked.clear()
        await until(lambda: asked[ApiKey.OFFSET_FETCH] == 2)
        return asked[ApiKey.DESCRIBE_TOPIC_PARTITIONS] == 0

    monkeypatch.setattr(Connection, "request", counted)
    await eventually(two_looks_have_found_nothing)
    a_look = (ApiKey.FIND_COORDINATOR, ApiKey.OFFSET_FETCH, ApiKey.METADATA, ApiKey.LIST_OFFSETS)
    assert max(asked[api] for api in a_look) <= 3, "one each; a third look may have begun"
    beside = {ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.FETCH}
    assert {api for api, number in asked.items() if number} <= {*a_look, *beside}


async def test_active_tasks_and_copies_change_places(
    instances: Instances, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = instances.new(num_stream_threads=2, num_standby_replicas=1)
    await instances.put(WORDS)
    await first.start()
    await instances.until_counted(WORDS)
    await until(lambda: has_all(first))
    async with instances.new(state_cleanup_delay_ms=100) as second:
        await until(lambda: are_spread(first, second))
        await instances.put(WORDS)
        await first.remove_stream_thread()
        await instances.until_counted(WORDS * 2)
        await until(lambda: are_spread(first, second))
        await eventually(lambda: are_up_to_date(first, second))
        stores = (
            each for each in (tmp_path / "2" / instances.application).iterdir() if each.is_dir()
        )
        kept = sorted(int(each.name.rpartition("_")[2]) for each in stores)
        assert kept == list(range(PARTITIONS)), "no copy is cleaned away"
    await instances.put(WORDS)
    await instances.until_counted(WORDS * 3)
    await until(lambda: has_all(first))
    assert dict(await first.store("counts").all()) == Counter(WORDS * 3)
    assert "StoreLocked" not in caplog.text
    assert "begins anew" not in caplog.text


async def test_a_table_that_is_restored_from_its_source_has_copies(instances: Instances) -> None:
    builder = StreamsBuilder(optimization="all")
    rows = builder.table(
        instances.source, key=string(), value=string(), materialized=Materialized("rows")
    )
    rows.to_stream().to(instances.sink, value=string())
    topology = builder.build()
    settings: dict[str, Any] = {  # Any: settings of any type
        "num_standby_replicas": 1,
        "processing_guarantee": "at_least_once",
        "commit_interval_ms": 100,
    }
    await instances.put(WORDS)
    apps = [instances.new(topology, **settings) for _ in range(2)]
    await asyncio.gather(*(app.start() for app in apps))
    await until(lambda: are_spread(*apps))
    table = {str(number): word for number, word in enumerate(WORDS)}
    stale = StoreQueryParameters("rows", key_value_store(), stale_stores=True)

    async def both_have_all() -> bool:
        return all([dict(await app.store(stale).all()) == table for app in apps])

    await eventually(both_have_all)


async def test_the_number_of_copies_is_the_groups_config(instances: Instances) -> None:
    with pytest.raises(ConfigError, match=r"--entity-name .* --add-config streams.num.standby"):
        await instances.new(num_standby_replicas=9).start()
    async with instances.new(num_standby_replicas=2), instances.new():
        group = ConfigResource(ConfigResourceType.GROUP, instances.application)
        described = (await instances.admin.describe_configs([group])).result(group)
        assert described["streams.num.standby.replicas"].value == "2"
