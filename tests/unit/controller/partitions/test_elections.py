"""ElectLeaders, AlterPartitionReassignments and UnregisterBroker on assumed brokers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.brokers.registration import plan_unregister_broker
from millstream.controller.partitions.elect_leaders import plan_elect_leaders
from millstream.controller.partitions.reassignments import plan_alter_reassignments
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.errors import BrokerIdNotRegistered, InvalidRequest
from millstream.metadata.image import PartitionImage
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from millstream.protocol.generated.elect_leaders import ElectLeadersRequest, TopicPartitions
from millstream.protocol.generated.metadata_records import PartitionChangeRecord
from millstream.protocol.generated.unregister_broker import UnregisterBrokerRequest

PREFERRED, UNCLEAN = 0, 1
UNKNOWN, INVALID_FACTOR, INVALID_ASSIGNMENT, PREFERRED_NOT_AVAILABLE, NOT_AVAILABLE, NOT_NEEDED, NO_REASSIGNMENT = (
    3, 38, 39, 80, 83, 84, 85,
)  # fmt: skip


@pytest.fixture
def world(make_world: Callable) -> object:
    """Topic t: partition 0 on brokers 1 and 2, partition 1 on 2 and 1; broker 3 has none."""
    made = make_world()
    made.start_brokers(1, 2, 3)
    topic = CreatableTopic(
        name="t", num_partitions=-1, replication_factor=-1,
        assignments=[CreatableReplicaAssignment(0, [1, 2]), CreatableReplicaAssignment(1, [2, 1])],
    )  # fmt: skip
    made.submit(plan_create_topics, CreateTopicsRequest(topics=[topic]))
    return made


def fence(world: object, *broker_ids: int) -> None:
    for broker_id in broker_ids:
        world.heartbeat(broker_id, want_fence=True)


def change(world: object, number: int, **fields: object) -> None:
    """What AlterPartition of a leader would write."""
    topic_id = world.image.topic("t").topic_id
    record = PartitionChangeRecord(partition_id=number, topic_id=topic_id, **fields)
    offset = world.next_offset
    world.log.append((offset, record))
    world.controller.replay(offset, record)


def elect(
    world: object, election: int = PREFERRED, asked: dict[str, list[int]] | None = None
) -> dict[str, dict[int, int]]:
    named = None if asked is None else [TopicPartitions(t, list(p)) for t, p in asked.items()]
    request = ElectLeadersRequest(election_type=election, topic_partitions=named)
    response = world.submit(plan_elect_leaders, request)
    return {
        result.topic: {each.partition_id: each.error_code for each in result.partition_result}
        for result in response.replica_election_results
    }


def partition(world: object, number: int) -> PartitionImage:
    return world.image.partition("t", number)


def test_the_preferred_leader_leads_again_once_it_is_in_sync(world: object) -> None:
    fence(world, 1)
    assert partition(world, 0).leader == 2
    assert elect(world, asked={"t": [0]}) == {"t": {0: PREFERRED_NOT_AVAILABLE}}
    world.heartbeat(1)
    assert elect(world, asked={"t": [0]}) == {"t": {0: PREFERRED_NOT_AVAILABLE}}  # not in sync yet
    change(world, 0, isr=[1, 2])
    assert elect(world, asked={"t": [0]}) == {"t": {0: 0}}
    assert partition(world, 0).leader == 1


def test_of_all_partitions_only_those_that_changed_or_failed_are_told(world: object) -> None:
    assert elect(world) == {"t": {}}
    fence(world, 1)
    world.heartbeat(1)
    change(world, 0, isr=[1, 2])
    assert elect(world) == {"t": {0: 0}}


def test_named_partitions_are_told_one_by_one(world: object) -> None:
    asked = {"t": [0, 9, -1], "zz": [0]}
    assert elect(world, asked=asked) == {
        "t": {0: NOT_NEEDED, 9: UNKNOWN, -1: UNKNOWN},
        "zz": {0: UNKNOWN},
    }
    assert elect(world, asked={"t": []}) == {"t": {}}


def test_an_election_nobody_knows_is_refused(world: object) -> None:
    with pytest.raises(InvalidRequest, match="Unknown election type 2"):
        elect(world, 2, {"t": [0]})


def test_an_unclean_election_is_not_needed_while_there_is_a_leader(world: object) -> None:
    assert elect(world, UNCLEAN, {"t": [0]}) == {"t": {0: NOT_NEEDED}}


def test_an_unclean_election_takes_who_is_up_and_lets_it_recover(world: object) -> None:
    fence(world, 1)
    fence(world, 2)
    assert (partition(world, 0).leader, partition(world, 0).isr) == (-1, (2,))
    assert elect(world, UNCLEAN, {"t": [0]}) == {"t": {0: NOT_AVAILABLE}}
    world.heartbeat(1)
    assert partition(world, 0).leader == -1
    assert elect(world, UNCLEAN, {"t": [0]}) == {"t": {0: 0}}
    found = partition(world, 0)
    assert (found.leader, found.isr, found.leader_recovery_state) == (1, (1,), 1)


def reassign(
    world: object,
    *targets: tuple[int, list[int] | None],
    keep_factor: bool = False,
    topic: str = "t",
) -> list[int]:
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=not keep_factor,
        topics=[
            ReassignableTopic(
                name=topic,
                partitions=[
                    ReassignablePartition(partition_index=i, replicas=r) for i, r in targets
                ],
            )
        ],
    )
    response = world.submit(plan_alter_reassignments, request)
    return [result.error_code for result in response.responses[0].partitions]


def test_a_move_to_where_the_replicas_are_changes_nothing(world: object) -> None:
    before = len(world.log)
    assert reassign(world, (0, [1, 2])) == [0]
    assert world.written(before) == []


def test_a_move_adds_replicas_before_it_removes_others(world: object) -> None:
    assert reassign(world, (0, [3, 2])) == [0]
    found = partition(world, 0)
    assert (found.replicas, found.adding_replicas, found.removing_replicas, found.leader) == (
        (3, 2, 1),
        (3,),
        (1,),
        1,
    )


def test_a_move_that_only_removes_or_reorders_is_done_at_once(world: object) -> None:
    assert reassign(world, (0, [2]), (1, [1, 2])) == [0, 0]
    shrunk, reordered = partition(world, 0), partition(world, 1)
    assert (shrunk.replicas, shrunk.isr, shrunk.leader, shrunk.leader_epoch) == ((2,), (2,), 2, 1)
    assert (reordered.replicas, reordered.leader) == ((1, 2), 2)
    assert not shrunk.removing_replicas


def test_a_move_is_called_off(world: object) -> None:
    reassign(world, (0, [3, 2]))
    assert reassign(world, (0, None)) == [0]
    found = partition(world, 0)
    assert (set(found.replicas), found.adding_replicas, found.removing_replicas) == ({1, 2}, (), ())
    assert reassign(world, (0, None)) == [NO_REASSIGNMENT]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ((9, [1]), UNKNOWN),
        ((0, []), INVALID_ASSIGNMENT),
        ((0, [7]), INVALID_ASSIGNMENT),
        ((0, [-1]), INVALID_ASSIGNMENT),
        ((0, [1, 1]), INVALID_ASSIGNMENT),
        ((0, None), NO_REASSIGNMENT),
    ],
)
def test_moves_that_cannot_be(
    world: object, target: tuple[int, list[int] | None], code: int
) -> None:
    assert reassign(world, target, (1, [2, 1])) == [code, 0]


def test_the_replication_factor_stays_where_the_client_says_so(world: object) -> None:
    assert reassign(world, (0, [1]), keep_factor=True) == [INVALID_FACTOR]
    assert reassign(world, (0, [3, 1]), keep_factor=True) == [0]
    assert reassign(world, (0, [1]), topic="zz") == [UNKNOWN]


def test_a_broker_that_is_gone_can_be_forgotten(world: object) -> None:
    fence(world, 2)
    world.submit(plan_unregister_broker, UnregisterBrokerRequest(broker_id=2))
    assert sorted(world.image.brokers) == [1, 3]


def test_a_broker_nobody_knows_cannot_be_forgotten_and_one_that_is_alive_neither(
    world: object,
) -> None:
    with pytest.raises(BrokerIdNotRegistered, match="Broker ID 9 is not currently registered"):
        world.submit(plan_unregister_broker, UnregisterBrokerRequest(broker_id=9))
    with pytest.raises(InvalidRequest, match="Broker 1 is alive"):
        world.submit(plan_unregister_broker, UnregisterBrokerRequest(broker_id=1))
