"""A metadata log written by Kafka 4.3.1: three topics created, one deleted, one grown, configs changed, a clean shutdown."""

from __future__ import annotations

from pathlib import Path

from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage
from millstream.metadata.loader import MetadataBatch, MetadataLoader
from millstream.metadata.record_versions import record_version
from millstream.metadata.snapshot_records import image_records
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.record_frames import decode_metadata_record, encode_metadata_record
from millstream.records.batch import iterate_batches
from millstream.records.record import iterate_records

LOG = Path(__file__).with_name("kafka_4_3_1_metadata.log").read_bytes()


def frames() -> list[tuple[object, list[bytes]]]:
    return [
        (
            header,
            []
            if header.is_control
            else [bytes(r.value) for r in iterate_records(header, view, 1 << 20)],
        )
        for header, view in iterate_batches(memoryview(LOG))
    ]


def replayed() -> MetadataImage:
    loader = MetadataLoader(MetadataImage(cluster_id="AAAAAAAAAAAAAAAAAAAAAw"))
    for header, values in frames():
        records = [decode_metadata_record(value) for value in values]
        loader.replay(
            MetadataBatch(
                header.base_offset, header.last_offset, header.partition_leader_epoch, records
            )
        )
    return loader.image


def test_its_image_is_what_kafka_showed() -> None:
    image = replayed()
    assert (image.offset, image.epoch) == (45, 1)
    assert image.features == {
        "metadata.version": 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }
    assert {topic.name: len(topic.partitions) for topic in image.topics} == {
        "flights": 2,
        "grown": 3,
    }
    assert image.topic_config("flights") == {"segment.ms": "100000"}
    assert image.topic_config("grown") == {"cleanup.policy": "compact"}
    assert image.topic_config("gone") == {}
    assert image.config(ConfigResource(ConfigResourceType.BROKER, "")) == {
        "min.insync.replicas": "1",
        "log.retention.ms": "600000",
    }


def test_its_broker_left_in_order() -> None:
    broker = replayed().brokers[1]
    assert (broker.broker_epoch, broker.fenced, broker.in_controlled_shutdown) == (13, True, True)
    assert broker.endpoint("PLAINTEXT").port == 19392
    partition = replayed().partition("flights", 0)
    assert (partition.leader, partition.isr, partition.eligible_leader_replicas) == (-1, (), (1,))


def test_its_records_are_written_by_us_byte_for_byte() -> None:
    """Versions included: what `record_version` picks is what Kafka picks at metadata.version 4.3-IV0."""
    values = [value for _, values in frames() for value in values]
    assert len(values) > 20
    for value in values:
        record = decode_metadata_record(value)
        assert encode_metadata_record(record, record_version(record)) == value


def test_its_image_survives_a_snapshot() -> None:
    image = replayed()
    values = [encode_metadata_record(r, record_version(r)) for r in image_records(image)]
    batch = MetadataBatch(0, 45, 1, [decode_metadata_record(value) for value in values])
    loader = MetadataLoader(MetadataImage(cluster_id="AAAAAAAAAAAAAAAAAAAAAw"))
    loader.replay(batch)
    assert loader.image == image
