"""Data directories of brokers: which replica lives where, and what a failed one takes with it (KIP-858)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.bootstrap import plan_activation
from millstream.controller.partitions.replica_directories import plan_replica_directories
from millstream.errors import NotLeaderOrFollower, StaleBrokerEpoch, UnknownTopicId
from millstream.model import Uuid
from millstream.protocol.generated.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)
from tests.unit.controller.brokers.test_broker_lifecycle import create, leaders


@pytest.fixture
def world(make_world: Callable) -> object:
    """Brokers 1 and 2 with two directories each; `t` has its two partitions on 1, `u` one on both."""
    world = make_world()
    world.submit(plan_activation, False)
    for broker_id in (1, 2):
        world.register(broker_id, directories=2)
        world.heartbeat(broker_id)
    create(world, "t", [1], [1])
    create(world, "u", [1, 2])
    return world


def assign(world: object, broker_id: int, directory: Uuid, *numbers: int, **fields: object) -> list:
    broker = world.image.brokers[broker_id]
    topic = AssignReplicasToDirsRequestTopicData(
        topic_id=fields.pop("topic_id", world.image.topic("t").topic_id),
        partitions=[AssignReplicasToDirsRequestPartitionData(partition_index=n) for n in numbers],
    )
    request = AssignReplicasToDirsRequest(
        broker_id=broker_id,
        broker_epoch=fields.pop("broker_epoch", broker.broker_epoch),
        directories=[AssignReplicasToDirsRequestDirectoryData(id=directory, topics=[topic])],
    )
    response = world.submit(plan_replica_directories, request)
    return [p.error_code for p in response.directories[0].topics[0].partitions]


def directories(world: object) -> tuple[Uuid, Uuid]:
    return world.image.brokers[1].log_directories


def test_a_broker_with_several_directories_says_where_its_replicas_are(world: object) -> None:
    first, second = directories(world)
    assert assign(world, 1, first, 0) == [0]
    assert assign(world, 1, second, 1) == [0]
    found = [p.directories for p in world.image.topic("t").partitions]
    assert found == [(first,), (second,)]


def test_saying_it_again_writes_nothing(world: object) -> None:
    first, _ = directories(world)
    assign(world, 1, first, 0)
    before = len(world.log)
    assert assign(world, 1, first, 0) == [0]
    assert len(world.log) == before


def test_what_cannot_be_assigned_is_named(world: object) -> None:
    first, _ = directories(world)
    assert assign(world, 2, first, 0, 9) == [NotLeaderOrFollower.code, 3]
    assert assign(world, 1, first, 0, topic_id=Uuid(b"x" * 16)) == [UnknownTopicId.code]
    with pytest.raises(StaleBrokerEpoch):
        assign(world, 1, first, 0, broker_epoch=77)


def test_a_failed_directory_takes_the_leaders_that_live_in_it(world: object) -> None:
    first, second = directories(world)
    assign(world, 1, first, 0)
    assign(world, 1, first, 0, topic_id=world.image.topic("u").topic_id)
    assign(world, 1, second, 1)
    world.heartbeat(1, offline_log_dirs=[first])
    assert leaders(world, "t") == [(-1, 1, (1,)), (1, 0, (1,))]
    assert leaders(world, "u") == [(2, 1, (2,))]
    assert directories(world) == (second,)
    before = len(world.log)
    world.heartbeat(1, offline_log_dirs=[first])
    assert len(world.log) == before


def test_a_broker_that_comes_back_without_a_directory_does_not_lead_what_was_in_it(
    world: object,
) -> None:
    first, second = directories(world)
    assign(world, 1, first, 0)
    assign(world, 1, second, 1)
    world.heartbeat(1, want_fence=True)
    world.register(1, incarnation=2, log_dirs=[second])
    world.heartbeat(1)
    assert [leader for leader, _, _ in leaders(world, "t")] == [-1, 1]
