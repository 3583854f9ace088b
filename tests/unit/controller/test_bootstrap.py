"""The first records of a cluster, as Kafka 4.3.1 writes them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from millstream.controller.bootstrap import plan_activation
from millstream.controller.controller_registration import plan_controller_registration
from millstream.errors import ConfigError
from millstream.metadata.broker_registration import Endpoint, SupportedVersionRange
from millstream.metadata.features import default_levels, feature_records
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
    UserScramCredentialRecord,
)


def test_an_empty_log_begins_with_one_transaction_of_features(make_world: Callable) -> None:
    world = make_world(read_bootstrap=lambda: feature_records(default_levels(30)))
    world.submit(plan_activation, False)
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
    world.submit(plan_activation, False)
    assert world.written() == [
        "BeginTransactionRecord",
        "FeatureLevelRecord",
        "EndTransactionRecord",
    ]


def test_what_the_cluster_was_formatted_with_comes_before_what_its_features_need(
    make_world: Callable,
) -> None:
    """The order is that of Kafka 4.3.1 for `kafka-storage format --add-scram`."""
    alice = UserScramCredentialRecord(name="alice", mechanism=1, salt=b"s", iterations=4096)
    formatted = [
        *feature_records({"metadata.version": 30, "eligible.leader.replicas.version": 1}),
        alice,
    ]
    world = make_world(read_bootstrap=lambda: formatted)
    world.submit(plan_activation, False)
    assert [record for _, record in world.log] == [
        BeginTransactionRecord(name="Bootstrap records"),
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
        alice,
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="1"),
        EndTransactionRecord(),
    ]


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        (
            {"metadata.version": 21},
            "formatted for metadata.version=21 (3.9-IV0), and this version of Millstream works at metadata.version=30 (4.3-IV0) only",
        ),
        ({"metadata.version": 30, "group.version": 2}, "formatted for group.version=2, and this version of Millstream works at 0 to 1"),
        ({"metadata.version": 30, "no.such": 1}, "formatted for no.such=1, and this version of Millstream works at no.such=0 only"),
    ],
)  # fmt: skip
def test_levels_that_this_version_does_not_have_are_refused_by_name(
    make_world: Callable, levels: dict[str, int], sentence: str
) -> None:
    world = make_world(read_bootstrap=lambda: feature_records(levels))
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        world.submit(plan_activation, False)


def test_records_without_metadata_version_are_refused(make_world: Callable) -> None:
    level = FeatureLevelRecord(name="group.version", feature_level=1)
    world = make_world(read_bootstrap=lambda: [level])
    with pytest.raises(ConfigError, match=r"name no metadata\.version"):
        world.submit(plan_activation, False)


def test_who_has_metadata_does_not_read_what_it_was_formatted_with(make_world: Callable) -> None:
    """A cluster that was upgraded since would be refused, and a damaged file does no harm any more."""
    asked = []

    def read() -> list[FeatureLevelRecord]:
        asked.append(1)
        return list(feature_records({"metadata.version": 30}))

    world = make_world(read_bootstrap=read)
    world.submit(plan_activation, False)
    world.submit(plan_activation, False)
    assert asked == [1]


def test_a_later_leader_writes_nothing(make_world: Callable) -> None:
    world = make_world()
    world.submit(plan_activation, False)
    count = len(world.log)
    world.submit(plan_activation, False)
    assert len(world.log) == count


def test_a_transaction_that_was_left_open_is_aborted(make_world: Callable) -> None:
    world = make_world()
    world.submit(plan_activation, False)
    count = len(world.log)
    world.submit(plan_activation, True)
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
        response = world.submit(plan_controller_registration, request)
        assert response.error_code == 0
    assert world.written() == ["RegisterControllerRecord"]
    registered = world.image.controllers[1]
    assert registered.endpoints == (Endpoint("CONTROLLER", "h", 9093),)
    assert registered.features == {"kraft.version": SupportedVersionRange(0, 1)}
