"""When metadata is asked for, what is believed, and what happens when nobody answers."""

from __future__ import annotations

import logging

import pytest

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.cluster.core.leader_changes import LeaderChanges
from millstream.clients.cluster.core.metadata_state import MetadataPolicy, MetadataState
from millstream.model import TopicPartition, Uuid
from millstream.net.client.core.outages import Backoff
from millstream.protocol.generated.fetch import LeaderIdAndEpoch, NodeEndpoint
from millstream.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

IDS = [Uuid(bytes([n]) * 16) for n in range(3)]


class Steady:
    def random(self) -> float:
        return 0.5

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


def state(*, rebootstrap: bool = True) -> MetadataState:
    return MetadataState(MetadataPolicy(300_000, Backoff(100, 1_000), rebootstrap, 5_000), Steady())


def response(
    leader: int = 1, epoch: int = 3, *, topic_id: Uuid = IDS[1], code: int = 0, name: str = "t"
) -> MetadataResponse:
    partition = MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=n, host="h", port=n) for n in (1, 2)],
        cluster_id="c",
        topics=[
            MetadataResponseTopic(
                error_code=code,
                name=name,
                topic_id=topic_id,
                partitions=[] if code else [partition],
            )
        ],
    )


def test_backoffs_double_up_to_their_limit() -> None:
    backoff = Backoff(100, 1_000)
    assert [backoff.delay_ms(n, Steady()) for n in (1, 2, 3, 4, 5, 50)] == [
        100,
        200,
        400,
        800,
        1000,
        1000,
    ]


def test_a_new_topic_is_asked_for_at_once_and_a_known_one_when_old() -> None:
    metadata = state()
    assert metadata.due_ms(0) == 0
    assert metadata.use_topics(["t"], 0)
    assert [topic.name for topic in metadata.plan_request(0).topics or ()] == ["t"]
    metadata.handle_response(response(), 0, 13)
    assert metadata.due_ms(0) == 300_000
    assert not metadata.use_topics(["t"], 10)
    metadata.request_update()
    assert metadata.due_ms(0) == 100  # no two requests in a row without a breath


def test_a_new_topic_does_not_wait_until_metadata_may_be_asked_for_again() -> None:
    metadata = state()
    metadata.use_topics(["t"], 0)
    metadata.handle_response(response(), 0, 13)
    metadata.request_update()
    assert metadata.due_ms(1) > 0, "the same is not asked again so soon"
    assert metadata.use_topics(["u"], 1)
    assert metadata.due_ms(1) == 0


def test_a_topic_that_is_being_created_is_asked_for_again_soon() -> None:
    metadata = state()
    metadata.use_topics(["t"], 0)
    metadata.handle_response(response(code=3), 0, 13)
    assert metadata.cluster.topic_errors == {"t": 3}
    assert metadata.cluster.missing(["t", "u"]) == {"t"}
    metadata.plan_request(0)
    metadata.handle_response(response(code=3), 0, 13)
    assert metadata.due_ms(0) == 100
    metadata.plan_request(100)
    metadata.handle_response(response(), 100, 13)
    assert (metadata.due_ms(100), metadata.cluster.topic_errors) == (300_000, {})


def test_a_topic_is_created_only_when_it_is_known_to_be_missing_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A misspelt name makes a topic: the client that caused it says so. Two requests in a row, without a wait."""
    caplog.set_level(logging.WARNING, "millstream.clients")
    metadata = state()
    metadata.use_topics(["t"], 0)
    assert not metadata.plan_request(0).allow_auto_topic_creation
    metadata.handle_response(response(code=3), 0, 13)
    assert metadata.due_ms(0) == 0
    assert metadata.plan_request(0).allow_auto_topic_creation
    assert caplog.messages == []
    metadata.handle_response(response(), 0, 13)
    (told,) = caplog.messages
    assert told == (
        "topic 't' did not exist and was created, because this client asked for it, with the broker's num.partitions (1); "
        "check the name if that was not meant"
    )
    metadata.use_topics(["other"], 0)
    assert not metadata.plan_request(0).allow_auto_topic_creation


def test_a_topic_that_is_there_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "millstream.clients")
    metadata = state()
    metadata.use_topics(["t"], 0)
    metadata.plan_request(0)
    metadata.handle_response(response(), 0, 13)
    assert not metadata.plan_request(100).allow_auto_topic_creation
    assert caplog.messages == []


def test_a_client_that_must_not_create_topics_never_does() -> None:
    policy = MetadataPolicy(
        300_000, Backoff(100, 1_000), True, 5_000, allow_auto_create_topics=False
    )
    metadata = MetadataState(policy, Steady())
    metadata.use_topics(["t"], 0)
    for _ in range(3):
        assert not metadata.plan_request(0).allow_auto_topic_creation
        metadata.handle_response(response(code=3), 0, 13)
    assert metadata.due_ms(0) == 400


def test_a_topic_nobody_used_for_five_minutes_is_forgotten() -> None:
    metadata = state()
    metadata.use_topics(["old"], 0)
    metadata.use_topics(["new"], 250_000)
    assert [topic.name for topic in metadata.plan_request(300_001).topics or ()] == ["new"]


def test_topics_without_a_limit_are_never_forgotten() -> None:
    policy = MetadataPolicy(300_000, Backoff(100, 1_000), True, 5_000, topic_idle_ms_max=None)
    metadata = MetadataState(policy, Steady())
    metadata.use_topics(["old"], 0)
    assert [topic.name for topic in metadata.plan_request(10**9).topics or ()] == ["old"]


def test_all_topics_are_asked_for_while_a_pattern_needs_them() -> None:
    metadata = state()
    metadata.use_all_topics(True)
    assert metadata.plan_request(0).topics is None
    metadata.handle_response(response(name="a"), 0, 13)
    metadata.handle_response(response(name="b"), 0, 13)
    assert set(metadata.cluster.topics) == {"b"}


def test_a_leader_epoch_never_goes_back() -> None:
    """KIP-320: a broker that lags must not make us believe in an old leader again."""
    cluster = ClusterMetadata().with_response(response(leader=2, epoch=5), complete=False)
    cluster = cluster.with_response(response(leader=1, epoch=4), complete=False)
    assert cluster.leader(TopicPartition("t", 0)) == 2
    recreated = cluster.with_response(response(leader=1, epoch=0, topic_id=IDS[2]), complete=False)
    assert recreated.leader(TopicPartition("t", 0)) == 1


def test_an_answer_that_names_a_newer_leader_is_believed() -> None:
    """KIP-951."""
    cluster = ClusterMetadata().with_response(response(leader=1, epoch=5), complete=False)
    partition = TopicPartition("t", 0)
    assert cluster.with_leader(partition, 2, 6).leader(partition) == 2
    assert cluster.with_leader(partition, 2, 5) is cluster
    assert cluster.with_leader(partition, 9, 6) is cluster


def test_news_of_a_leader_brings_its_address() -> None:
    """KIP-951: the new leader may be a broker that metadata did not know."""
    cluster = ClusterMetadata().with_response(response(leader=1, epoch=5), complete=False)
    partition = TopicPartition("t", 0)
    news = LeaderChanges.collect(
        [(partition, LeaderIdAndEpoch(7, 6))], [NodeEndpoint(7, "new", 99, None)]
    )
    told = news.told_to(cluster)
    assert (told.leader(partition), str(told.nodes[7].address)) == (7, "new:99")
    nothing = LeaderChanges.collect([(partition, LeaderIdAndEpoch())], [])
    assert nothing.told_to(cluster) is cluster


def test_failures_back_off_and_in_the_end_go_back_to_the_bootstrap_servers() -> None:
    """KIP-899."""
    metadata = state()
    metadata.handle_response(response(), 0, 13)
    waits = []
    for now in (1_000, 2_000, 3_000, 5_999):
        metadata.handle_failure(now)
        waits.append(metadata.due_ms(now))
    assert waits == [100, 200, 400, 800]
    assert not metadata.rebootstrap_needed
    metadata.handle_failure(6_000)
    assert metadata.rebootstrap_needed
    metadata.rebootstrap()
    assert (dict(metadata.cluster.nodes), metadata.rebootstrap_needed) == ({}, False)


def test_when_no_known_broker_can_be_reached_the_bootstrap_servers_are_asked_at_once() -> None:
    """KIP-899."""
    metadata = state()
    metadata.handle_response(response(), 0, 13)
    metadata.handle_failure(1_000, nobody_reachable=True)
    assert metadata.rebootstrap_needed
    patient = state(rebootstrap=False)
    patient.handle_failure(1_000, nobody_reachable=True)
    assert not patient.rebootstrap_needed


def test_a_refusal_is_not_asked_about_again_unless_somebody_wants_metadata() -> None:
    metadata = state()
    metadata.plan_request(0)
    metadata.handle_refusal(0)
    assert metadata.due_ms(0) == 300_000
    metadata.request_update()
    assert metadata.due_ms(0) == 100
    metadata.plan_request(100)
    metadata.handle_refusal(100)
    metadata.request_update()
    assert metadata.due_ms(100) == 200


def test_leader_epochs_of_old_brokers_are_not_believed() -> None:
    """Before version 9 of Metadata they may be older than the leader beside them: a recreated topic begins anew."""
    metadata = state()
    metadata.handle_response(response(leader=2, epoch=5), 0, 8)
    metadata.handle_response(response(leader=1, epoch=0), 0, 8)
    partition = metadata.cluster.partition(TopicPartition("t", 0))
    assert partition is not None
    assert (partition.leader, partition.leader_epoch) == (1, -1)


def test_without_that_strategy_known_brokers_are_tried_for_ever() -> None:
    metadata = state(rebootstrap=False)
    for now in (0, 1_000_000):
        metadata.handle_failure(now)
    assert not metadata.rebootstrap_needed


def test_a_broker_may_demand_a_new_start() -> None:
    """KIP-1102."""
    metadata = state()
    metadata.handle_response(MetadataResponse(error_code=129), 0, 13)
    assert metadata.rebootstrap_needed
    steadfast = state(rebootstrap=False)
    steadfast.handle_response(MetadataResponse(error_code=129), 0, 13)
    assert not steadfast.rebootstrap_needed


def test_a_leader_older_than_one_that_was_seen_counts_as_none() -> None:
    """As in Kafka (updateLastSeenEpochIfNewer): a broker that is cut off from the controllers
    still takes itself for the leader, and its log may end before what was read.
    """
    metadata, partition = state(), TopicPartition("t", 0)
    metadata.use_topics(["t"], 0)
    metadata.handle_response(response(leader=1, epoch=0), 0, 13)
    before = metadata.version
    metadata.replace_cluster(metadata.cluster.with_seen_epochs({(IDS[1], partition): 2}))
    assert metadata.cluster.leader(partition) is None
    assert metadata.cluster.is_stale
    assert metadata.version > before
    metadata.handle_response(response(leader=1, epoch=0), 100, 13)  # asked again: the same broker
    assert metadata.cluster.leader(partition) is None
    assert metadata.due_ms(100) < 1_000
    metadata.rebootstrap()
    metadata.handle_response(response(leader=1, epoch=1), 150, 13)
    assert metadata.cluster.leader(partition) is None
    metadata.handle_response(response(leader=2, epoch=3), 200, 13)
    assert metadata.cluster.leader(partition) == 2
    assert not metadata.cluster.is_stale
    assert not metadata.cluster.seen_epochs


def test_an_epoch_may_be_seen_before_the_topic_is_known() -> None:
    partition = TopicPartition("t", 0)
    cluster = ClusterMetadata().with_seen_epochs({(IDS[1], partition): 2})
    assert not cluster.is_stale
    cluster = cluster.with_response(response(leader=1, epoch=0), complete=False)
    assert cluster.leader(partition) is None
    assert cluster.with_leader(partition, 2, 1).leader(partition) is None
    assert cluster.with_leader(partition, 2, 2).leader(partition) == 2


def test_an_epoch_that_may_be_of_another_topic_counts_until_enough_answers_contradict() -> None:
    partition = TopicPartition("t", 0)
    cluster = ClusterMetadata().with_response(response(leader=1, epoch=0), complete=False)
    cluster = cluster.with_seen_epochs({(IDS[1], partition): 2}, answers_max=2)
    other = cluster.with_response(response(name="other"), complete=False)
    first = other.with_response(response(leader=1, epoch=0), complete=False)
    assert first.leader(partition) is None
    assert first.with_response(response(leader=2, epoch=2), complete=False).leader(partition) == 2
    second = first.with_response(response(leader=1, epoch=0), complete=False)
    assert second.leader(partition) == 1
    assert not second.seen_epochs


def test_an_epoch_of_a_topic_that_had_the_name_says_nothing_of_the_one_that_has_it() -> None:
    partition = TopicPartition("t", 0)
    cluster = ClusterMetadata().with_response(response(epoch=0, topic_id=IDS[2]), complete=False)
    cluster = cluster.with_seen_epochs({(IDS[1], partition): 2})
    assert cluster.leader(partition) == 1
    assert not cluster.seen_epochs


def test_an_epoch_that_the_metadata_has_changes_nothing() -> None:
    cluster = ClusterMetadata().with_response(response(epoch=3), complete=False)
    assert cluster.with_seen_epochs({(IDS[1], TopicPartition("t", 0)): 3}) == cluster


def test_of_two_leaders_the_later_one_counts_whoever_has_named_it() -> None:
    """The answer to another question may be of a broker that has heard less, or more, than our metadata."""
    partition = TopicPartition("t", 0)
    cluster = ClusterMetadata().with_response(response(leader=1, epoch=3), complete=False)
    assert cluster.newest_leader(IDS[1], partition, 2, 2) == 1
    assert cluster.newest_leader(IDS[1], partition, 2, 4) == 2
    assert cluster.newest_leader(IDS[2], partition, 2, 0) == 2, "of another topic"
    assert cluster.newest_leader(IDS[1], partition, 2, -1) == 2, "an old broker does not say it"
    cluster = cluster.with_seen_epochs({(IDS[1], partition): 5})
    assert cluster.newest_leader(IDS[1], partition, 2, 4) == -1
    assert cluster.newest_leader(IDS[1], partition, 2, 5) == 2
