"""Clusters at levels of metadata.version before 3.7-IV2: what the level does not have is written by nobody, as in Kafka 4.3.1."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.bootstrap import plan_activation
from millstream.controller.brokers.features import plan_update_features
from millstream.controller.controller_registration import plan_controller_registration
from millstream.controller.partitions.reassignments import plan_alter_reassignments
from millstream.controller.partitions.replica_directories import plan_replica_directories
from millstream.controller.security.delegation_tokens import plan_create_token
from millstream.controller.security.scram_credentials import plan_alter_scram_credentials
from millstream.controller.settings import DelegationTokenSettings
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.errors import (
    DelegationTokenAuthDisabled,
    InvalidUpdateVersion,
    KafkaError,
    UnsupportedVersion,
)
from millstream.metadata.broker_registration import SupportedVersionRange
from millstream.metadata.delta import MetadataDelta
from millstream.metadata.features import default_levels, feature_records
from millstream.metadata.image import MetadataImage
from millstream.metadata.record_versions import record_version
from millstream.metadata.snapshot_records import image_records
from millstream.model import Uuid
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from millstream.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from millstream.protocol.generated.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from millstream.protocol.generated.controller_registration import (
    ControllerRegistrationRequest,
    Feature,
)
from millstream.protocol.generated.create_delegation_token import CreateDelegationTokenRequest
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from millstream.protocol.record_frames import encode_metadata_record

LOWEST, TRANSACTIONS, TOKENS, CONTROLLERS, BEFORE_DIRECTORIES, DIRECTORIES = 7, 13, 14, 15, 16, 17
NO_CHANGE = -2
BATCH = ["FeatureLevelRecord"]


def world_at(make_world: Callable, level: int, *brokers: int) -> object:
    supported = {
        "metadata.version": SupportedVersionRange(7, 30),
        "kraft.version": SupportedVersionRange(0, 1),
    }
    made = make_world(
        supported_features=supported,
        read_bootstrap=lambda: feature_records({"metadata.version": level}),
        delegation_tokens=DelegationTokenSettings(secret_key="s"),
    )
    made.start_brokers(*brokers)
    return made


def create(world: object, name: str, replication_factor: int = 1) -> Uuid:
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name, num_partitions=1, replication_factor=replication_factor)]
    )
    return world.submit(plan_create_topics, request).topics[0].topic_id


def raised_to(world: object, level: int) -> None:
    update = FeatureUpdateKey(feature="metadata.version", max_version_level=level, upgrade_type=1)
    world.submit(plan_update_features, UpdateFeaturesRequest(feature_updates=[update]))


def all_can_be_written(world: object) -> bool:
    """Whether every record of the log goes into the version that the level of the cluster gives it."""
    level = world.image.features["metadata.version"]
    for _, record in world.log:
        encode_metadata_record(record, record_version(record, level))
    return True


@pytest.mark.parametrize("level", [LOWEST, TRANSACTIONS - 1, TRANSACTIONS])
def test_the_first_records_are_a_transaction_where_there_are_any(
    make_world: Callable, level: int
) -> None:
    world = world_at(make_world, level)
    transaction = ["BeginTransactionRecord", *BATCH, "EndTransactionRecord"]
    assert world.written() == (transaction if level >= TRANSACTIONS else BATCH)


@pytest.mark.parametrize("level", [LOWEST, BEFORE_DIRECTORIES])
def test_no_record_names_a_directory(make_world: Callable, level: int) -> None:
    world = world_at(make_world, level, 1, 2, 3)
    topic_id = create(world, "t", 2)
    assert world.image.brokers[1].log_directories == ()
    (partition,) = world.image.topics.by_id[topic_id].partitions
    others = [b for b in (1, 2, 3) if b not in partition.replicas]
    move = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic("t", [ReassignablePartition(0, [*others, partition.leader])])]
    )
    world.submit(plan_alter_reassignments, move)
    world.heartbeat(1, offline_log_dirs=[Uuid(bytes([1, 1]) + bytes(14))])
    assert all_can_be_written(world)


@pytest.mark.parametrize("level", [LOWEST, 11, 12, CONTROLLERS])
def test_a_snapshot_holds_what_the_log_holds(make_world: Callable, level: int) -> None:
    world = world_at(make_world, level, 1, 2)
    create(world, "t", 2)
    world.heartbeat(2, want_fence=True)
    image = world.image
    delta = MetadataDelta(MetadataImage(cluster_id=image.cluster_id))
    for record in image_records(image):
        encode_metadata_record(record, record_version(record, level))
        delta.replay(record)
    assert delta.image(image.offset, image.epoch) == image


@pytest.mark.parametrize(("level", "raises"), [(11, True), (12, False)])
def test_the_leader_epoch_goes_up_where_a_replica_leaves_the_isr_before_3_6(
    make_world: Callable, level: int, raises: bool
) -> None:
    """KAFKA-15021."""
    world = world_at(make_world, level, 1, 2)
    topic_id = create(world, "t", 2)
    (before,) = world.image.topics.by_id[topic_id].partitions
    (follower,) = set(before.replicas) - {before.leader}
    world.heartbeat(follower, want_fence=True)
    (after,) = world.image.topics.by_id[topic_id].partitions
    assert after.isr == (before.leader,)
    assert after.leader_epoch == before.leader_epoch + raises


def test_what_a_level_does_not_have_is_refused_in_kafkas_words(make_world: Callable) -> None:
    world = world_at(make_world, LOWEST, 1)
    asked = [
        (
            plan_controller_registration,
            ControllerRegistrationRequest(controller_id=1),
            "The current MetadataVersion is too old to support controller registrations.",
        ),
        (
            plan_replica_directories,
            AssignReplicasToDirsRequest(broker_id=1),
            "Directory assignment is not supported yet.",
        ),
        (
            plan_create_token,
            CreateDelegationTokenRequest(),
            "no delegation tokens",
        ),
    ]
    for handle, request, sentence in asked:
        with pytest.raises(UnsupportedVersion, match=sentence):
            world.submit(handle, request)


def test_without_a_key_there_are_no_tokens_at_any_level(make_world: Callable) -> None:
    world = make_world(read_bootstrap=lambda: feature_records({"metadata.version": TOKENS - 1}), supported_features={"metadata.version": SupportedVersionRange(7, 30)})  # fmt: skip
    world.submit(plan_activation, False)
    with pytest.raises(DelegationTokenAuthDisabled):
        world.submit(plan_create_token, CreateDelegationTokenRequest())


@pytest.mark.parametrize(("level", "code"), [(10, UnsupportedVersion.code), (11, 0)])
def test_credentials_are_in_the_metadata_from_3_5_on(
    make_world: Callable, level: int, code: int
) -> None:
    world = world_at(make_world, level, 1)
    alice = ScramCredentialUpsertion("alice", 1, 4096, b"salt", b"x" * 32)
    request = AlterUserScramCredentialsRequest(upsertions=[alice])
    (result,) = world.submit(plan_alter_scram_credentials, request).results
    assert result.error_code == code
    if code:
        assert result.error_message == "The current metadata.version does not support SCRAM"


def test_a_cluster_is_raised_from_the_lowest_level_to_the_newest(make_world: Callable) -> None:
    """The broker tells its directories by a second registration, and keeps its epoch."""
    world = world_at(make_world, LOWEST, 1)
    topic_id = create(world, "t")
    epoch = world.image.brokers[1].broker_epoch
    raised_to(world, 30)
    assert world.register(1) == epoch
    assert len(world.image.brokers[1].log_directories) == 1
    assert not world.image.brokers[1].fenced
    (partition,) = world.image.topics.by_id[topic_id].partitions
    assert (partition.leader, partition.leader_epoch) == (1, 0)


@pytest.mark.parametrize(("present", "lower", "may"), [(16, 15, True), (17, 16, False), (10, 8, True), (8, 7, False)])  # fmt: skip
def test_a_level_goes_down_where_nothing_can_be_lost(
    make_world: Callable, present: int, lower: int, may: bool
) -> None:
    world = world_at(make_world, present, 1)
    update = FeatureUpdateKey(feature="metadata.version", max_version_level=lower, upgrade_type=2)
    request = UpdateFeaturesRequest(feature_updates=[update])
    error: KafkaError | None = None
    try:
        world.submit(plan_update_features, request)
    except InvalidUpdateVersion as refused:
        error = refused
    assert (error is None) == may
    assert world.image.features["metadata.version"] == (lower if may else present)


def test_eligible_leader_replicas_need_a_level(make_world: Callable) -> None:
    supported = {
        "metadata.version": SupportedVersionRange(7, 30),
        "eligible.leader.replicas.version": SupportedVersionRange(0, 1),
    }
    world = make_world(supported_features=supported, read_bootstrap=lambda: feature_records(default_levels(LOWEST)))  # fmt: skip
    world.submit(plan_activation, False)
    assert world.image.features == {"metadata.version": LOWEST}
    update = FeatureUpdateKey(feature="eligible.leader.replicas.version", max_version_level=1, upgrade_type=1)  # fmt: skip
    with pytest.raises(InvalidUpdateVersion, match=r"depends on metadata\.version level 23"):
        world.submit(plan_update_features, UpdateFeaturesRequest(feature_updates=[update]))  # fmt: skip


@pytest.mark.parametrize("level", [CONTROLLERS, 30])
def test_a_controller_that_cannot_work_at_a_level_is_asked_too(
    make_world: Callable, level: int
) -> None:
    """Controllers register from 3.7-IV0 on; before, nobody knows at which levels they work."""
    world = world_at(make_world, CONTROLLERS, 1)
    other = ControllerRegistrationRequest(
        controller_id=2, features=[Feature("metadata.version", min_supported_version=7, max_supported_version=CONTROLLERS)]
    )  # fmt: skip
    world.submit(plan_controller_registration, other)
    if level > CONTROLLERS:
        with pytest.raises(InvalidUpdateVersion, match="Controller 2 only supports versions 7-15"):
            raised_to(world, level)
    else:
        raised_to(world, level)
