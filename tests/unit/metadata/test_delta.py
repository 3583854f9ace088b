"""MetadataDelta: what each record does to the image."""

from __future__ import annotations

import pytest

from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.delta import MetadataDelta, MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.model import ZERO_UUID, LeaderEpoch, Offset, Uuid
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.metadata_records import (
    BeginTransactionRecord,
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

EMPTY = MetadataImage(cluster_id="cluster")
A_ID = Uuid(b"A" * 16)
B_ID = Uuid(b"B" * 16)
DIRECTORY = Uuid(b"D" * 16)
TOPIC_A = ConfigResource(ConfigResourceType.TOPIC, "a")


def replayed(*records: MetadataRecord, on: MetadataImage = EMPTY) -> MetadataImage:
    delta = MetadataDelta(on)
    for record in records:
        delta.replay(record)
    return delta.image(Offset(on.offset + len(records)), LeaderEpoch(1))


def partition(number: int = 0, topic_id: Uuid = A_ID, **changes: object) -> PartitionRecord:
    record = PartitionRecord(
        partition_id=number, topic_id=topic_id, replicas=[1, 2, 3], isr=[1, 2], leader=1,
        leader_epoch=0, partition_epoch=0, directories=[DIRECTORY] * 3,
    )  # fmt: skip
    for name, value in changes.items():
        setattr(record, name, value)
    return record


def topic_a() -> MetadataImage:
    return replayed(TopicRecord(name="a", topic_id=A_ID), partition(0), partition(1))


def test_a_topic_is_found_by_name_and_by_id() -> None:
    image = topic_a()
    assert image.topic("a") is image.topic_by_id(A_ID)
    assert [p.partition for p in image.topics.by_name["a"].partitions] == [0, 1]
    assert image.partition("a", 1).replicas == (1, 2, 3)
    assert image.partition("a", 2) is None
    assert image.partition("a", -1) is None


def test_offset_and_epoch_are_those_given() -> None:
    assert (topic_a().offset, topic_a().epoch, topic_a().cluster_id) == (2, 1, "cluster")


def test_untouched_topics_are_shared_not_copied() -> None:
    before = topic_a()
    after = replayed(TopicRecord(name="b", topic_id=B_ID), partition(0, B_ID), on=before)
    assert after.topic("a") is before.topic("a")
    assert replayed(NoOpRecord(), on=before).topics is before.topics


def test_a_partition_change_without_leader_keeps_leader_and_leader_epoch() -> None:
    image = replayed(
        PartitionChangeRecord(partition_id=0, topic_id=A_ID, isr=[1, 2, 3]), on=topic_a()
    )
    changed = image.partition("a", 0)
    assert (changed.isr, changed.leader, changed.leader_epoch, changed.partition_epoch) == (
        (1, 2, 3),
        1,
        0,
        1,
    )


@pytest.mark.parametrize("leader", [2, 1, -1])
def test_a_partition_change_that_names_a_leader_bumps_the_leader_epoch(leader: int) -> None:
    image = replayed(
        PartitionChangeRecord(partition_id=0, topic_id=A_ID, leader=leader), on=topic_a()
    )
    changed = image.partition("a", 0)
    assert (changed.leader, changed.leader_epoch, changed.partition_epoch) == (leader, 1, 1)
    assert changed.has_leader == (leader != -1)


def test_replaced_replicas_keep_the_directories_of_those_that_stay() -> None:
    image = replayed(
        PartitionChangeRecord(partition_id=0, topic_id=A_ID, replicas=[3, 4]), on=topic_a()
    )
    assert image.partition("a", 0).directories == (DIRECTORY, ZERO_UUID)


def test_partition_records_of_version_0_have_unknown_directories() -> None:
    image = replayed(TopicRecord(name="a", topic_id=A_ID), partition(directories=[]))
    assert image.partition("a", 0).directories == (ZERO_UUID,) * 3


def test_removing_a_topic_removes_its_configs() -> None:
    config = ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value="1")
    image = replayed(config, on=topic_a())
    assert image.topic_config("a") == {"retention.ms": "1"}
    gone = replayed(RemoveTopicRecord(topic_id=A_ID), on=image)
    assert (len(gone.topics), gone.configs, gone.topic_by_id(A_ID)) == (0, {}, None)


def test_a_topic_may_be_created_again_under_another_id_in_one_delta() -> None:
    image = replayed(
        RemoveTopicRecord(topic_id=A_ID),
        TopicRecord(name="a", topic_id=B_ID),
        partition(0, B_ID),
        on=topic_a(),
    )
    assert image.topic("a").topic_id == B_ID
    assert set(image.topics.by_id) == {B_ID}


def test_the_delta_lists_what_was_created_changed_and_deleted() -> None:
    base = replayed(TopicRecord(name="b", topic_id=B_ID), partition(0, B_ID), on=topic_a())
    delta = MetadataDelta(base)
    delta.replay(PartitionChangeRecord(partition_id=1, topic_id=A_ID, leader=2))
    delta.replay(RemoveTopicRecord(topic_id=B_ID))
    delta.replay(TopicRecord(name="c", topic_id=Uuid(b"C" * 16)))
    assert [
        (c.before.name if c.before else None, c.after.name, c.partitions)
        for c in delta.topics.changes()
    ] == [
        ("a", "a", (1,)),
        (None, "c", ()),
    ]
    assert [t.name for t in delta.topics.created()] == ["c"]
    assert [t.name for t in delta.topics.deleted()] == ["b"]


def test_configs_are_set_replaced_and_removed() -> None:
    def record(name: str, value: str | None) -> ConfigRecord:
        return ConfigRecord(resource_type=2, resource_name="a", name=name, value=value)

    image = replayed(record("x", "1"), record("y", "2"), record("x", "3"))
    assert image.config(TOPIC_A) == {"x": "3", "y": "2"}
    assert replayed(record("x", None), on=image).config(TOPIC_A) == {"y": "2"}
    assert replayed(record("x", None), record("y", None), on=image).configs == {}


def test_a_feature_of_level_0_is_gone() -> None:
    image = replayed(
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="f", feature_level=1),
    )
    assert replayed(FeatureLevelRecord(name="f", feature_level=0), on=image).features == {
        "metadata.version": 30
    }


def test_producer_ids_name_the_next_free_id() -> None:
    assert (
        replayed(
            ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=2000)
        ).next_producer_id
        == 2000
    )


def broker_1() -> MetadataImage:
    return replayed(
        RegisterBrokerRecord(
            broker_id=1, incarnation_id=A_ID, broker_epoch=14, fenced=True, rack="r", log_dirs=[DIRECTORY],
            end_points=[BrokerEndpoint(name="PLAIN", host="h", port=9092, security_protocol=0)],
            features=[BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
        )
    )  # fmt: skip


def test_a_registered_broker_is_known_with_endpoints_and_features() -> None:
    broker = broker_1().brokers[1]
    assert broker.endpoint("PLAIN").port == 9092
    assert broker.endpoint("OTHER") is None
    assert broker.features == {"metadata.version": (7, 30)}
    assert (broker.fenced, broker.is_active, broker.broker_epoch, broker.rack) == (
        True,
        False,
        14,
        "r",
    )


def test_a_registration_change_unfences_and_fences() -> None:
    unfenced = replayed(
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=14, fenced=-1), on=broker_1()
    )
    assert unfenced.brokers[1].is_active
    shutting_down = replayed(
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=14, in_controlled_shutdown=1),
        on=unfenced,
    )
    assert not shutting_down.brokers[1].is_active
    assert shutting_down.brokers[1].log_directories == (DIRECTORY,)
    assert replayed(FenceBrokerRecord(id=1, epoch=14), on=unfenced).brokers[1].fenced
    assert not replayed(UnfenceBrokerRecord(id=1, epoch=14), on=broker_1()).brokers[1].fenced


def test_a_change_for_another_epoch_of_a_broker_means_the_log_is_damaged() -> None:
    with pytest.raises(AssertionError, match="broker 1 has epoch 14, a record names 13"):
        replayed(
            BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=13, fenced=-1), on=broker_1()
        )


def test_an_unregistered_broker_is_gone() -> None:
    assert (
        replayed(UnregisterBrokerRecord(broker_id=1, broker_epoch=14), on=broker_1()).brokers == {}
    )


def test_a_controller_registers() -> None:
    image = replayed(RegisterControllerRecord(controller_id=3, incarnation_id=A_ID))
    assert image.controllers[3].incarnation_id == A_ID


def test_eligible_leader_replicas_are_cleared_for_one_topic_or_all() -> None:
    change = PartitionChangeRecord(
        partition_id=0, topic_id=A_ID, eligible_leader_replicas=[2], last_known_elr=[3]
    )
    image = replayed(change, on=topic_a())
    assert image.partition("a", 0).eligible_leader_replicas == (2,)
    for record in (ClearElrRecord(topic_name="a"), ClearElrRecord(topic_name="")):
        cleared = replayed(record, on=image).partition("a", 0)
        assert (cleared.eligible_leader_replicas, cleared.last_known_eligible_leader_replicas) == (
            (),
            (),
        )


@pytest.mark.parametrize(
    "record",
    [
        partition(),
        RemoveTopicRecord(topic_id=A_ID),
        PartitionChangeRecord(partition_id=0, topic_id=A_ID, leader=1),
        BeginTransactionRecord(name="x"),
        UnregisterBrokerRecord(broker_id=9, broker_epoch=1),
    ],
)
def test_a_record_that_contradicts_the_image_means_the_log_is_damaged(
    record: MetadataRecord,
) -> None:
    with pytest.raises(AssertionError):
        replayed(record)


def test_a_topic_name_can_exist_once_only() -> None:
    with pytest.raises(AssertionError, match="created while it exists"):
        replayed(TopicRecord(name="a", topic_id=B_ID), on=topic_a())


def test_partitions_may_not_have_gaps() -> None:
    with pytest.raises(AssertionError, match="no record of partition 0"):
        replayed(TopicRecord(name="a", topic_id=A_ID), partition(1))
