"""The hash of a group's topics. Expected numbers are those of hash4j 0.22, which Kafka 4.3 uses."""

from __future__ import annotations

import pytest

from millstream.coordinator.group.topic_hash import topic_hash, topics_hash
from millstream.coordinator.group.xxh3 import xxh3_64
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import (
    MetadataImage,
    PartitionImage,
    TopicImage,
    TopicsImage,
    frozen_mapping,
)
from millstream.model import ZERO_UUID, BrokerId, Uuid

TOPIC_ID = Uuid(bytes.fromhex("0102030405060708f1f2f3f4f5f6f7f8"))
HASH_OF_TWO_PARTITIONS = 7322744141280423947


def topic(*replicas: tuple[int, ...]) -> TopicImage:
    partitions = tuple(
        PartitionImage(
            partition=index,
            replicas=tuple(BrokerId(broker) for broker in brokers),
            isr=(),
            leader=BrokerId(1),
        )
        for index, brokers in enumerate(replicas)
    )
    return TopicImage("orders", TOPIC_ID, partitions)


def broker(broker_id: int, rack: str | None) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=BrokerId(broker_id), broker_epoch=0, incarnation_id=ZERO_UUID, rack=rack
    )


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, 3244421341483603138),
        (1, 5502495245947142431),
        (8, -433104430451296011),
        (16, -8742622969447446440),
        (128, 1211889905577015873),
        (240, -5273803999686196762),
        (241, -7679571566553258082),
        (1025, 7405123385822357415),
        (3000, 3720116794508197388),
    ],
)
def test_every_length_has_its_own_way_through_the_hash(length: int, expected: int) -> None:
    data = bytes((place * 131 + 7) & 0xFF for place in range(length))
    assert xxh3_64(data) == expected


def test_a_topic_is_hashed_by_id_name_and_partitions() -> None:
    assert topic_hash(topic((1,), (1,)), {}) == HASH_OF_TWO_PARTITIONS
    assert topic_hash(topic(*[(1,)] * 100), {}) == 789645687593898285


def test_racks_of_the_replicas_count_in_sorted_order() -> None:
    brokers = {BrokerId(1): broker(1, "b"), BrokerId(2): broker(2, "a")}
    assert topic_hash(topic((1, 2), (1,)), brokers) == -8718680289548215788


def test_a_replica_whose_broker_has_no_rack_does_not_count() -> None:
    brokers = {BrokerId(1): broker(1, None)}
    assert topic_hash(topic((1,), (1, 7)), brokers) == HASH_OF_TWO_PARTITIONS


def test_topics_that_do_not_exist_do_not_count() -> None:
    image = MetadataImage(topics=TopicsImage(by_name=frozen_mapping({"orders": topic((1,), (1,))})))
    assert topics_hash(["orders", "missing"], image) == 5658410697251798717
    assert topics_hash(["missing"], image) == 0
