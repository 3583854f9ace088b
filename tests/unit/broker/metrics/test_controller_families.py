"""The gauges of the cluster, counted from its metadata."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millstream.broker.metrics.controller_families import controller_families
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import (
    NO_LEADER,
    MetadataImage,
    PartitionImage,
    TopicImage,
    TopicsImage,
    frozen_mapping,
)
from millstream.metadata.topics_delta import TopicChange
from millstream.model import ZERO_UUID, BrokerId
from tests.support.node_views import GivenController, given_node, quorum


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
    leaving = replace(broker(4, fenced=False), in_controlled_shutdown=True)
    image = MetadataImage(
        brokers=frozen_mapping(brokers | {BrokerId(4): leaving}),
        topics=TopicsImage(frozen_mapping(topics)),
    )
    given = GivenController(image, quorum(leader))
    node = given_node(controller=given, is_controller=False)
    name = "kafka_controller_kafkacontroller"
    told = {family.name: family.samples[0].value for family in controller_families(node)}
    assert told == {
        f"{name}_activecontrollercount": active,
        f"{name}_globaltopiccount": 2,
        f"{name}_globalpartitioncount": 5,
        f"{name}_offlinepartitionscount": 1,
        f"{name}_preferredreplicaimbalancecount": 2,
        f"{name}_activebrokercount": 2,
        f"{name}_fencedbrokercount": 1,
        f"{name}_controlledshutdownbrokercount": 1,
        f"{name}_brokerregistrationstate": 30,
    }


def test_a_controller_tells_what_it_does() -> None:
    given = GivenController(silences={BrokerId(2): 1_200})
    given.metrics.timed_out_heartbeats = 2
    given.metrics.queue_time.observe(3_000)
    told = {
        sample: value
        for family in controller_families(given_node(controller=given))
        for sample, value in [(family.name, family.samples[-1].value if family.samples else None)]
    }
    name = "kafka_controller_kafkacontroller"
    assert told[f"{name}_timedoutbrokerheartbeatcount"] == 2
    assert told[f"{name}_timesincelastheartbeatreceivedms"] == 1_200
    assert told[f"{name}_lastappliedrecordoffset"] == 39
    assert told["kafka_controller_controllereventmanager_eventqueuetimems"] == 1


def test_unclean_elections_and_those_of_eligible_replicas_are_counted() -> None:
    def changed(before: PartitionImage, **fields: Any) -> TopicChange:  # Any: of a partition
        after = replace(before, **fields)
        topic = TopicImage("t", ZERO_UUID, (before,))
        return TopicChange(topic, replace(topic, partitions=(after,)), (0,))

    offline = replace(partition(0, NO_LEADER), isr=(), eligible_leader_replicas=(BrokerId(2),))
    given = GivenController()
    given.metrics.note_elections(
        [
            changed(offline, leader=BrokerId(2)),
            changed(offline, leader=BrokerId(1), leader_recovery_state=1),
            changed(partition(0, 1), leader=BrokerId(2)),
            changed(replace(partition(0, 1), leader_recovery_state=1), leader_recovery_state=0),
            TopicChange(None, TopicImage("new", ZERO_UUID, (partition(0, 1),)), (0,)),
        ]
    )
    told = {
        f.name: f.samples[0].value
        for f in controller_families(given_node(controller=given))
        if f.samples
    }
    assert told["kafka_controller_controllerstats_uncleanleaderelections_total"] == 1
    assert told["kafka_controller_controllerstats_electionfromeligibleleaderreplicas_total"] == 1
