"""Registration, heartbeats, fencing, controlled shutdown (KIP-631), and what they do to leaders."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.controller import Controller
from millstream.errors import (
    BrokerIdNotRegistered,
    DuplicateBrokerRegistration,
    InconsistentClusterId,
    InvalidRegistration,
    StaleBrokerEpoch,
    UnsupportedVersion,
)
from millstream.protocol.generated.allocate_producer_ids import AllocateProducerIdsRequest
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from millstream.protocol.generated.metadata_records import PartitionChangeRecord


def create(world: object, name: str, *replicas: list[int]) -> None:
    assignments = [
        CreatableReplicaAssignment(partition_index=n, broker_ids=b) for n, b in enumerate(replicas)
    ]
    topic = CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=assignments
    )
    response = world.submit(Controller.handle_create_topics, CreateTopicsRequest(topics=[topic]))
    assert response.topics[0].error_code == 0


def leaders(world: object, name: str) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(p.leader, p.leader_epoch, p.isr) for p in world.image.topic(name).partitions]


def test_a_broker_epoch_is_the_offset_of_its_registration(make_world: Callable) -> None:
    world = make_world()
    world.submit(Controller.handle_activation, False)
    epoch = world.register(1)
    assert epoch == world.log[-1][0] == world.log[-1][1].broker_epoch


def test_a_registered_broker_is_fenced_until_it_has_seen_its_registration(
    make_world: Callable,
) -> None:
    world = make_world()
    world.submit(Controller.handle_activation, False)
    epoch = world.register(1)
    behind = world.heartbeat(1, current_metadata_offset=epoch - 1)
    assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    waiting = world.heartbeat(1, want_fence=True)
    assert (waiting.is_caught_up, waiting.is_fenced) == (True, True)
    up = world.heartbeat(1)
    assert (up.is_fenced, world.image.brokers[1].fenced) == (False, False)
    assert world.written()[-1] == "BrokerRegistrationChangeRecord"


def test_the_same_incarnation_may_register_again_and_keeps_its_epoch(world: object) -> None:
    epoch = world.image.brokers[1].broker_epoch
    assert world.register(1) == epoch
    assert not world.image.brokers[1].fenced


def test_a_second_incarnation_of_a_live_broker_is_refused(world: object) -> None:
    with pytest.raises(DuplicateBrokerRegistration):
        world.register(1, incarnation=2)
    world.now_ms += 9_000
    assert world.register(1, incarnation=2) > 0
    assert world.image.brokers[1].fenced


def test_registrations_that_do_not_fit_the_cluster_are_refused(world: object) -> None:
    with pytest.raises(InconsistentClusterId):
        world.register(2, cluster_id="another")
    with pytest.raises(InvalidRegistration):
        world.register(2, listeners=[])
    with pytest.raises(InvalidRegistration):
        world.register(2, log_dirs=[b"d" * 16] * 2)
    with pytest.raises(UnsupportedVersion):
        world.register(2, features=[])


def test_heartbeats_need_a_registration_of_that_epoch(world: object) -> None:
    with pytest.raises(BrokerIdNotRegistered):
        world.submit(
            Controller.handle_broker_heartbeat, BrokerHeartbeatRequest(broker_id=9, broker_epoch=1)
        )
    with pytest.raises(StaleBrokerEpoch):
        world.heartbeat(1, broker_epoch=1)


def test_a_silent_broker_is_fenced_when_its_session_ends(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    create(world, "t", [1, 2], [2, 1])
    create(world, "u", [1])
    assert world.controller.session_deadline_ms(0) == 9_000
    world.now_ms = 8_000
    world.heartbeat(2)
    world.submit(Controller.handle_expired_sessions, None)
    assert not world.image.brokers[1].fenced
    world.now_ms = 9_000
    world.submit(Controller.handle_expired_sessions, None)
    assert [b.broker_id for b in world.image.brokers.values() if b.fenced] == [1]
    assert leaders(world, "t") == [(2, 1, (2,)), (2, 0, (2,))]
    assert leaders(world, "u") == [(-1, 1, (1,))]
    assert world.controller.session_deadline_ms(9_000) == 17_000


def test_a_silence_shorter_than_the_session_changes_nothing(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1)
    create(world, "t", [1])
    before, written = world.image, len(world.log)
    for _ in range(3):
        world.now_ms += 8_999
        world.submit(Controller.handle_expired_sessions, None)
        assert not world.heartbeat(1).is_fenced
    assert (world.written(written), world.image) == ([], before)


def test_a_broker_that_comes_back_leads_what_waited_for_it(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    create(world, "t", [1], [2])
    world.now_ms = 20_000
    world.register(1, incarnation=2)
    assert leaders(world, "t") == [(-1, 1, (1,)), (2, 0, (2,))]
    world.heartbeat(1)
    assert leaders(world, "t") == [(1, 2, (1,)), (2, 0, (2,))]


def test_a_controlled_shutdown_moves_leaders_before_the_broker_may_stop(
    make_world: Callable,
) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    create(world, "t", [1, 2])
    asked = world.heartbeat(1, want_shut_down=True)
    assert (asked.should_shut_down, asked.is_fenced) == (False, False)
    assert leaders(world, "t") == [(2, 1, (2,))]
    assert world.image.brokers[1].in_controlled_shutdown
    still = world.heartbeat(1, want_shut_down=True)
    assert not still.should_shut_down  # broker 2 has not seen the change
    world.heartbeat(2)
    done = world.heartbeat(1, want_shut_down=True)
    assert (done.should_shut_down, done.is_fenced) == (True, True)
    assert world.image.brokers[1].fenced


def test_the_only_broker_may_stop_after_one_more_heartbeat(world: object) -> None:
    create(world, "t", [1])
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down
    assert world.heartbeat(1, want_shut_down=True).should_shut_down
    assert leaders(world, "t") == [(-1, 1, (1,))]


def test_a_fenced_broker_may_stop_at_once(make_world: Callable) -> None:
    world = make_world()
    world.submit(Controller.handle_activation, False)
    world.register(1)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down


def test_a_broker_may_ask_to_be_fenced(world: object) -> None:
    assert world.heartbeat(1, want_fence=True).is_fenced
    assert world.image.brokers[1].fenced


def test_producer_ids_come_in_blocks_of_1000_that_never_repeat(world: object) -> None:
    request = AllocateProducerIdsRequest(
        broker_id=1, broker_epoch=world.image.brokers[1].broker_epoch
    )
    blocks = [world.submit(Controller.handle_allocate_producer_ids, request) for _ in range(2)]
    assert [(b.producer_id_start, b.producer_id_len) for b in blocks] == [(0, 1000), (1000, 1000)]
    assert world.image.next_producer_id == 2000
    request.broker_epoch = 0
    with pytest.raises(StaleBrokerEpoch):
        world.submit(Controller.handle_allocate_producer_ids, request)


def test_an_eligible_leader_replica_leads_when_none_is_in_sync(make_world: Callable) -> None:
    """KIP-966: what Kafka leaves behind after a clean shutdown of the only replica."""
    world = make_world()
    world.start_brokers(1)
    create(world, "t", [1])
    gone = PartitionChangeRecord(
        partition_id=0, topic_id=world.image.topic("t").topic_id, isr=[], leader=-1,
        eligible_leader_replicas=[1], last_known_elr=[1],
    )  # fmt: skip
    world.log.append((world.next_offset, gone))
    world.controller.replay(world.log[-1][0], gone)
    world.heartbeat(1, want_fence=True)
    world.heartbeat(1)
    partition = world.image.partition("t", 0)
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, (1,), 2)
    assert (partition.eligible_leader_replicas, partition.last_known_eligible_leader_replicas) == (
        (),
        (),
    )
