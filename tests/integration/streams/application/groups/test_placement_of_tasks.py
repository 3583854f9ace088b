"""Where tasks and their copies go: as few as possible move, large ones once a copy is warm, and copies to other zones and racks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from tests.integration.streams.application.instances import (
    PARTITIONS,
    QUICK,
    Instances,
    Restored,
)
from tests.patience import eventually, until

WORDS = [f"w{number % 23}" for number in range(100)]
"""Some in each partition of the counts."""
TASKS = 2 * PARTITIONS
COUNTS = 1
"""The sub-topology with the stores."""


def active(app: KafkaStreams) -> frozenset[StreamsTaskId]:
    return frozenset().union(*app.tasks.values())


def copies(app: KafkaStreams) -> set[StreamsTaskId]:
    threads = app.metadata_for_local_threads()
    return {each.task_id for thread in threads for each in thread.standby_tasks}


def are_shared(*apps: KafkaStreams) -> bool:
    """Whether all run, and have all tasks between them, evenly."""
    sizes = [len(active(app)) for app in apps]
    is_even = sum(sizes) == TASKS and max(sizes) - min(sizes) <= 1
    return is_even and all(app.state is ApplicationState.RUNNING for app in apps)


@pytest.mark.parametrize("protocol", ["streams", "classic"])
async def test_who_comes_is_given_tasks_and_nobody_else_changes_any(
    instances: Instances, protocol: str
) -> None:
    clients = QUICK if protocol == "classic" else {}
    first, second, third = (
        instances.new(group_protocol=protocol, clients=clients) for _ in range(3)
    )
    await first.start()
    await second.start()
    await until(lambda: are_shared(first, second))
    before = [active(app) for app in (first, second)]
    await third.start()
    await until(lambda: are_shared(first, second, third))
    assert active(first) <= before[0]
    assert active(second) <= before[1]
    assert len(active(third)) == TASKS // 3


async def test_a_task_with_a_large_store_moves_once_a_copy_is_warm(instances: Instances) -> None:
    """Large is what a broker has a single record of; one copy after the other warms up."""
    settings: dict[str, Any] = {  # Any: settings of any type
        "group_protocol": "classic",
        "clients": QUICK,
        "acceptable_recovery_lag": 0,
        "max_warmup_replicas": 1,
        "probing_rebalance_interval_ms": 300,
    }
    await instances.put(WORDS)
    first = instances.new(**settings)
    await first.start()
    await instances.until_counted(WORDS)
    restored = Restored()
    second = instances.new(**settings, restore_listener=restored)
    await second.start()
    warmed: set[StreamsTaskId] = set()

    def is_warm_before_it_moves() -> bool:
        warm = copies(second)
        assert len(warm) <= 1, "max.warmup.replicas"
        warmed.update(warm)
        moved = {task for task in active(second) if task.sub_topology == COUNTS}
        assert moved <= warmed, "it has moved and left its store"
        return len(moved) == PARTITIONS // 2 and are_shared(first, second)

    await until(is_warm_before_it_moves)
    assert restored.records == 0, "the copies had everything"
    await instances.put(WORDS)
    await instances.until_counted(WORDS * 2)


ZONES = {"one": "a", "two": "a", "three": "b"}
RACKS = {"one": "a", "two": "b", "three": "a"}
BY_TAGS = {"rack_aware_assignment_tags": ["zone"]}
BY_RACKS = {"rack_aware_assignment_strategy": "min_traffic"}


async def started(
    instances: Instances, tags: Mapping[str, str], racks: Mapping[str, str], **settings: object
) -> dict[str, KafkaStreams]:
    """Three instances that keep a copy of each store, with these zones as tags and in these racks."""
    apps = {
        name: instances.new(
            group_protocol="classic",
            clients={**QUICK, "client_rack": racks.get(name, "")},
            client_tags={"zone": tags[name]} if name in tags else {},
            num_standby_replicas=1,
            **settings,
        )
        for name in ZONES
    }
    for app in apps.values():
        await app.start()
    return apps


def are_apart(apps: Mapping[str, KafkaStreams], places: Mapping[str, str]) -> bool:
    """Whether each store has a copy, which is in another place than its task wherever both places can have it."""
    if not are_shared(*apps.values()):
        return False
    running = {task: name for name, app in apps.items() for task in active(app)}
    copied = {task: name for name, app in apps.items() for task in copies(app)}
    wanted = {task for task in running if task.sub_topology == COUNTS}
    return copied.keys() == wanted and all(
        places[running[task]] != places[copied[task]] for task in wanted
    )


async def test_copies_are_kept_in_other_zones_and_take_over_when_a_zone_is_lost(
    instances: Instances,
) -> None:
    await instances.put(WORDS)
    restored = Restored()
    apps = await started(instances, ZONES, {}, **BY_TAGS, restore_listener=restored)
    await instances.until_counted(WORDS)
    await until(lambda: are_apart(apps, ZONES))
    left = apps["three"]

    async def has_all() -> bool:
        lags = (await left.all_local_store_partition_lags())["counts"]
        return len(lags) == PARTITIONS and not any(lag.offset_lag for lag in lags.values())

    await eventually(has_all)
    before = restored.records
    await asyncio.gather(apps["one"].close(), apps["two"].close())
    await until(lambda: len(active(left)) == TASKS and left.state is ApplicationState.RUNNING)
    assert restored.records == before, "the copies had everything"
    assert dict(await left.store("counts").all()) == Counter(WORDS)
    await instances.put(WORDS)
    await instances.until_counted(WORDS * 2)


@pytest.mark.parametrize(
    ("tags", "racks", "settings", "places"),
    [
        ({}, RACKS, BY_RACKS, RACKS),
        (ZONES, RACKS, BY_RACKS | BY_TAGS, ZONES),
    ],
    ids=["racks", "tags before racks"],
)
async def test_copies_are_kept_in_other_racks_unless_tags_say_otherwise(
    instances: Instances,
    tags: Mapping[str, str],
    racks: Mapping[str, str],
    settings: Mapping[str, object],
    places: Mapping[str, str],
) -> None:
    apps = await started(instances, tags, racks, **settings)
    await until(lambda: are_apart(apps, places))


async def test_where_a_rack_is_not_known_tasks_are_shared_as_without(
    instances: Instances,
) -> None:
    apps = await started(instances, {}, {"one": "a", "two": "b"}, **BY_RACKS)

    def has_copies() -> bool:
        copied = [task for app in apps.values() for task in copies(app)]
        return are_shared(*apps.values()) and len(copied) == len(set(copied)) == PARTITIONS

    await until(has_copies)
    await instances.put(WORDS)
    await instances.until_counted(WORDS)
