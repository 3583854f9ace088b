"""AlterPartition: what a leader may change of its partition, and what it is refused (KIP-497, KIP-704, KIP-841, KIP-903)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from millstream.controller.configs.alter_configs import plan_incremental_alter_configs
from millstream.controller.partitions.alter_partition import plan_alter_partition
from millstream.controller.partitions.balancing import plan_balance, plan_unclean_elections
from millstream.controller.partitions.elect_leaders import plan_elect_leaders
from millstream.controller.partitions.reassignments import plan_alter_reassignments
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.errors import StaleBrokerEpoch
from millstream.metadata.image import PartitionImage
from millstream.model import Uuid
from millstream.protocol.generated.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponsePartitionData,
    BrokerState,
)
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream.protocol.generated.elect_leaders import ElectLeadersRequest
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

UNKNOWN_PARTITION, NOT_CONTROLLER, INVALID_REQUEST, FENCED_EPOCH = 3, 41, 42, 74
INVALID_UPDATE, UNKNOWN_ID, INELIGIBLE, NEW_LEADER = 95, 100, 107, 108
TOPIC_RESOURCE = 2


@pytest.fixture
def world(make_world: Callable) -> object:
    """Topic t on brokers 1, 2 and 3, of which 3 has left the ISR and is back; two must be in sync."""
    made = make_world(keeps_eligible_replicas=True)
    made.start_brokers(1, 2, 3, 4)
    create(made, [1, 2, 3], min_insync=2)
    made.heartbeat(3, want_fence=True)
    made.heartbeat(3)
    assert partition(made).isr == (1, 2)
    return made


def create(world: object, *replicas: list[int], min_insync: int = 1, **configs: str) -> None:
    given = {
        "min.insync.replicas": str(min_insync),
        **{k.replace("_", "."): v for k, v in configs.items()},
    }
    topic = CreatableTopic(
        name="t", num_partitions=-1, replication_factor=-1,
        assignments=[CreatableReplicaAssignment(n, each) for n, each in enumerate(replicas)],
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in given.items()],
    )  # fmt: skip
    response = world.submit(plan_create_topics, CreateTopicsRequest(topics=[topic]))
    assert response.topics[0].error_code == 0, response.topics[0].error_message


def partition(world: object) -> PartitionImage:
    return world.image.partition("t", 0)


def epoch(world: object, broker_id: int) -> int:
    return world.image.brokers[broker_id].broker_epoch


def alter(
    world: object,
    isr: Sequence[int],
    *,
    broker_id: int = 1,
    topic_id: Uuid | None = None,
    **fields: object,
) -> AlterPartitionResponsePartitionData:
    known = partition(world)
    asked = AlterPartitionRequestPartitionData(
        partition_index=0, leader_epoch=known.leader_epoch, partition_epoch=known.partition_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=b, broker_epoch=epoch(world, b) if b < 9 else 1) for b in isr],
    )  # fmt: skip
    for name, value in fields.items():
        setattr(asked, name, value)
    topic = AlterPartitionRequestTopicData(
        topic_id=topic_id or world.image.topic("t").topic_id, partitions=[asked]
    )
    request = AlterPartitionRequest(
        broker_id=broker_id, broker_epoch=epoch(world, broker_id), topics=[topic]
    )
    response = world.submit(plan_alter_partition, request)
    return response.topics[0].partitions[0]


def test_a_replica_that_has_caught_up_is_in_sync(world: object) -> None:
    before = partition(world)
    told = alter(world, [1, 2, 3])
    assert (told.error_code, told.isr, told.leader_id) == (0, [1, 2, 3], 1)
    assert (told.leader_epoch, told.partition_epoch) == (
        before.leader_epoch,
        before.partition_epoch + 1,
    )
    assert partition(world).isr == (1, 2, 3)


def test_the_isr_shrinks_and_who_leaves_it_below_the_least_stays_eligible(world: object) -> None:
    assert alter(world, [1]).error_code == 0
    found = partition(world)
    assert (found.isr, found.eligible_leader_replicas, found.leader) == ((1,), (2,), 1)
    assert alter(world, [1, 3]).error_code == 0
    assert partition(world).eligible_leader_replicas == ()


def test_what_is_so_already_is_answered_without_a_record(world: object) -> None:
    before = len(world.log)
    told = alter(world, [1, 2])
    assert (told.error_code, told.partition_epoch) == (0, partition(world).partition_epoch)
    assert world.written(before) == []


def test_version_2_names_no_epochs(world: object) -> None:
    assert alter(world, [], new_isr_with_epochs=[], new_isr=[1, 2, 3]).error_code == 0
    assert partition(world).isr == (1, 2, 3)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"partition_index": 7}, UNKNOWN_PARTITION),
        ({"partition_index": -1}, UNKNOWN_PARTITION),
        ({"topic_id": Uuid(b"?" * 16)}, UNKNOWN_ID),
        ({"leader_epoch": 9}, NOT_CONTROLLER),
        ({"partition_epoch": 9}, NOT_CONTROLLER),
        ({"leader_epoch": -1}, FENCED_EPOCH),
        ({"partition_epoch": 0}, INVALID_UPDATE),
        ({"broker_id": 2}, INVALID_REQUEST),
        ({"leader_recovery_state": 1}, INVALID_REQUEST),
        ({"leader_recovery_state": 5}, INVALID_REQUEST),
    ],
)
def test_requests_that_do_not_fit_the_partition_are_refused(
    world: object, fields: dict[str, object], code: int
) -> None:
    before = len(world.log)
    assert alter(world, [1, 2, 3], **fields).error_code == code
    assert world.written(before) == []


@pytest.mark.parametrize("isr", [[], [1, 1], [1, 4], [2, 3]])
def test_an_isr_is_some_of_the_replicas_with_the_leader(world: object, isr: list[int]) -> None:
    assert alter(world, isr).error_code == INVALID_REQUEST


def test_replicas_that_do_not_run_are_not_in_sync(world: object) -> None:
    world.heartbeat(3, want_fence=True)
    assert alter(world, [1, 2, 3]).error_code == INELIGIBLE
    world.heartbeat(3)
    old = [BrokerState(broker_id=b, broker_epoch=epoch(world, b) - (b == 3)) for b in (1, 2, 3)]
    assert alter(world, [], new_isr_with_epochs=old).error_code == INELIGIBLE
    any_epoch = [BrokerState(broker_id=b, broker_epoch=-1) for b in (1, 2, 3)]
    assert alter(world, [], new_isr_with_epochs=any_epoch).error_code == 0


def test_a_broker_of_another_epoch_alters_nothing(world: object) -> None:
    for broker_id, broker_epoch in ((1, 1), (9, 1)):
        request = AlterPartitionRequest(broker_id=broker_id, broker_epoch=broker_epoch)
        with pytest.raises(StaleBrokerEpoch):
            world.submit(plan_alter_partition, request)


def test_a_leader_that_was_elected_uncleanly_recovers_before_others_are_in_sync(
    make_world: Callable,
) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    create(world, [1, 2])
    world.heartbeat(2, want_fence=True)
    world.heartbeat(1, want_fence=True)
    world.heartbeat(2)
    assert not partition(world).has_leader
    world.submit(plan_elect_leaders, ElectLeadersRequest(election_type=1, topic_partitions=None))
    assert (partition(world).leader, partition(world).leader_recovery_state) == (2, 1)
    world.heartbeat(1)
    assert alter(world, [2, 1], broker_id=2, leader_recovery_state=1).error_code == INVALID_REQUEST
    told = alter(world, [2], broker_id=2, leader_recovery_state=0)
    assert (told.error_code, told.leader_recovery_state) == (0, 0)
    assert partition(world).leader_recovery_state == 0


def reassign(world: object, replicas: list[int] | None) -> None:
    move = ReassignablePartition(partition_index=0, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="t", partitions=[move])]
    )
    response = world.submit(plan_alter_reassignments, request)
    assert response.responses[0].partitions[0].error_code == 0


def test_a_move_is_done_once_its_new_replicas_are_in_sync(world: object) -> None:
    reassign(world, [1, 4])
    during = partition(world)
    assert (during.replicas, during.adding_replicas, during.removing_replicas) == (
        (1, 4, 2, 3),
        (4,),
        (2, 3),
    )
    directory = world.image.brokers[4].log_directories[0]
    assert during.directories[1] == directory
    assert alter(world, [1, 2, 4]).error_code == 0
    after = partition(world)
    assert (after.replicas, after.isr, after.leader) == ((1, 4), (1, 4), 1)
    assert (after.adding_replicas, after.removing_replicas) == ((), ())
    assert after.leader_epoch == during.leader_epoch + 1  # a replica left
    assert after.directories[1] == directory


def test_who_completes_a_move_that_removes_it_is_told_of_a_new_leader(world: object) -> None:
    reassign(world, [4, 2])
    told = alter(world, [1, 2, 4])
    assert told.error_code == NEW_LEADER
    assert (partition(world).leader, partition(world).replicas) == (4, (4, 2))


def test_a_move_that_is_called_off_leaves_what_was(world: object) -> None:
    reassign(world, [4, 2])
    reassign(world, None)
    assert (set(partition(world).replicas), partition(world).isr) == ({1, 2, 3}, (1, 2))


@pytest.mark.parametrize("back", [[1, 2, 3], [1, 2]])
def test_a_move_to_where_a_new_replica_is_not_wanted_any_more_does_not_wait_for_it(
    world: object, back: list[int]
) -> None:
    """Kafka 4.3.1 waits for ever: it is to be in sync, and is to go. So does what takes a removal back."""
    alter(world, [1, 2, 3])
    reassign(world, [1, 4])
    reassign(world, back)
    after = partition(world)
    assert (after.adding_replicas, after.removing_replicas) == ((), ())
    assert (set(after.replicas), set(after.isr)) == ({*back}, {*back})


def test_a_move_waits_for_what_an_earlier_one_adds_and_it_wants_too(world: object) -> None:
    reassign(world, [1, 2, 4])
    reassign(world, [1, 4])
    during = partition(world)
    assert (during.adding_replicas, set(during.removing_replicas)) == ((4,), {2, 3})
    assert alter(world, [1, 2, 4]).error_code == 0
    assert partition(world).replicas == (1, 4)


def test_leaders_go_back_to_the_first_replicas_in_sync_a_thousand_at_a_time(
    make_world: Callable,
) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    create(world, *[[1, 2]] * 1_200)
    world.heartbeat(1, want_fence=True)
    world.heartbeat(1)
    assert world.submit(plan_balance, None) is False  # broker 1 is not in sync
    topic = world.image.topic("t")
    asked = [
        AlterPartitionRequestPartitionData(
            partition_index=p.partition, leader_epoch=p.leader_epoch, partition_epoch=p.partition_epoch,
            new_isr_with_epochs=[BrokerState(broker_id=b) for b in (2, 1)],
        )
        for p in topic.partitions
    ]  # fmt: skip
    data = AlterPartitionRequestTopicData(topic_id=topic.topic_id, partitions=asked)
    request = AlterPartitionRequest(broker_id=2, broker_epoch=epoch(world, 2), topics=[data])
    world.submit(plan_alter_partition, request)
    assert [world.submit(plan_balance, None) for _ in range(3)] == [
        True,
        False,
        False,
    ]
    assert {p.leader for p in world.image.topic("t").partitions} == {1}


def test_topics_that_prefer_any_leader_to_none_get_one(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    create(world, [1, 2])
    world.heartbeat(2, want_fence=True)
    world.heartbeat(1, want_fence=True)
    world.heartbeat(2)
    world.submit(plan_unclean_elections, None)
    assert not partition(world).has_leader
    configure(world, "unclean.leader.election.enable", "true")
    world.submit(plan_unclean_elections, None)
    found = partition(world)
    assert (found.leader, found.isr, found.leader_recovery_state) == (2, (2,), 1)


def test_where_any_leader_is_preferred_a_fenced_one_is_followed_at_once(
    make_world: Callable,
) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    create(world, [1, 2], unclean_leader_election_enable="true")
    world.heartbeat(2, want_fence=True)
    world.heartbeat(2)
    world.heartbeat(1, want_fence=True)
    assert (partition(world).leader, partition(world).leader_recovery_state) == (2, 1)


def configure(world: object, name: str, value: str) -> None:
    change = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(
        resource_type=TOPIC_RESOURCE, resource_name="t", configs=[change]
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    response = world.submit(plan_incremental_alter_configs, request)
    assert response.responses[0].error_code == 0, response.responses[0].error_message


def test_another_min_insync_replicas_makes_nobody_eligible(world: object) -> None:
    alter(world, [1])
    assert partition(world).eligible_leader_replicas == (2,)
    before = len(world.log)
    configure(world, "retention.ms", "1000")
    assert partition(world).eligible_leader_replicas == (2,)
    configure(world, "min.insync.replicas", "1")
    assert partition(world).eligible_leader_replicas == ()
    assert world.written(before) == ["ConfigRecord", "ConfigRecord", "ClearElrRecord"]


def test_who_was_removed_and_is_added_again_lacks_what_was_written_since(world: object) -> None:
    """Kafka keeps it eligible, and would elect it while the only replica that has all is away."""
    alter(world, [1, 2, 3])
    reassign(world, [1])
    assert partition(world).eligible_leader_replicas == ()
    world.heartbeat(1, want_fence=True)
    reassign(world, [1, 2])
    found = partition(world)
    assert (found.leader, found.eligible_leader_replicas) == (-1, (1,))
