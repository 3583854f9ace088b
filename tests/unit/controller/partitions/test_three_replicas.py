"""A topic on three brokers, as a new cluster has it: brokers stop, are killed, lose disks and come back (KIP-966 is on)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import pytest

from millstream.controller.partitions.alter_partition import plan_alter_partition
from millstream.controller.partitions.balancing import plan_balance, plan_unclean_elections
from millstream.controller.partitions.elect_leaders import plan_elect_leaders
from millstream.controller.partitions.reassignments import plan_alter_reassignments
from millstream.controller.partitions.replica_directories import plan_replica_directories
from millstream.controller.topics.create_partitions import plan_create_partitions
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.controller.topics.delete_topics import plan_delete_topics
from millstream.metadata.image import RECOVERED, RECOVERING, PartitionImage
from millstream.protocol.generated.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from millstream.protocol.generated.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from millstream.protocol.generated.elect_leaders import ElectLeadersRequest, TopicPartitions

PREFERRED, UNCLEAN = 0, 1
NOT_AVAILABLE = 83
INVALID_FACTOR, INVALID_ASSIGNMENT = 38, 39
_incarnations = count(2)


@pytest.fixture
def world(make_world: Callable) -> object:
    """Topic t, one partition on brokers 1, 2 and 3; two must be in sync. Broker 4 has nothing."""
    made = make_world(keeps_eligible_replicas=True)
    made.start_brokers(1, 2, 3, 4)
    create(made, "t", [1, 2, 3])
    return made


def create(world: object, name: str, *replicas: Sequence[int], **configs: str) -> None:
    given = {
        "min.insync.replicas": "2",
        **{key.replace("_", "."): value for key, value in configs.items()},
    }
    topic = CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1,
        assignments=[CreatableReplicaAssignment(n, [*each]) for n, each in enumerate(replicas)],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in given.items()],
    )  # fmt: skip
    (result,) = world.submit(plan_create_topics, CreateTopicsRequest(topics=[topic])).topics
    assert result.error_code == 0, result.error_message


def partition(world: object, name: str = "t", number: int = 0) -> PartitionImage:
    found = world.image.partition(name, number)
    assert found is not None
    return found


def die(world: object, broker_id: int) -> None:
    """Its session ends: the controller does not know yet whether it was killed."""
    world.heartbeat(broker_id, want_fence=True)


def stop(world: object, broker_id: int) -> None:
    """A clean stop: leaderships go, then the broker."""
    while not world.heartbeat(broker_id, want_shut_down=True).should_shut_down:
        for each in world.image.brokers.values():
            if each.is_active:
                world.heartbeat(each.broker_id)


def come_back(world: object, broker_id: int, *, killed: bool) -> None:
    before = world.image.brokers[broker_id].broker_epoch
    world.register(
        broker_id,
        incarnation=next(_incarnations),
        previous_broker_epoch=-1 if killed else before,
    )
    world.heartbeat(broker_id)


def in_sync(world: object, *isr: int, recovery: int = RECOVERED) -> None:
    """The leader says who is in sync with it."""
    now = partition(world)
    request = AlterPartitionRequest(
        broker_id=now.leader,
        broker_epoch=world.image.brokers[now.leader].broker_epoch,
        topics=[
            AlterPartitionRequestTopicData(
                topic_id=world.image.topic("t").topic_id,
                partitions=[
                    AlterPartitionRequestPartitionData(
                        partition_index=0,
                        leader_epoch=now.leader_epoch,
                        new_isr_with_epochs=[
                            BrokerState(each, world.image.brokers[each].broker_epoch)
                            for each in isr
                        ],
                        leader_recovery_state=recovery,
                        partition_epoch=now.partition_epoch,
                    )
                ],
            )
        ],
    )
    (topic,) = world.submit(plan_alter_partition, request).topics
    assert topic.partitions[0].error_code in (0, 108)


def elect(world: object, kind: int, *numbers: int) -> list[int]:
    request = ElectLeadersRequest(
        election_type=kind, topic_partitions=[TopicPartitions("t", [*numbers])]
    )
    (result,) = world.submit(plan_elect_leaders, request).replica_election_results
    return [each.error_code for each in result.partition_result]


def state(world: object) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    now = partition(world)
    return now.leader, now.isr, now.eligible_leader_replicas


def test_the_next_replica_leads_when_the_leader_dies(world: object) -> None:
    die(world, 1)
    assert state(world) == (2, (2, 3), ())
    assert partition(world).leader_epoch == 1


def test_who_dies_below_the_least_stays_eligible_and_leads_if_it_is_the_last_to_come_back(
    world: object,
) -> None:
    die(world, 1)
    die(world, 2)
    assert state(world) == (3, (3,), (2,))
    die(world, 3)
    assert state(world) == (-1, (), (2, 3))
    assert partition(world).last_known_eligible_leader_replicas == (3,)
    come_back(world, 1, killed=False)
    assert partition(world).leader == -1, "1 fell out while two were in sync: it may lack records"
    come_back(world, 2, killed=False)
    assert state(world) == (2, (2,), (3,))
    assert partition(world).leader_recovery_state == RECOVERED
    assert partition(world).last_known_eligible_leader_replicas == ()


def test_who_was_killed_is_eligible_no_more_and_in_no_isr(world: object) -> None:
    die(world, 1)
    die(world, 2)
    assert state(world) == (3, (3,), (2,))
    come_back(world, 2, killed=True)
    assert state(world) == (3, (3,), ())
    come_back(world, 1, killed=True)
    in_sync(world, 3, 1)
    die(world, 1)
    assert state(world) == (3, (3,), (1,))


def test_a_leader_that_is_killed_and_back_before_its_session_ends_leads_no_more(
    world: object,
) -> None:
    """Its process is new before anybody has missed it."""
    world.now_ms += 20_000
    for broker_id in (2, 3, 4):
        world.heartbeat(broker_id)
    come_back(world, 1, killed=True)
    assert state(world) == (2, (2, 3), ())


def test_where_all_were_killed_the_last_leader_leads_uncleanly_and_nobody_else(
    world: object,
) -> None:
    for broker_id in (1, 2, 3):
        die(world, broker_id)
    come_back(world, 2, killed=True)
    assert state(world) == (-1, (), (3,))
    come_back(world, 1, killed=True)
    assert partition(world).leader == -1
    come_back(world, 3, killed=True)
    assert state(world) == (3, (3,), ())
    assert partition(world).leader_recovery_state == RECOVERING
    in_sync(world, 3)
    in_sync(world, 3, 1, 2)
    assert (partition(world).isr, partition(world).leader_recovery_state) == ((3, 1, 2), RECOVERED)


def lost(world: object, **configs: str) -> None:
    """The partition has no leader: those that may lead are away, and 1, which may lack records, is up."""
    if configs:
        world.submit(
            plan_delete_topics,
            DeleteTopicsRequest(topics=[DeleteTopicState(name="t")]),
        )
        create(world, "t", [1, 2, 3], **configs)
    die(world, 1)
    come_back(world, 1, killed=False)
    die(world, 2)
    die(world, 3)


def test_an_unclean_leader_is_elected_by_hand_where_nobody_who_has_all_is_there(
    world: object,
) -> None:
    lost(world)
    assert partition(world).leader == -1
    assert world.submit(plan_unclean_elections, None) is False
    assert partition(world).leader == -1, "the topic does not allow it"
    assert elect(world, UNCLEAN, 0) == [0]
    assert state(world) == (1, (1,), ())
    assert partition(world).leader_recovery_state == RECOVERING


def test_by_hand_who_has_all_is_preferred(world: object) -> None:
    lost(world)
    come_back(world, 3, killed=False)
    assert partition(world).leader == 3
    assert elect(world, UNCLEAN, 0) == [84]


def test_by_hand_nobody_leads_who_is_not_there(world: object) -> None:
    for broker_id in (1, 2, 3):
        die(world, broker_id)
    assert elect(world, UNCLEAN, 0) == [NOT_AVAILABLE]


def test_a_topic_that_allows_it_has_any_leader_at_once(world: object) -> None:
    lost(world, unclean_leader_election_enable="true")
    assert state(world) == (1, (1,), ())
    assert partition(world).leader_recovery_state == RECOVERING


def test_leaders_go_back_to_the_first_replica_once_it_is_in_sync(world: object) -> None:
    die(world, 1)
    come_back(world, 1, killed=False)
    assert world.submit(plan_balance, None) is False
    assert partition(world).leader == 2
    in_sync(world, 2, 3, 1)
    assert world.submit(plan_balance, None) is False
    assert (partition(world).leader, partition(world).isr) == (1, (2, 3, 1))


def test_a_clean_stop_leaves_the_partition_with_a_leader_at_every_moment(world: object) -> None:
    world.heartbeat(1, want_shut_down=True)
    assert state(world) == (2, (2, 3), ())
    assert world.image.brokers[1].in_controlled_shutdown
    stop(world, 1)
    assert world.image.brokers[1].fenced
    come_back(world, 1, killed=False)
    in_sync(world, 2, 3, 1)
    assert partition(world).leader == 2


def test_one_after_the_other_may_stop_and_the_last_two_stay_eligible(world: object) -> None:
    for broker_id in (1, 2, 3):
        stop(world, broker_id)
    assert state(world) == (-1, (), (2, 3))
    come_back(world, 3, killed=False)
    assert state(world) == (3, (3,), (2,))


def test_a_topic_goes_though_a_replica_is_away(world: object) -> None:
    die(world, 3)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")])
    (result,) = world.submit(plan_delete_topics, request).responses
    assert result.error_code == 0
    assert "t" not in world.image.topics
    create(world, "t", [1, 2, 3])
    come_back(world, 3, killed=True)
    assert state(world) == (1, (1, 2), ())


def test_a_directory_that_fails_takes_its_replicas_and_no_others(make_world: Callable) -> None:
    world = make_world(keeps_eligible_replicas=True)
    world.start_brokers(2, 3)
    world.register(1, directories=2)
    world.heartbeat(1)
    create(world, "t", [1, 2, 3], [1, 2, 3])
    here, there = world.image.brokers[1].log_directories
    topic = world.image.topic("t")
    request = AssignReplicasToDirsRequest(
        broker_id=1,
        broker_epoch=world.image.brokers[1].broker_epoch,
        directories=[
            AssignReplicasToDirsRequestDirectoryData(
                id=directory,
                topics=[
                    AssignReplicasToDirsRequestTopicData(
                        topic_id=topic.topic_id,
                        partitions=[AssignReplicasToDirsRequestPartitionData(number)],
                    )
                ],
            )
            for number, directory in enumerate((here, there))
        ],
    )
    world.submit(plan_replica_directories, request)
    world.heartbeat(1, offline_log_dirs=[here])
    lost_one, kept = partition(world, "t", 0), partition(world, "t", 1)
    assert (lost_one.leader, lost_one.isr) == (2, (2, 3))
    assert (kept.leader, kept.isr) == (1, (1, 2, 3))


def reassign(world: object, replicas: Sequence[int] | None, *, keep_factor: bool = False) -> int:
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=not keep_factor,
        topics=[
            ReassignableTopic(
                name="t",
                partitions=[
                    ReassignablePartition(
                        partition_index=0, replicas=None if replicas is None else [*replicas]
                    )
                ],
            )
        ],
    )
    response = world.submit(plan_alter_reassignments, request)
    return response.responses[0].partitions[0].error_code


def test_a_replica_moves_once_the_new_one_is_in_sync(world: object) -> None:
    assert reassign(world, [4, 2, 3]) == 0
    moving = partition(world)
    assert (moving.replicas, moving.isr, moving.leader) == ((4, 2, 3, 1), (1, 2, 3), 1)
    in_sync(world, 1, 2, 3, 4)
    moved = partition(world)
    assert (moved.replicas, set(moved.isr)) == ((4, 2, 3), {2, 3, 4})
    assert moved.leader == 4
    assert (moved.adding_replicas, moved.removing_replicas) == ((), ())


def test_a_topic_grows_from_one_replica_to_three(make_world: Callable) -> None:
    world = make_world(keeps_eligible_replicas=True)
    world.start_brokers(1, 2, 3)
    create(world, "t", [1])
    assert reassign(world, [1, 2, 3], keep_factor=True) == INVALID_FACTOR
    assert reassign(world, [1, 2, 3]) == 0
    in_sync(world, 1, 2)
    assert partition(world).adding_replicas == (2, 3)
    in_sync(world, 1, 2, 3)
    assert (partition(world).replicas, partition(world).adding_replicas) == ((1, 2, 3), ())


def test_a_move_that_is_called_off_goes_on_with_the_replicas_before(world: object) -> None:
    assert reassign(world, [4, 2, 3]) == 0
    die(world, 1)
    assert partition(world).leader in {2, 3}
    assert reassign(world, None) == 0
    assert set(partition(world).replicas) == {1, 2, 3}
    assert (partition(world).adding_replicas, partition(world).removing_replicas) == ((), ())


def add_partition(world: object, *replicas: int) -> tuple[int, str | None]:
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name="t",
                count=2,
                assignments=[CreatePartitionsAssignment([*replicas])] if replicas else None,
            )
        ]
    )
    (result,) = world.submit(plan_create_partitions, request).results
    return result.error_code, result.error_message


def test_partitions_are_added_with_three_replicas(world: object) -> None:
    assert add_partition(world) == (0, None)
    added = partition(world, "t", 1)
    assert (len(set(added.replicas)), set(added.isr)) == (3, set(added.replicas))


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        ((1, 2), "The manual partition assignment includes a partition with 2 replica(s), but this is not consistent with previous partitions, which have 3 replica(s)."),
        ((1, 2, 2), "The manual partition assignment includes the broker 2 more than once."),
        ((1, 2, 9), "The manual partition assignment includes broker 9, but no such broker is registered."),
    ],
)  # fmt: skip
def test_assignments_that_cannot_be_are_told_in_the_words_of_kafka(
    world: object, replicas: Sequence[int], message: str
) -> None:
    assert add_partition(world, *replicas) == (INVALID_ASSIGNMENT, message)


def test_partitions_that_nobody_could_lead_are_not_added(world: object) -> None:
    for broker_id in (1, 2, 3):
        die(world, broker_id)
    assert add_partition(world, 1, 2, 3) == (
        INVALID_ASSIGNMENT,
        "All brokers specified in the manual partition assignment for partition 1 are fenced or in controlled shutdown.",
    )
