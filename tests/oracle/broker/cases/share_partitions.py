"""What share fetches hand out and acknowledgements take back, in one partition: limits, ranges, locks, transactions, offsets."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.cases.share_groups import (
    ACCEPT,
    GAP,
    MEMBER,
    OTHER,
    REJECT,
    RELEASE,
    RENEW,
    acknowledge,
    joined,
    of,
)
from tests.oracle.broker.cases.share_groups import fetch as fetch_at_once
from tests.oracle.broker.cases.transactions import add, end, init, until_complete, who
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, batch

RECORD_LIMIT = 1


def fetch(s: Session, note: str, epoch: int, *topics: dict[str, Any], **options: Any) -> Any:
    """The first fetch of a session is repeated while it brings nothing: Kafka may be about to read or write share state."""
    given = {"max_wait_ms": 1_000} if epoch == 0 else {}
    for _ in range(20 if epoch == 0 else 1):
        kept = len(s.steps)
        answer = fetch_at_once(s, note, epoch, *topics, **(given | options))
        if epoch or any(p.acquired_records for t in answer.responses for p in t.partitions):
            break
        del s.steps[kept:]
    return answer


def configure(s: Session, **settings: str) -> None:
    configs = [
        {"name": f"share.{name.replace('_', '.')}", "config_operation": 0, "value": value}
        for name, value in settings.items()
    ]
    s.quietly(
        "IncrementalAlterConfigs",
        1,
        resources=[{"resource_type": 32, "resource_name": s.name(), "configs": configs}],
    )
    s.settle()


def filled(s: Session, *sizes: int) -> Topic:
    """A topic with record batches of these sizes that the group reads from the start."""
    topic = s.known_topic()
    for size in sizes:
        s.produce(topic, *[b"v"] * size)
    joined(s, topic)
    return topic


def each(topic: Topic, first: int, *types: int) -> dict[str, Any]:
    """One type for each record from `first` on."""
    return {
        "topic_id": topic.id,
        "partitions": [
            {
                "partition_index": 0,
                "acknowledgement_batches": [
                    {
                        "first_offset": first,
                        "last_offset": first + len(types) - 1,
                        "acknowledge_types": list(types),
                    }
                ],
            }
        ],
    }


def describe(s: Session, note: str) -> None:
    s.ask("DescribeShareGroupOffsets", 1, note, groups=[{"group_id": s.name(), "topics": None}])


@case("ShareGroupHeartbeat", "ShareFetch")
def share_limits_of_records(s: Session) -> None:
    topic = filled(s, 3, 3, 3, 3)
    fetch(s, "four: to the end of the batch", 0, of(topic, 0), max_records=4)
    fetch(s, "one more", 1, max_records=1)
    fetch(s, "the rest", 2)
    fetch(s, "nothing", 3)


@case("ShareGroupHeartbeat", "ShareFetch")
def share_sizes_of_batches(s: Session) -> None:
    topic = filled(s, 3, 3, 3, 10, 1, 1, 1)
    fetch(s, "about five in a range", 0, of(topic, 0), batch_size=5)
    acknowledge(s, "releases all", 1, of(topic, 0, (0, 21, RELEASE)))
    fetch(s, "again, in threes", 2, batch_size=3)
    acknowledge(s, "releases all again", 3, of(topic, 0, (0, 21, RELEASE)))
    fetch(s, "five records at most", 4, max_records=5)
    fetch(s, "two at most", 5, max_records=2, batch_size=1)


@case("ShareGroupHeartbeat", "ShareFetch")
def share_strict_limit(s: Session) -> None:
    topic = filled(s, 5, 5, 5)
    for number, records in enumerate((3, 4, 1)):
        fetch(
            s, f"{records} records", number, of(topic, 0),
            max_records=records, share_acquire_mode=RECORD_LIMIT,
        )  # fmt: skip
    fetch(s, "by batches again", 3, max_records=1)
    acknowledge(s, "releases", 4, of(topic, 0, (0, 2, RELEASE), (3, 6, RELEASE)))
    fetch(s, "six of them", 5, max_records=6, share_acquire_mode=RECORD_LIMIT)
    fetch(s, "over two batches", 6, max_records=5, share_acquire_mode=RECORD_LIMIT, batch_size=2)
    fetch(s, "unknown mode", 7, share_acquire_mode=7)


@case("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")
def share_types_for_each_record(s: Session) -> None:
    topic = filled(s, 10)
    fetch(s, "all", 0, of(topic, 0))
    acknowledge(s, "a type each", 1, each(topic, 0, ACCEPT, RELEASE, REJECT, GAP, ACCEPT))
    fetch(s, "what was released", 2, of(topic, 0))
    acknowledge(s, "too few types", 3, {"topic_id": topic.id, "partitions": [
        {"partition_index": 0, "acknowledgement_batches": [{"first_offset": 5, "last_offset": 7, "acknowledge_types": [1, 1]}]}]})  # fmt: skip
    acknowledge(s, "no types", 4, {"topic_id": topic.id, "partitions": [
        {"partition_index": 0, "acknowledgement_batches": [{"first_offset": 5, "last_offset": 7, "acknowledge_types": []}]}]})  # fmt: skip
    acknowledge(s, "overlapping", 5, of(topic, 0, (5, 7, ACCEPT), (6, 8, ACCEPT)))
    acknowledge(s, "one good, one bad", 6, of(topic, 0, (5, 5, ACCEPT), (30, 31, ACCEPT)))
    acknowledge(s, "below the start", 7, of(topic, 0, (0, 0, ACCEPT)))
    acknowledge(s, "from below the start", 8, of(topic, 0, (0, 1, ACCEPT)))
    acknowledge(s, "finished ones", 9, of(topic, 0, (2, 3, ACCEPT)))
    acknowledge(s, "over the end", 10, of(topic, 0, (8, 12, ACCEPT)))
    acknowledge(s, "some in the middle", 11, of(topic, 0, (6, 7, RELEASE)))
    acknowledge(s, "one of them and others", 12, of(topic, 0, (5, 6, ACCEPT)))
    fetch(s, "what was released then", 13, of(topic, 0))
    acknowledge(s, "nothing", 14)
    describe(s, "then")


@case("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")
def share_acknowledgements_over_batches(s: Session) -> None:
    topic = filled(s, 2, 2, 2)
    fetch(s, "in three ranges", 0, of(topic, 0), batch_size=1)
    acknowledge(s, "over two", 1, of(topic, 0, (1, 2, ACCEPT)))
    acknowledge(s, "over the first two", 2, of(topic, 0, (0, 1, ACCEPT)))
    acknowledge(s, "the first and the last", 3, of(topic, 0, (0, 0, ACCEPT), (5, 5, ACCEPT)))
    describe(s, "then")
    fetch(s, "closes", -1)
    fetch(s, "the others", 0, of(topic, 0), member=OTHER)
    describe(s, "later")


@case("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")
def share_records_of_others(s: Session) -> None:
    topic = filled(s, 2, 2)
    joined(s, topic, OTHER)
    fetch(s, "one batch", 0, of(topic, 0), max_records=1)
    fetch(s, "the other the next", 0, of(topic, 0), max_records=1, member=OTHER)
    acknowledge(s, "what the other has", 1, of(topic, 0, (2, 3, ACCEPT)))
    acknowledge(s, "its own and what the other has", 2, of(topic, 0, (0, 3, ACCEPT)))
    fetch(s, "acknowledges what the other has", 3, of(topic, 0, (2, 2, ACCEPT)))
    acknowledge(s, "its own", 4, of(topic, 0, (0, 1, ACCEPT)))
    fetch_at_once(s, "opens anew, without closing", 0, of(topic, 0))
    describe(s, "then")


@case("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")
def share_locks_that_run_out(s: Session) -> None:
    topic = filled(s, 4)
    configure(s, record_lock_duration_ms="1000")
    fetch(s, "all", 0, of(topic, 0))
    fetch(s, "waits for the lock", 1, of(topic, 0), max_wait_ms=10_000)
    fetch(s, "waits again", 2, of(topic, 0), max_wait_ms=10_000)
    fetch(s, "and again, for half of them", 3, of(topic, 0), max_wait_ms=10_000)
    acknowledge(s, "in time", 4, of(topic, 0, (0, 1, ACCEPT)))
    describe(s, "then")


@case("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")
def share_renewed_locks(s: Session) -> None:
    topic = filled(s, 2)
    fetch(s, "all", 0, of(topic, 0))
    renew = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
    fetch(s, "renews", 1, of(topic, 0, (0, 0, RENEW)), is_renew_ack=True, **renew)
    fetch(s, "renews and wants more", 2, of(topic, 0, (0, 0, RENEW)), is_renew_ack=True)
    fetch(s, "renews without saying so", 2, of(topic, 0, (0, 0, RENEW)))
    acknowledge(s, "renews and accepts", 3, of(topic, 0, (0, 0, RENEW), (1, 1, ACCEPT)), is_renew_ack=True)  # fmt: skip
    acknowledge(s, "renews what is finished", 4, of(topic, 0, (1, 1, RENEW)), is_renew_ack=True)
    configure(s, renew_acknowledge_enable="false")
    acknowledge(s, "renews where it is off", 5, of(topic, 0, (0, 0, RENEW)), is_renew_ack=True)
    acknowledge(s, "accepts", 6, of(topic, 0, (0, 0, ACCEPT)))
    describe(s, "then")


@case("ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge")
def share_records_that_fail(s: Session) -> None:
    topic = filled(s, 16)
    fetch(s, "delivery 1", 0, of(topic, 0))
    epoch = 1
    for number in range(2, 4):
        fetch(s, f"delivery {number}", epoch, of(topic, 0, (0, 15, RELEASE)))
        epoch += 1
    fetch(s, "the first half", epoch, of(topic, 0, (0, 15, RELEASE)))
    fetch(s, "the second half", epoch + 1)
    fetch(s, "nothing else", epoch + 2)
    fetch(s, "the first half comes back", epoch + 3, of(topic, 0, (0, 7, RELEASE)))
    fetch(s, "another", epoch + 4)
    fetch(s, "the first fails for good", epoch + 5, of(topic, 0, (0, 0, RELEASE)))
    describe(s, "then")


@case("ShareGroupHeartbeat", "ShareFetch")
def share_records_that_fail_with_others(s: Session) -> None:
    topic = filled(s, 4, 4)
    configure(s, delivery_count_limit="4")
    fetch(s, "the first four", 0, of(topic, 0), max_records=1)
    acknowledge(s, "releases", 1, of(topic, 0, (0, 3, RELEASE)))
    fetch(s, "again", 2, max_records=1)
    acknowledge(s, "releases again", 3, of(topic, 0, (0, 3, RELEASE)))
    for number in range(4, 9):
        fetch(s, f"fetch {number}", number)


@case("ShareGroupHeartbeat", "ShareFetch")
def share_few_deliveries(s: Session) -> None:
    topic = filled(s, 4)
    configure(s, delivery_count_limit="2")
    fetch(s, "first", 0, of(topic, 0))
    fetch(s, "second", 1, of(topic, 0, (0, 3, RELEASE)))
    fetch(s, "given up", 2, of(topic, 0, (0, 3, RELEASE)))
    describe(s, "then")


@case("ShareGroupHeartbeat", "ShareFetch", "InitProducerId", "EndTxn")
def share_aborted_records(s: Session) -> None:
    topic = s.known_topic()
    joined(s, topic)
    configure(s, isolation_level="read_committed")
    identity = who(init(s, note="producer"))
    partitions = [{"name": topic.name, "partitions": [0]}]
    sequence = 0
    for committed in (False, True):
        add(s, 3, "partition", partitions, identity)
        records = batch(b"a", b"b", is_transactional=True, base_sequence=sequence, **identity)
        s.quietly("Produce", 9, acks=-1, timeout_ms=5000, transactional_id=s.name(),
                  topic_data=[{"name": topic.name, "partition_data": [{"index": 0, "records": records}]}])  # fmt: skip
        sequence += 2
        end(s, 3, "ends", committed, identity)
        until_complete(s)
    s.produce(topic, b"c")
    fetch(s, "committed ones", 0, of(topic, 0))
    fetch(s, "accepts", 1, of(topic, 0, (3, 4, ACCEPT), (6, 6, ACCEPT)))
    describe(s, "then")
    configure(s, isolation_level="read_uncommitted")
    fetch(s, "closes", -1)
    fetch(s, "the rest", 0, of(topic, 0), member=OTHER)


@case("ShareGroupHeartbeat", "ShareFetch", "DeleteRecords")
def share_log_that_begins_later(s: Session) -> None:
    topic = filled(s, 4, 4, 4)
    fetch(s, "the first", 0, of(topic, 0), max_records=1)
    s.quietly("DeleteRecords", 2, timeout_ms=5000, topics=[
        {"name": topic.name, "partitions": [{"partition_index": 0, "offset": 6}]}])  # fmt: skip
    fetch(s, "from where it begins", 1, max_wait_ms=5_000)
    fetch(s, "accepts what is gone", 2, of(topic, 0, (0, 3, ACCEPT)))
    fetch(s, "releases", 3, of(topic, 0, (6, 11, RELEASE)))
    describe(s, "then")


@case("ShareGroupHeartbeat", "ShareFetch")
def share_group_that_begins_at_the_end(s: Session) -> None:
    topic = s.known_topic()
    s.produce(topic, b"a")
    joined(s, topic, reset="latest")
    fetch_at_once(s, "nothing", 0, of(topic, 0), max_wait_ms=2_000)
    s.produce(topic, b"b", b"c")
    fetch(s, "what is new", 1)


@case("ShareGroupHeartbeat", "ShareFetch")
def share_group_that_begins_by_time(s: Session) -> None:
    topic = s.known_topic()
    s.produce(topic, b"a", b"b")
    joined(s, topic, reset="by_duration:P10000D")
    fetch(s, "all", 0, of(topic, 0))


@case("ShareGroupHeartbeat", "ShareFetch")
def share_sessions_and_their_partitions(s: Session) -> None:
    topic = s.known_topic(partitions=2)
    for partition in (0, 1):
        s.produce(topic, b"a", partition=partition)
    joined(s, topic)
    fetch_at_once(s, "without partitions", 0)
    fetch(s, "one partition", 1, of(topic, 0), max_wait_ms=5_000)
    fetch(s, "the other, without the first", 2, of(topic, 1), max_wait_ms=5_000,
          forgotten_topics_data=[{"topic_id": topic.id, "partitions": [0]}])  # fmt: skip
    acknowledge(s, "a partition that is not in the session", 3, of(topic, 0, (0, 0, ACCEPT)))
    fetch(s, "forgets what it never had", 4,
          forgotten_topics_data=[{"topic_id": topic.id, "partitions": [7]}])  # fmt: skip
    acknowledge(s, "in its first request", 0, of(topic, 1, (0, 0, ACCEPT)))
    acknowledge(s, "closes", -1)
    acknowledge(s, "after that", 5, of(topic, 1, (0, 0, ACCEPT)))
    fetch_at_once(s, "epoch -2", -2, of(topic, 0))
    fetch_at_once(s, "no bytes", 0, of(topic, 0), max_bytes=0)
    fetch(s, "no records", 1, of(topic, 0), max_records=0)
    fetch(s, "negative records", 2, of(topic, 0), max_records=-1)
    fetch(s, "no batch size", 3, of(topic, 0), batch_size=0)


@case("ShareGroupHeartbeat", "ShareFetch", "AlterShareGroupOffsets")
def share_offsets_that_are_set(s: Session) -> None:
    topic = filled(s, 1, 1, 1, 1)
    fetch(s, "one", 0, of(topic, 0), max_records=1)
    fetch(s, "closes", -1)
    s.quietly("ShareGroupHeartbeat", 1, group_id=s.name(), member_id=MEMBER, member_epoch=-1)
    s.ask("AlterShareGroupOffsets", 0, "to 2", group_id=s.name(), topics=[
        {"topic_name": topic.name, "partitions": [{"partition_index": 0, "start_offset": 2}]}])  # fmt: skip
    describe(s, "set")
    joined(s, topic)
    fetch(s, "from there", 0, of(topic, 0))
    fetch(s, "accepts", 1, of(topic, 0, (2, 3, ACCEPT)))
    describe(s, "then")


@case("ShareGroupHeartbeat", "ShareFetch", "ShareGroupDescribe")
def share_topic_that_is_deleted(s: Session) -> None:
    topic = filled(s, 2)
    fetch(s, "all", 0, of(topic, 0))
    s.quietly("DeleteTopics", 6, timeout_ms=5000, topics=[{"name": topic.name}])
    s.settle()
    fetch(s, "gone", 1, of(topic, 0, (0, 1, ACCEPT)))
    s.ask("ShareGroupDescribe", 1, "then", group_ids=[s.name()])
