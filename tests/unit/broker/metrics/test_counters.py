"""What is counted of requests, topics and groups."""

from __future__ import annotations

from millstream.broker.metrics.node_metrics import GroupMetrics
from millstream.broker.metrics.request_metrics import RequestMetrics
from millstream.broker.metrics.topic_metrics import BrokerTopicMetrics, TopicMetrics
from millstream.coordinator.group.group import GroupKind
from millstream.coordinator.record import CoordinatorRecord
from millstream.errors import CorruptMessage, InvalidRecord, MessageTooLarge
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.group_records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
)

MILLISECOND_NS = 1_000_000


def test_a_request_that_waited_has_local_and_remote_time() -> None:
    api = RequestMetrics().api(ApiKey.FETCH, range(4, 19))
    api.record_delayed(12, 0, 2 * MILLISECOND_NS, 7 * MILLISECOND_NS)
    assert (api.local.sum_us, api.remote.sum_us, api.total.sum_us) == (2_000, 5_000, 7_000)
    assert api.versions[12] == 1


def test_a_request_that_did_not_wait_has_no_remote_time() -> None:
    api = RequestMetrics().api(ApiKey.FETCH, range(4, 19))
    api.record_at_once(4, 0, 3 * MILLISECOND_NS)
    assert (api.local.count, api.remote.count, api.total.sum_us) == (1, 0, 3_000)


def test_an_api_is_counted_in_one_place() -> None:
    requests = RequestMetrics()
    assert requests.api(ApiKey.FETCH, range(3)) is requests.api(ApiKey.FETCH, range(3))


def test_an_append_counts_records_and_bytes_once() -> None:
    topic = TopicMetrics()
    topic.record_append(messages=10, size_bytes=700)
    assert (topic.totalproducerequests, topic.messagesin, topic.bytesin) == (1, 10, 700)
    assert topic.failedproducerequests == 0


def test_a_batch_that_is_too_large_counts_the_bytes_it_came_with() -> None:
    topic = TopicMetrics()
    topic.record_refusal(MessageTooLarge(), 2_000_000)
    assert (topic.bytesrejected, topic.totalproducerequests) == (2_000_000, 1)
    assert topic.failedproducerequests == 0, "producers answer it by themselves, as Kafka has it"


def test_refusals_have_their_own_counters() -> None:
    topic = TopicMetrics()
    topic.record_refusal(CorruptMessage(), 100)
    topic.record_refusal(InvalidRecord(), 100)
    assert (topic.invalidmessagecrcrecords, topic.nokeycompactedtopicrecords) == (1, 1)
    assert topic.failedproducerequests == 1


def test_all_topics_never_go_back_when_one_is_deleted() -> None:
    topics = BrokerTopicMetrics()
    topics.of("a").record_append(3, 30)
    topics.of("b").record_append(2, 20)
    topics.forget_others({"b"})
    assert [name for name, _ in topics] == ["b"]
    assert topics.of_all().messagesin == 5


def test_commits_and_rebalances_are_read_off_the_records() -> None:
    groups = GroupMetrics()
    offset = OffsetCommitKey(group="g", topic="t", partition=0)
    groups.count_written(
        [
            CoordinatorRecord(offset, OffsetCommitValue(offset=1)),
            CoordinatorRecord(offset, None),
            CoordinatorRecord(
                GroupMetadataKey(group="g"),
                GroupMetadataValue(members=[MemberMetadata(member_id="m")]),
            ),
            CoordinatorRecord(GroupMetadataKey(group="g"), GroupMetadataValue()),
            CoordinatorRecord(GroupMetadataKey(group="g"), None),
            CoordinatorRecord(ConsumerGroupMetadataKey(group_id="c"), ConsumerGroupMetadataValue()),
            CoordinatorRecord(StreamsGroupMetadataKey(group_id="s"), StreamsGroupMetadataValue()),
            CoordinatorRecord(StreamsGroupMetadataKey(group_id="s"), None),
        ]
    )
    assert (groups.offset_commits, groups.offsets_removed) == (1, 1)
    assert groups.rebalances == {
        GroupKind.CLASSIC: 1,
        GroupKind.CONSUMER: 1,
        GroupKind.STREAMS: 1,
    }
