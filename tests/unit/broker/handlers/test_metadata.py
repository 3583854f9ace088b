"""Metadata: what each version asks and is told. Expected answers are those of Kafka 4.3.1 unless a docstring says otherwise."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from millstream.broker.handlers.metadata import handle
from millstream.errors import InvalidRequest, NotController
from millstream.model import Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from millstream.protocol.generated.metadata_records import PartitionChangeRecord
from tests.support.handler_services import NotGiven

UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE, INVALID_TOPIC = 3, 5, 9, 17
LISTENER_NOT_FOUND, UNKNOWN_TOPIC_ID = 72, 100
NOT_ASKED = -(1 << 31)
STRANGE_ID = Uuid(b"?" * 16)


def ask(node: object, version: int, *names: str | None, **fields: object) -> MetadataResponse:
    topics = [MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    for name, value in fields.items():
        setattr(request, name, value)
    return node.answer(handle, request, version)


def summary(response: MetadataResponse) -> list[tuple[str | None, int, int]]:
    return [(topic.name, topic.error_code, len(topic.partitions)) for topic in response.topics]


def test_no_topics_are_asked_for_just_brokers(node: object) -> None:
    node.create("a")
    response = ask(node, 13)
    assert [(b.node_id, b.host, b.port, b.rack) for b in response.brokers] == [
        (1, "host-1", 9091, None)
    ]
    assert (response.cluster_id, response.controller_id, response.topics) == ("cluster", 1, [])


def test_all_topics_are_null_or_empty_in_version_0(node: object) -> None:
    node.create("a")
    node.create("b", 2)
    for response in (ask(node, 13, topics=None), ask(node, 0, topics=[])):
        assert summary(response) == [("a", 0, 1), ("b", 0, 2)]
    assert summary(ask(node, 1)) == []


def test_a_partition_is_told_with_its_leader_and_replicas(node: object) -> None:
    node.create("a")
    (topic,) = ask(node, 13, "a").topics
    assert topic.topic_id == node.live.image.topic("a").topic_id
    (partition,) = topic.partitions
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 1, 0)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == (
        [1],
        [1],
        [],
    )


def test_what_is_known_is_told_without_the_controller(node: object) -> None:
    node.create("a")
    node.services = replace(node.services, controller=NotGiven("controller"))
    response = ask(node, 13, "a", "nope")
    assert summary(response) == [("a", 0, 1), ("nope", UNKNOWN_TOPIC, 0)]
    assert response.topics[0].partitions[0].leader_id == 1


def test_unknown_illegal_and_repeated_names(node: object) -> None:
    node.create("a")
    assert summary(ask(node, 13, "a", "nope", "a b", "a")) == [
        ("a", 0, 1),
        ("nope", UNKNOWN_TOPIC, 0),
        ("a b", INVALID_TOPIC, 0),
    ]


def test_operations_are_told_of_topics_that_do_not_exist_too(node: object) -> None:
    asked = [MetadataRequestTopic(name=name) for name in ("nope", "a b")]
    asked.append(MetadataRequestTopic(name=None, topic_id=STRANGE_ID))
    response = ask(node, 13, topics=asked, include_topic_authorized_operations=True)
    assert [t.topic_authorized_operations for t in response.topics] == [3576, 3576, NOT_ASKED]


def test_topics_are_found_by_id_from_version_12_on(node: object) -> None:
    node.create("a")
    topic_id = node.live.image.topic("a").topic_id
    topics = [
        MetadataRequestTopic(name=None, topic_id=topic_id),
        MetadataRequestTopic(name="x", topic_id=STRANGE_ID),
    ]
    response = ask(node, 12, topics=topics)
    assert [(t.name, t.topic_id, t.error_code) for t in response.topics] == [
        ("a", topic_id, 0),
        (None, STRANGE_ID, UNKNOWN_TOPIC_ID),
    ]
    with pytest.raises(InvalidRequest, match="from version 12 on"):
        ask(node, 11, topics=topics)


def test_an_entry_needs_a_name_or_an_id(node: object) -> None:
    with pytest.raises(InvalidRequest, match="a name or an id"):
        ask(node, 13, None)


def test_an_unknown_topic_is_created_behind_the_answer(
    node: object, caplog: pytest.LogCaptureFixture
) -> None:
    """The client asks again. The log says who wanted it."""
    caplog.set_level(logging.INFO, "millstream.broker")
    node.create("my.topic")
    names = ["new", "my_topic", "a b", "new"]
    response = ask(node, 13, *names, allow_auto_topic_creation=True)
    assert summary(response) == [
        ("new", UNKNOWN_TOPIC, 0),
        ("my_topic", UNKNOWN_TOPIC, 0),
        ("a b", INVALID_TOPIC, 0),
    ]
    assert node.submitted == []
    node.catch_up()
    assert node.submitted == [ApiKey.CREATE_TOPICS]
    told = "topic new did not exist and was created, because client 'someone' asked for it"
    assert caplog.messages[0].startswith(told)
    assert summary(ask(node, 13, "new", allow_auto_topic_creation=True)) == [("new", 0, 1)]


def test_a_topic_is_created_once_however_many_ask_for_it_meanwhile(node: object) -> None:
    ask(node, 13, "new", allow_auto_topic_creation=True)
    ask(node, 13, "new", "newer", allow_auto_topic_creation=True)
    node.catch_up()
    assert node.submitted == [ApiKey.CREATE_TOPICS, ApiKey.CREATE_TOPICS]
    assert [len(request.topics) for request in node.requests] == [1, 1]


def test_no_topic_is_created_by_being_asked_for_where_there_are_very_many(
    node: object, caplog: pytest.LogCaptureFixture
) -> None:
    node.services.auto_topic_creation._topics_max = 2
    node.create("a")
    for name in ("b", "c", "d"):
        ask(node, 13, name, allow_auto_topic_creation=True)
        node.catch_up()
    assert node.submitted == [ApiKey.CREATE_TOPICS]
    assert sorted(node.live.image.topics.by_name) == ["a", "b"]
    assert caplog.text.count("are not created: the cluster has 2 already") == 1


def test_a_topic_that_could_not_be_created_is_tried_again_when_it_is_asked_for_again(
    node: object, caplog: pytest.LogCaptureFixture
) -> None:
    node.failures = [NotController("the controller has moved")]
    for expected in (UNKNOWN_TOPIC, UNKNOWN_TOPIC, 0):
        response = ask(node, 13, "new", allow_auto_topic_creation=True)
        assert response.topics[0].error_code == expected
        node.catch_up()
    assert "topics new were asked for and could not be created: the controller" in caplog.text


def test_what_many_names_created_is_told_in_two_lines(
    node: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "millstream.broker")
    good = [f"new-{number}" for number in range(300)]
    for number in range(20):
        node.create(f"old.{number}")
    colliding = [f"old_{number}" for number in range(20)]
    ask(node, 13, *good, *colliding, allow_auto_topic_creation=True)
    node.catch_up()
    created, refused = caplog.messages
    assert created.startswith("topics new-0, new-1, ")
    assert "new-9 and 290 more did not exist and were created" in created
    assert refused.startswith("asked for by client 'someone' and not created: old_0 (")
    assert refused.endswith(" and 10 more")


def in_parts(node: object, count: int) -> None:
    """As `long_requests` cuts a request."""
    whole = [MetadataRequestTopic(name=f"new-{number}") for number in range(count)]
    request = MetadataRequest(topics=whole, allow_auto_topic_creation=True)
    for begin in range(0, count, 50):
        part = MetadataRequest(topics=whole[begin : begin + 50], allow_auto_topic_creation=True)
        answer = node.answer(handle, part, 13, cut_from=request)
        assert {topic.error_code for topic in answer.topics} == {UNKNOWN_TOPIC}


def test_all_that_a_long_request_asks_for_is_one_creation(node: object) -> None:
    in_parts(node, 200)
    node.catch_up()
    assert [len(request.topics) for request in node.requests] == [200]
    assert len(node.live.image.topics) == 200


def test_a_request_for_more_topics_than_one_creation_may_make_creates_none(
    node: object, caplog: pytest.LogCaptureFixture
) -> None:
    """Kafka's controller refuses 10,000 records in one request; a topic of one partition is two. Ours is not asked: planning takes long."""
    for count, told in (
        (5_001, "are not created: more than one creation may make"),
        (10_001, "too many at a time"),
    ):
        in_parts(node, count)
        node.catch_up()
        assert node.submitted == []
        assert told in caplog.text


def test_so_many_topics_are_planned_at_once_that_others_have_their_turns(
    node: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "millstream.broker")
    in_parts(node, 2_500)
    node.catch_up()
    assert [len(request.topics) for request in node.requests] == [1_000, 1_000, 500]
    (told,) = caplog.messages
    assert "new-9 and 2,490 more did not exist and were created" in told


def test_creation_needs_the_leave_of_client_and_broker(node: object) -> None:
    assert summary(ask(node, 13, "new")) == [("new", UNKNOWN_TOPIC, 0)]
    node.configure(auto_create_topics_enable=False)
    assert summary(ask(node, 13, "new", allow_auto_topic_creation=True)) == [
        ("new", UNKNOWN_TOPIC, 0)
    ]
    node.catch_up()
    assert node.submitted == []


def test_the_defaults_of_the_broker_count_where_it_was_given_some(make_node: Callable) -> None:
    """A controller apart has not read them: topics had one replica there, whatever the brokers' files say."""
    for static, expected in (
        ({}, (-1, -1)),
        ({"num_partitions": "4"}, (4, -1)),
        ({"num_partitions": "4", "default_replication_factor": "3"}, (4, 3)),
    ):
        node = make_node(**static)
        ask(node, 13, "new", allow_auto_topic_creation=True)
        node.catch_up()
        (topic,) = node.requests[0].topics
        assert (topic.num_partitions, topic.replication_factor) == expected


def test_internal_topics_come_with_their_own_configuration(node: object) -> None:
    names = ["__consumer_offsets", "__transaction_state", "__cluster_metadata"]
    response = ask(node, 13, *names, allow_auto_topic_creation=True)
    assert summary(response) == [(name, UNKNOWN_TOPIC, 0) for name in names]
    node.catch_up()
    response = ask(node, 13, *names[:2])
    assert summary(response) == [("__consumer_offsets", 0, 2), ("__transaction_state", 0, 3)]
    assert "__cluster_metadata" not in node.live.image.topics
    assert [topic.is_internal for topic in response.topics] == [True, True]
    assert node.live.image.topic_config("__consumer_offsets")["cleanup.policy"] == "compact"
    assert dict(node.live.image.topic_config("__transaction_state")) == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }


@pytest.mark.parametrize(("version", "cluster", "topic"), [(8, 8096, 3576), (13, 8096, 3576)])
def test_authorized_operations_are_told_on_request(
    node: object, version: int, cluster: int, topic: int
) -> None:
    node.create("a")
    silent = ask(node, version, "a")
    assert (silent.cluster_authorized_operations, silent.topics[0].topic_authorized_operations) == (
        NOT_ASKED,
        NOT_ASKED,
    )
    told = ask(
        node,
        version,
        "a",
        "nope",
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    assert told.cluster_authorized_operations == cluster
    assert [t.topic_authorized_operations for t in told.topics] == [topic, topic]


def test_a_partition_without_a_leader(node: object) -> None:
    node.create("a")
    node.replay(
        PartitionChangeRecord(
            partition_id=0, topic_id=node.live.image.topic("a").topic_id, leader=-1
        )
    )
    partition = ask(node, 13, "a").topics[0].partitions[0]
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (
        LEADER_NOT_AVAILABLE,
        -1,
        1,
    )


@pytest.mark.parametrize(("version", "code"), [(5, LEADER_NOT_AVAILABLE), (6, LISTENER_NOT_FOUND)])
def test_a_leader_that_lacks_the_listener(make_node: Callable, version: int, code: int) -> None:
    node = make_node()
    node.add_broker(2, listener="OTHER")
    node.create("a", 2)
    by_leader = {p.leader_id: p.error_code for p in ask(node, version, "a").topics[0].partitions}
    assert by_leader == {1: 0, -1: code}


def test_a_fenced_replica_is_offline(make_node: Callable) -> None:
    node = make_node()
    node.add_broker(2, fenced=True)
    node.create("a", 1, 2)
    (partition,) = ask(node, 13, "a").topics[0].partitions
    assert (sorted(partition.replica_nodes), partition.isr_nodes, partition.offline_replicas) == (
        [1, 2],
        [1],
        [2],
    )
    (old,) = ask(node, 0, "a").topics[0].partitions
    assert (old.replica_nodes, old.error_code) == ([1], REPLICA_NOT_AVAILABLE)
    assert [b.node_id for b in ask(node, 13).brokers] == [1]
