"""Topics that are deleted, made again, or changed while transactions, producers and groups are at work on them."""

from __future__ import annotations

from typing import Any

from tests.oracle.broker.cases.group_offsets import commit, fetch
from tests.oracle.broker.cases.transactions import (
    add,
    describe,
    end,
    init,
    produce,
    read,
    until_complete,
    who,
)
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic, batch


def delete(s: Session, topic: Topic) -> None:
    deleted = s.quietly("DeleteTopics", 6, topics=[{"name": topic.name}], timeout_ms=10_000)
    assert deleted.responses[0].error_code == 0, deleted

    def is_gone() -> bool:
        asked = {"name": topic.name, "topic_id": bytes(16)}
        found = s.quietly("Metadata", 12, topics=[asked], allow_auto_topic_creation=False)
        return bool(found.topics[0].error_code)

    s.until(is_gone, f"{topic.name} is gone")
    s.settle()


def ends(s: Session, note: str, *topics: Topic) -> None:
    for topic in topics:
        for isolation in (0, 1):
            s.ask("ListOffsets", 7, f"latest {note}", replica_id=-1, isolation_level=isolation,
                  topics=[topic.partition(0, timestamp=-1)])  # fmt: skip


def producers(s: Session, note: str, topic: Topic) -> None:
    s.ask(
        "DescribeProducers",
        0,
        note,
        topics=[{"name": topic.name, "partition_indexes": [0]}],
    )


@case("DeleteTopics", "EndTxn")
def a_topic_is_deleted_that_has_records_of_a_transaction(s: Session) -> None:
    for version, last in ((11, 3), (12, 5)):
        for committed in (True, False):
            suffix = f"{version}-{committed}"
            gone, stays = s.known_topic(f"gone-{suffix}"), s.known_topic(f"stays-{suffix}")
            name = s.name(suffix)
            identity = who(init(s, transactional_id=name))
            if version == 11:
                add(s, 3, suffix, [{"name": t.name, "partitions": [0]} for t in (gone, stays)],
                    identity, transactional_id=name)  # fmt: skip
            for topic in (gone, stays):
                produce(s, version, suffix, topic, 0, identity, b"a", transactional_id=name)
            delete(s, gone)
            describe(s, f"{suffix}: topic is gone", name)
            produce(
                s, version, f"{suffix}: goes on", stays, 1, identity, b"b", transactional_id=name
            )
            produce(
                s,
                version,
                f"{suffix}: to the deleted topic",
                gone,
                1,
                identity,
                b"b",
                transactional_id=name,
            )
            ended = end(s, last, suffix, committed, identity, transactional_id=name)
            until_complete(s, name)
            ends(s, f"{suffix}: ended", stays)
            if last == 5:
                identity = who(ended)
            if version == 11:
                add(
                    s,
                    3,
                    f"{suffix}: next",
                    [{"name": stays.name, "partitions": [0]}],
                    identity,
                    transactional_id=name,
                )
            produce(
                s,
                version,
                f"{suffix}: next",
                stays,
                0 if version == 12 else 2,
                identity,
                b"c",
                transactional_id=name,
            )
            end(s, last, f"{suffix}: next", True, identity, transactional_id=name)
            until_complete(s, name)
            read(s, f"{suffix}: all", stays)


@case("DeleteTopics", "EndTxn")
def a_topic_is_made_again_that_has_records_of_a_transaction(s: Session) -> None:
    for version, last in ((11, 3), (12, 5)):
        for committed in (True, False):
            suffix = f"{version}-{committed}"
            old, stays = s.known_topic(f"again-{suffix}"), s.known_topic(f"stays-{suffix}")
            name = s.name(suffix)
            identity = who(init(s, transactional_id=name))
            if version == 11:
                add(s, 3, suffix, [{"name": t.name, "partitions": [0]} for t in (old, stays)],
                    identity, transactional_id=name)  # fmt: skip
            for topic in (old, stays):
                produce(s, version, suffix, topic, 0, identity, b"a", b"b", transactional_id=name)
            delete(s, old)
            again = s.known_topic(f"again-{suffix}")
            s.produce(again, b"new")
            produce(
                s,
                version,
                f"{suffix}: with later sequence",
                again,
                2,
                identity,
                b"b",
                transactional_id=name,
            )
            ends(s, f"{suffix}: before the end", again, stays)
            end(s, last, suffix, committed, identity, transactional_id=name)
            until_complete(s, name)
            ends(s, f"{suffix}: ended", again, stays)
            producers(s, f"{suffix}: ended", again)
            read(s, f"{suffix}: made again", again)
            read(s, f"{suffix}: stays", stays)


@case("Produce", "DeleteTopics")
def an_idempotent_producer_goes_on_in_a_topic_that_was_made_again(s: Session) -> None:
    old = s.topic()
    identity = who(init(s, transactional_id=None))

    def send(note: str, topic: Topic, version: int, sequence: int, *values: bytes) -> None:
        records = batch(*(values or (b"v",)), base_sequence=sequence, **identity)
        s.ask("Produce", version, note, acks=-1, timeout_ms=5000, transactional_id=None,
              topic_data=[{"name": topic.name, "topic_id": topic.id, "partition_data": [{"index": 0, "records": records}]}])  # fmt: skip

    for sequence in range(3):
        send("before", old, 12, sequence)
    delete(s, old)
    again = s.topic()
    send("by the old id", old, 13, 3)
    send("by name, where it stopped", again, 12, 3)
    send("the same again", again, 12, 3)
    send("an earlier one", again, 12, 2)
    send("the next", again, 13, 4)
    send("a gap", again, 13, 9)
    producers(s, "at the end", again)


@case("OffsetCommit", "DeleteTopics")
def offsets_of_a_topic_that_was_made_again(s: Session) -> None:
    old = s.known_topic()
    for value in range(5):
        s.produce(old, b"%d" % value)
    commit(s, 9, "by name", old, 4)
    commit(s, 10, "by id", old, 5)
    delete(s, old)
    fetch(s, 9, "deleted, by name", [(old, [0])])
    fetch(s, 10, "deleted, by id", [(old, [0])])
    again = s.known_topic()
    fetch(s, 9, "made again, by name", [(again, [0])])
    fetch(s, 10, "made again, by its id", [(again, [0])])
    fetch(s, 10, "made again, by the old id", [(old, [0])])
    commit(s, 10, "by the old id", old, 3)
    fetch(s, 9, "made again, by name, after a commit by the old id", [(again, [0])])
    commit(s, 9, "by name", again, 9)
    fetch(s, 10, "made again, by its id, after a commit by name", [(again, [0])])


@case("CreatePartitions", "EndTxn")
def partitions_are_added_during_a_transaction(s: Session) -> None:
    topic = s.known_topic()
    identity = who(init(s))
    produce(s, 12, "first", topic, 0, identity, b"a")
    grown: Any = s.quietly("CreatePartitions", 3, topics=[{"name": topic.name, "count": 3, "assignments": None}], timeout_ms=5000, validate_only=False)  # fmt: skip
    assert grown.results[0].error_code == 0, grown
    s.until(lambda: s.is_led(topic.name, 3), "three partitions have leaders")
    s.settle()
    produce(s, 12, "to a new partition", topic, 0, identity, b"b", partition=2)
    produce(s, 12, "to no partition", topic, 0, identity, b"b", partition=3)
    end(s, 5, "commits", True, identity)
    until_complete(s)
    s.ask("ListOffsets", 7, "stable", replica_id=-1, isolation_level=1,
          topics=[topic.partition(0, 1, 2, timestamp=-1)])  # fmt: skip


@case("IncrementalAlterConfigs", "Produce")
def limits_of_a_topic_change_between_batches(s: Session) -> None:
    topic = s.topic()
    identity = who(init(s, transactional_id=None))

    def change(key: str, value: str) -> None:
        done = s.quietly("IncrementalAlterConfigs", 1, validate_only=False, resources=[
            {"resource_type": 2, "resource_name": topic.name, "configs": [{"name": key, "config_operation": 0, "value": value}]}])  # fmt: skip
        assert done.responses[0].error_code == 0, done
        s.settle()

    def send(note: str, sequence: int, *values: bytes, **options: Any) -> None:
        records = batch(*values, base_sequence=sequence, **identity, **options)
        s.ask("Produce", 12, note, acks=-1, timeout_ms=5000, transactional_id=None,
              topic_data=[{"name": topic.name, "topic_id": topic.id, "partition_data": [{"index": 0, "records": records}]}])  # fmt: skip

    send("small", 0, b"a")
    send("large", 1, bytes(2000))
    change("max.message.bytes", "1000")
    send("too large", 2, bytes(2000))
    send("large that was written before", 1, bytes(2000))
    send("small behind it", 2, b"b")
    change("message.timestamp.after.max.ms", "1000")
    send("of the future", 3, b"c", at_ms=1 << 45)
    send("of the past", 3, b"c")
    change("cleanup.policy", "compact")
    send("without key", 4, b"c")
    send("with key", 4, b"c", key=b"k")
    change("message.timestamp.type", "LogAppendTime")
    send("stamped here", 5, b"d", b"e", key=b"k")
    send("stamped here, again", 5, b"d", b"e", key=b"k")
    change("compression.type", "gzip")
    send("compressed here", 7, b"f", b"g", key=b"k")
    read(s, "all", topic)
