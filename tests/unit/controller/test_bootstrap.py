"""The first records of a cluster, as Kafka 4.3.1 writes them."""

from __future__ import annotations

from collections.abc import Callable

from millstream.controller.controller import Controller
from millstream.controller.settings import KAFKA_4_3_FEATURES
from millstream.metadata.broker_registration import Endpoint, SupportedVersionRange
from millstream.model import Uuid
from millstream.protocol.generated.controller_registration import (
    ControllerRegistrationRequest,
    Feature,
    Listener,
)
from millstream.protocol.generated.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)


def test_an_empty_log_begins_with_one_transaction_of_features(make_world: Callable) -> None:
    world = make_world(bootstrap_features=KAFKA_4_3_FEATURES)
    world.submit(Controller.handle_activation, False)
    assert [record for _, record in world.log] == [
        BeginTransactionRecord(name="Bootstrap records"),
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
        FeatureLevelRecord(name="group.version", feature_level=1),
        FeatureLevelRecord(name="share.version", feature_level=1),
        FeatureLevelRecord(name="streams.version", feature_level=1),
        FeatureLevelRecord(name="transaction.version", feature_level=2),
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="1"),
        EndTransactionRecord(),
    ]
    assert world.log[0][0] == 3
    assert world.image.features["metadata.version"] == 30
    assert world.image.broker_default_config() == {"min.insync.replicas": "1"}


def test_without_eligible_leader_replicas_no_config_is_fixed(make_world: Callable) -> None:
    world = make_world()
    world.submit(Controller.handle_activation, False)
    assert world.written() == [
        "BeginTransactionRecord",
        "FeatureLevelRecord",
        "EndTransactionRecord",
    ]


def test_a_later_leader_writes_nothing(make_world: Callable) -> None:
    world = make_world()
    world.submit(Controller.handle_activation, False)
    count = len(world.log)
    world.submit(Controller.handle_activation, False)
    assert len(world.log) == count


def test_a_transaction_that_was_left_open_is_aborted(make_world: Callable) -> None:
    world = make_world()
    world.submit(Controller.handle_activation, False)
    count = len(world.log)
    world.submit(Controller.handle_activation, True)
    assert [type(record) for _, record in world.log[count:]] == [AbortTransactionRecord]


def test_a_controller_registers_once_per_incarnation(make_world: Callable) -> None:
    world = make_world()
    request = ControllerRegistrationRequest(
        controller_id=1,
        incarnation_id=Uuid(b"i" * 16),
        listeners=[Listener(name="CONTROLLER", host="h", port=9093)],
        features=[Feature("kraft.version", 0, 1)],
    )
    for _ in range(2):
        response = world.submit(Controller.handle_controller_registration, request)
        assert response.error_code == 0
    assert world.written() == ["RegisterControllerRecord"]
    registered = world.image.controllers[1]
    assert registered.endpoints == (Endpoint("CONTROLLER", "h", 9093),)
    assert registered.features == {"kraft.version": SupportedVersionRange(0, 1)}
