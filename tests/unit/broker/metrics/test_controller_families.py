"""The gauges of the cluster, counted from its metadata."""

from __future__ import annotations

import pytest

from millstream.broker.metrics.replica_families import controller_families
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import (
    NO_LEADER,
    MetadataImage,
    PartitionImage,
    TopicImage,
    TopicsImage,
    frozen_mapping,
)
from millstream.model import ZERO_UUID, BrokerId
from tests.support.handler_services import GivenMetadata, GivenQuorum, node_view


def partition(number: int, leader: int) -> PartitionImage:
    """Of the replicas 1 and 2, the first of which is preferred."""
    replicas = (BrokerId(1), BrokerId(2))
    return PartitionImage(
        partition=number, replicas=replicas, isr=replicas, leader=BrokerId(leader)
    )


def broker(broker_id: int, *, fenced: bool) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=BrokerId(broker_id), broker_epoch=1, incarnation_id=ZERO_UUID, fenced=fenced
    )


@pytest.mark.parametrize(("leader", "active"), [(1, 1), (2, 0)])
def test_gauges_of_the_cluster_count_what_the_metadata_say_on_every_node(
    leader: int, active: int
) -> None:
    topics = {
        "a": TopicImage("a", ZERO_UUID, tuple(partition(n, at) for n, at in enumerate((1, 2, 2)))),
        "b": TopicImage("b", ZERO_UUID, (partition(0, NO_LEADER), partition(1, 1))),
    }
    brokers = {BrokerId(n): broker(n, fenced=n == 3) for n in (1, 2, 3)}
    image = MetadataImage(
        brokers=frozen_mapping(brokers), topics=TopicsImage(frozen_mapping(topics))
    )
    quorum = GivenQuorum(leader_id=leader, leader_epoch=7, high_watermark=40)
    node = node_view(node_id=BrokerId(1), metadata=GivenMetadata(image), controller=quorum)
    controller = "kafka_controller_kafkacontroller"
    told = {family.name: family.samples[0].value for family in controller_families(node)}
    assert told == {
        f"{controller}_activecontrollercount": active,
        f"{controller}_globaltopiccount": 2,
        f"{controller}_globalpartitioncount": 5,
        f"{controller}_offlinepartitionscount": 1,
        f"{controller}_preferredreplicaimbalancecount": 2,
        f"{controller}_activebrokercount": 2,
        f"{controller}_fencedbrokercount": 1,
        "kafka_server_raft_metrics_current_leader": leader,
        "kafka_server_raft_metrics_current_epoch": 7,
        "kafka_server_raft_metrics_high_watermark": 40,
    }
