"""Registration, heartbeats, fencing, controlled shutdown (KIP-631), and what they do to leaders."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.bootstrap import plan_activation
from millstream.controller.brokers.broker_lifecycle import plan_fence_expired, plan_heartbeat
from millstream.controller.controller import Controller
from millstream.controller.producer_ids import plan_producer_ids
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.errors import (
    DuplicateBrokerRegistration,
    InconsistentClusterId,
    InvalidRegistration,
    StaleBrokerEpoch,
    UnsupportedVersion,
)
from millstream.model import Uuid, uuid_text
from millstream.protocol.generated.allocate_producer_ids import AllocateProducerIdsRequest
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatRequest
from millstream.protocol.generated.broker_registration import Feature
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
    response = world.submit(plan_create_topics, CreateTopicsRequest(topics=[topic]))
    assert response.topics[0].error_code == 0


def leaders(world: object, name: str) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(p.leader, p.leader_epoch, p.isr) for p in world.image.topic(name).partitions]


def test_a_broker_epoch_is_the_offset_of_its_registration(make_world: Callable) -> None:
    world = make_world()
    world.submit(plan_activation, False)
    epoch = world.register(1)
    assert epoch == world.log[-1][0] == world.log[-1][1].broker_epoch


def test_a_registered_broker_is_fenced_until_it_has_seen_its_registration(
    make_world: Callable,
) -> None:
    world = make_world()
    world.submit(plan_activation, False)
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
    with pytest.raises(StaleBrokerEpoch, match="No broker registration found"):
        world.submit(plan_heartbeat, BrokerHeartbeatRequest(broker_id=9, broker_epoch=1))
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
    world.submit(plan_fence_expired, None)
    assert not world.image.brokers[1].fenced
    world.now_ms = 9_000
    world.submit(plan_fence_expired, None)
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
        world.submit(plan_fence_expired, None)
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
    world.submit(plan_activation, False)
    world.register(1)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down


def test_a_broker_may_ask_to_be_fenced(world: object) -> None:
    assert world.heartbeat(1, want_fence=True).is_fenced
    assert world.image.brokers[1].fenced


def test_what_becomes_of_a_broker_is_said_with_the_reason(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    epoch = {number: world.image.brokers[number].broker_epoch for number in (1, 2)}
    incarnation = uuid_text(Uuid(bytes([1]) * 16))
    assert world.lines[:2] == [
        f"broker 1 is registered with epoch {epoch[1]}, incarnation {incarnation}",
        f"broker 1 of epoch {epoch[1]} is unfenced: it has read the metadata up to its registration",
    ]
    create(world, "t", [2])
    world.lines.clear()
    world.heartbeat(1)  # nothing changes
    world.now_ms = 8_500
    world.heartbeat(2)
    world.now_ms = 9_500
    world.submit(plan_fence_expired, None)
    world.submit(plan_fence_expired, None)
    assert world.lines == [
        f"broker 1 of epoch {epoch[1]} is fenced: no heartbeat for 9500 ms, its session is 9000 ms (broker.session.timeout.ms)"
    ]
    assert world.timed_out_brokers == 1
    assert world.controller.silences_ms(10_000) == {1: 10_000, 2: 1_500}
    world.lines.clear()
    for _ in range(3):
        world.heartbeat(2, want_shut_down=True)
    assert world.lines == [
        f"broker 2 of epoch {epoch[2]} is in controlled shutdown: its leaderships go to others",
        f"broker 2 of epoch {epoch[2]} is fenced: its controlled shutdown is complete",
    ]
    world.lines.clear()
    world.register(1, incarnation=2)
    (line,) = world.lines
    assert line.endswith(f", in place of epoch {epoch[1]}")


def test_producer_ids_come_in_blocks_of_1000_that_never_repeat(world: object) -> None:
    request = AllocateProducerIdsRequest(
        broker_id=1, broker_epoch=world.image.brokers[1].broker_epoch
    )
    blocks = [world.submit(plan_producer_ids, request) for _ in range(2)]
    assert [(b.producer_id_start, b.producer_id_len) for b in blocks] == [(0, 1000), (1000, 1000)]
    assert world.image.next_producer_id == 2000
    request.broker_epoch = 0
    with pytest.raises(StaleBrokerEpoch):
        world.submit(plan_producer_ids, request)


def test_the_only_replica_that_leaves_cleanly_stays_eligible_and_leads_again(
    make_world: Callable,
) -> None:
    """KIP-966: the ISR becomes empty, the replica that left it has all there is."""
    world = make_world(keeps_eligible_replicas=True)
    world.start_brokers(1)
    create(world, "t", [1])
    world.heartbeat(1, want_fence=True)
    gone = world.image.partition("t", 0)
    assert (gone.leader, gone.isr, gone.eligible_leader_replicas) == (-1, (), (1,))
    assert gone.last_known_eligible_leader_replicas == (1,)
    world.heartbeat(1)
    back = world.image.partition("t", 0)
    assert (back.leader, back.isr, back.leader_epoch, back.leader_recovery_state) == (1, (1,), 2, 0)
    assert (back.eligible_leader_replicas, back.last_known_eligible_leader_replicas) == ((), ())


def test_the_only_replica_that_was_killed_leads_again_uncleanly(make_world: Callable) -> None:
    """It is the last leader that is known; it may lack records, and recovers."""
    world = make_world(keeps_eligible_replicas=True)
    world.start_brokers(1)
    create(world, "t", [1])
    world.now_ms = 9_000
    before = len(world.log)
    world.register(1, incarnation=2, previous_broker_epoch=-1)
    assert world.written(before) == ["PartitionChangeRecord", "RegisterBrokerRecord"]
    gone = world.image.partition("t", 0)
    assert (gone.leader, gone.isr, gone.eligible_leader_replicas) == (-1, (), ())
    assert gone.last_known_eligible_leader_replicas == (1,)
    world.heartbeat(1)
    back = world.image.partition("t", 0)
    assert (back.leader, back.isr, back.leader_epoch, back.leader_recovery_state) == (1, (1,), 2, 1)
    assert back.last_known_eligible_leader_replicas == ()


def test_a_process_that_names_the_epoch_of_the_one_before_it_was_stopped_cleanly(
    make_world: Callable,
) -> None:
    world = make_world(keeps_eligible_replicas=True)
    world.start_brokers(1, 2)
    create(world, "t", [1, 2])
    epoch = world.image.brokers[1].broker_epoch
    world.heartbeat(1, want_fence=True)
    world.heartbeat(2, want_fence=True)
    eligible = world.image.partition("t", 0)
    assert (eligible.isr, eligible.eligible_leader_replicas) == ((), (2,))
    world.register(1, incarnation=2, previous_broker_epoch=epoch)
    world.register(2, incarnation=2, previous_broker_epoch=epoch)
    assert world.image.partition("t", 0).eligible_leader_replicas == ()
    world.heartbeat(1)
    assert not world.image.partition("t", 0).has_leader
    world.heartbeat(2)
    assert world.image.partition("t", 0).leader == 2


def test_a_broker_has_caught_up_once_it_has_read_its_registration_behind_what_was_cleaned_up(
    make_world: Callable,
) -> None:
    world = make_world(keeps_eligible_replicas=True)
    world.start_brokers(1)
    create(world, "t", [1], [1])
    world.now_ms = 9_000
    epoch = world.register(1, incarnation=2)
    assert world.log[-1][0] == epoch + 2
    for offset in (epoch, epoch + 1):
        behind = world.heartbeat(1, current_metadata_offset=offset)
        assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    assert world.heartbeat(1, current_metadata_offset=epoch + 2).is_caught_up


def test_partitions_change_before_a_broker_that_leaves_and_after_one_that_comes(
    make_world: Callable,
) -> None:
    world = make_world()
    world.start_brokers(1)
    create(world, "t", [1])
    partition, broker = "PartitionChangeRecord", "BrokerRegistrationChangeRecord"
    before = len(world.log)
    world.heartbeat(1, want_fence=True)
    assert world.written(before) == [partition, broker]
    before = len(world.log)
    world.heartbeat(1)
    assert world.written(before) == [broker, partition]
    before = len(world.log)
    world.heartbeat(1, want_shut_down=True)
    assert world.written(before) == [broker, partition]


def test_a_broker_that_leads_nothing_may_stop_at_once(world: object) -> None:
    answer = world.heartbeat(1, want_shut_down=True)
    assert (answer.should_shut_down, answer.is_fenced) == (True, True)


def test_a_new_controller_lets_a_restarted_broker_register_though_its_old_session_is_not_over(
    make_world: Callable,
) -> None:
    """Kafka refuses it for a session's time: the new controller has not heard of the old process, so it does not wait for it."""
    world = make_world()
    world.start_brokers(1)
    world.controller = Controller(world.image, world.settings, epoch=2)
    world.submit(plan_activation, False)
    assert world.register(1, incarnation=2) > 0


def test_directories_that_fail_take_their_partitions_with_them(make_world: Callable) -> None:
    world = make_world(keeps_eligible_replicas=True)
    world.start_brokers(2)
    world.register(1, directories=2)
    world.heartbeat(1)
    create(world, "t", [1, 2], [1, 2])
    first, second = world.image.brokers[1].log_directories
    topic_id = world.image.topic("t").topic_id
    for number, directory in enumerate((first, second)):
        moved = PartitionChangeRecord(
            partition_id=number, topic_id=topic_id,
            directories=[directory, world.image.brokers[2].log_directories[0]],
        )  # fmt: skip
        world.log.append((world.next_offset, moved))
        world.controller.replay(world.log[-1][0], moved)
    before = len(world.log)
    world.heartbeat(1, offline_log_dirs=[first])
    assert world.written(before) == ["PartitionChangeRecord", "BrokerRegistrationChangeRecord"]
    assert [(p.leader, p.isr) for p in world.image.topic("t").partitions] == [
        (2, (2,)),
        (1, (1, 2)),
    ]
    before = len(world.log)
    world.heartbeat(1, offline_log_dirs=[first])
    assert world.written(before) == []


def test_cordoned_directories_are_noted_where_they_differ(world: object) -> None:
    (directory,) = world.image.brokers[1].log_directories
    before = len(world.log)
    world.heartbeat(1, cordoned_log_dirs=None)
    assert world.written(before) == []
    world.heartbeat(1, cordoned_log_dirs=[])  # said for the first time
    world.heartbeat(1, cordoned_log_dirs=[])
    world.heartbeat(1, cordoned_log_dirs=[directory])
    assert world.image.brokers[1].is_cordoned
    world.heartbeat(1, cordoned_log_dirs=[directory])
    world.heartbeat(1, cordoned_log_dirs=[])
    assert world.written(before) == ["BrokerRegistrationChangeRecord"] * 3
    assert not world.image.brokers[1].is_cordoned


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"log_dirs": []}, "No directories"),
        ({"log_dirs": [bytes(15) + b"\x05"]}, "Reserved directory"),
        ({"log_dirs": [bytes([1, 1]) + bytes(14)]}, "Broker 1 is already registered with"),
    ],
)
def test_directories_that_cannot_be_are_refused(
    world: object, fields: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidRegistration, match=message):
        world.register(2, **fields)


def test_a_broker_has_to_know_the_version_of_the_quorum(world: object) -> None:
    with pytest.raises(UnsupportedVersion, match=r"kraft\.version at level 1"):
        world.register(2, features=[Feature(name="metadata.version", max_supported_version=30)])
    with pytest.raises(UnsupportedVersion, match="new at level 0, the broker supports 1 to 2"):
        world.register(
            2,
            features=[
                Feature(name="metadata.version", max_supported_version=30),
                Feature(name="kraft.version", max_supported_version=1),
                Feature(name="new", min_supported_version=1, max_supported_version=2),
            ],
        )
