"""Produce: what is appended, what is refused, and with which error."""

from __future__ import annotations

import struct

from crc32c import crc32c

from millstream.records.compression import Codec
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import NOW_MS, Session, Topic, batch, versions

UNKNOWN_ID = bytes(15) + b"\x09"


def send(
    s: Session, topic: Topic, version: int, note: str, *batches: bytes | memoryview, acks: int = -1, partition: int = 0,
    transactional_id: str | None = None, client_id: str = "oracle",
) -> None:  # fmt: skip
    s.ask(
        "Produce", version, note, acks=acks, timeout_ms=5000, transactional_id=transactional_id, client_id=client_id,
        topic_data=[{"name": topic.name, "topic_id": topic.id, "partition_data": [
            {"index": partition, "records": memoryview(b"".join(bytes(b) for b in batches))}]}],
    )  # fmt: skip


def changed(records: memoryview, at: int, layout: str, value: int) -> bytes:
    """The batch with one field of its header changed, and a checksum that is right."""
    data = bytearray(records)
    struct.pack_into(layout, data, at, value)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


@case("Produce")
def produce_in_every_version(s: Session) -> None:
    topic = s.topic()
    for version in versions("Produce"):
        send(s, topic, version, "", batch(b"a", b"b"))
        send(s, topic, version, "acks 1", batch(b"c"), acks=1)
        send(s, topic, version, "to partition 7", batch(b"c"), partition=7)
        send(s, topic, version, "to partition -1", batch(b"c"), partition=-1)
        send(s, Topic(s.name("no"), UNKNOWN_ID), version, "to an unknown topic", batch(b"c"))
        send(s, topic, version, "acks 2", batch(b"c"), acks=2)


@case("Produce")
def produce_codecs(s: Session) -> None:
    topic = s.topic()
    for codec in Codec:
        send(s, topic, 9, codec.name, batch(b"x" * 500, b"y" * 500, codec=codec))
    send(s, topic, 3, "ZSTD", batch(b"x", codec=Codec.ZSTD))
    send(s, topic, 6, "ZSTD", batch(b"x", codec=Codec.ZSTD))
    send(s, topic, 7, "ZSTD", batch(b"x", codec=Codec.ZSTD))
    for number in (5, 6, 7):
        send(s, topic, 9, f"codec {number}", changed(batch(b"x"), 21, ">h", number))


@case("Produce")
def produce_broken_batches(s: Session) -> None:
    topic = s.topic()
    whole = batch(b"a", b"b")
    torn = bytes(whole)
    for version in (3, 7, 8, 9, 13):
        send(s, topic, version, "nothing", b"")
        send(s, topic, version, "half a batch", torn[: len(torn) // 2])
        send(s, topic, version, "wrong checksum", torn[:-1] + b"\x00")
        send(s, topic, version, "two batches", whole, whole)
        send(s, topic, version, "bytes behind the batch", torn + b"\x00" * 5)
        send(s, topic, version, "magic 1", torn[:16] + b"\x01" + torn[17:])
        send(s, topic, version, "magic 3", torn[:16] + b"\x03" + torn[17:])
        send(s, topic, version, "control batch", batch(b"a", is_control=True))
        send(s, topic, version, "base offset 7", changed(whole, 0, ">q", 7))
        send(s, topic, version, "base offset -1", changed(whole, 0, ">q", -1))
        send(s, topic, version, "last offset delta 5", changed(whole, 23, ">i", 5))
        send(s, topic, version, "last offset delta 0", changed(whole, 23, ">i", 0))
        send(s, topic, version, "last offset delta -1", changed(whole, 23, ">i", -1))
        send(s, topic, version, "record count 3", changed(whole, 57, ">i", 3))
        send(s, topic, version, "record count 0", changed(whole, 57, ">i", 0))
        send(s, topic, version, "record count -1", changed(whole, 57, ">i", -1))
        send(s, topic, version, "log append time", changed(whole, 21, ">h", 8))
        send(s, topic, version, "batch length 3", changed(whole, 8, ">i", 3))
        send(s, topic, version, "max timestamp too small", changed(whole, 35, ">q", NOW_MS - 9))
        send(s, topic, version, "unused attribute", changed(whole, 21, ">h", 0x80))


@case("Produce")
def produce_null_records(s: Session) -> None:
    topic = s.topic()
    for version in (9,):
        s.ask("Produce", version, acks=-1, timeout_ms=5000, topic_data=[
            {"name": topic.name, "topic_id": topic.id, "partition_data": [{"index": 0, "records": None}]}])  # fmt: skip


@case("Produce")
def produce_to_several_partitions(s: Session) -> None:
    topic = s.topic(partitions=2)
    for version in (3, 9, 10, 13):
        data = [{"index": i, "records": batch(b"a")} for i in (0, 1, 2)]
        s.ask("Produce", version, "one unknown", acks=-1, timeout_ms=5000,
              topic_data=[{"name": topic.name, "topic_id": topic.id, "partition_data": data}])  # fmt: skip
        s.ask("Produce", version, "nothing", acks=-1, timeout_ms=5000, topic_data=[])
        s.ask("Produce", version, "no partition", acks=-1, timeout_ms=5000,
              topic_data=[{"name": topic.name, "topic_id": topic.id, "partition_data": []}])  # fmt: skip
        s.ask("Produce", version, "one partition twice", acks=-1, timeout_ms=5000,
              topic_data=[{"name": topic.name, "topic_id": topic.id, "partition_data": [data[0], data[0]]}])  # fmt: skip
        s.ask("Produce", version, "one topic twice", acks=-1, timeout_ms=5000, topic_data=[
            {"name": topic.name, "topic_id": topic.id, "partition_data": [data[0]]},
            {"name": topic.name, "topic_id": topic.id, "partition_data": [data[1]]}])  # fmt: skip


@case("Produce")
def produce_without_acks(s: Session) -> None:
    """No answer, or a closed connection; a later request shows which."""
    topic = s.topic()
    s.send("Produce", 9, connection="a", acks=0, timeout_ms=1000,
           topic_data=[{"name": topic.name, "partition_data": [{"index": 0, "records": batch(b"a")}]}])  # fmt: skip
    s.ask(
        "ListOffsets",
        4,
        "after a good one",
        replica_id=-1,
        topics=[topic.partition(0, timestamp=-1)],
    )
    s.send("Produce", 9, connection="b", acks=0, timeout_ms=1000,
           topic_data=[{"name": topic.name, "partition_data": [{"index": 5, "records": batch(b"a")}]}])  # fmt: skip
    s.receive("Produce", 9, "to partition 5", connection="b")


@case("Produce")
def produce_too_large(s: Session) -> None:
    topic = s.topic(max_message_bytes="1000")
    for version in (3, 8, 9, 13):
        send(s, topic, version, "small", batch(b"x" * 800))
        send(s, topic, version, "too large", batch(b"x" * 2000))
        send(s, topic, version, "too large in sum", batch(b"x" * 600, b"y" * 600))


@case("Produce")
def produce_timestamps(s: Session) -> None:
    topic = s.topic(
        "limits", message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000"
    )
    for version in (3, 8, 9):
        send(s, topic, version, "years old", batch(b"a", b"b"))
        send(s, topic, version, "in a far future", batch(b"a", b"b", at_ms=4_000_000_000_000))
        send(
            s, topic, version, "one of two", changed(batch(b"a", b"b"), 35, ">q", 4_000_000_000_000)
        )
    plain = s.topic("plain")
    send(s, plain, 9, "negative", batch(b"a", at_ms=-1))
    send(s, plain, 9, "very negative", batch(b"a", at_ms=-500))
    send(s, plain, 9, "in a far future", batch(b"a", at_ms=4_000_000_000_000))
    appended = s.topic("appended", message_timestamp_type="LogAppendTime")
    for version in (3, 9):
        send(s, appended, version, "log append time", batch(b"a", b"b"))
    s.ask("Fetch", 11, "log append time", replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20,
          topics=[{"topic": appended.name, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]}])  # fmt: skip


@case("Produce")
def produce_to_a_compacted_topic(s: Session) -> None:
    topic = s.topic(cleanup_policy="compact")
    for version in (3, 7, 8, 9, 13):
        send(s, topic, version, "with key", batch(b"a", key=b"k"))
        send(s, topic, version, "without keys", batch(b"a", b"b"))
        send(s, topic, version, "without keys, compressed", batch(b"a", b"b", codec=Codec.GZIP))


@case("Produce")
def produce_with_other_compression(s: Session) -> None:
    for codec in ("gzip", "uncompressed", "lz4", "zstd", "snappy"):
        topic = s.topic(codec, compression_type=codec)
        send(s, topic, 9, f"to {codec}", batch(b"x" * 300, b"y" * 300))
        send(s, topic, 9, f"snappy to {codec}", batch(b"x" * 300, b"y" * 300, codec=Codec.SNAPPY))
        s.ask("Fetch", 11, codec, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20,
              topics=[{"topic": topic.name, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]}])  # fmt: skip


@case("Produce")
def produce_to_internal_topics(s: Session) -> None:
    s.quietly("FindCoordinator", 4, key_type=0, coordinator_keys=["g"])
    offsets = Topic("__consumer_offsets", bytes(16))
    send(s, offsets, 9, "as a client", batch(b"a", key=b"k"))
    send(s, offsets, 9, "as an admin, without a key", batch(b"a"), client_id="__admin_client")


@case("Produce")
def produce_idempotent(s: Session) -> None:
    topic = s.topic()
    identity = {"producer_id": 5000, "producer_epoch": 1}
    for version in (3, 9, 13):
        send(
            s,
            topic,
            version,
            "sequence 3 first",
            batch(b"a", base_sequence=3, producer_id=6000 + version, producer_epoch=0),
        )
    send(s, topic, 9, "sequence 0", batch(b"a", b"b", base_sequence=0, **identity))
    send(s, topic, 9, "sequence 2", batch(b"c", base_sequence=2, **identity))
    for version in (3, 8, 9, 13):
        send(s, topic, version, "sequence 0 again", batch(b"a", b"b", base_sequence=0, **identity))
        send(s, topic, version, "sequence 2 again", batch(b"c", base_sequence=2, **identity))
        send(s, topic, version, "sequence 5", batch(b"d", base_sequence=5, **identity))
        send(s, topic, version, "sequence 1", batch(b"d", base_sequence=1, **identity))
        send(s, topic, version, "half of a known batch", batch(b"a", base_sequence=0, **identity))
        send(
            s,
            topic,
            version,
            "an older epoch",
            batch(b"d", base_sequence=3, producer_id=5000, producer_epoch=0),
        )
    send(
        s,
        topic,
        9,
        "a newer epoch in the middle",
        batch(b"d", base_sequence=3, producer_id=5000, producer_epoch=2),
    )
    send(
        s,
        topic,
        9,
        "a newer epoch",
        batch(b"d", base_sequence=0, producer_id=5000, producer_epoch=2),
    )
    send(s, topic, 9, "the older epoch now", batch(b"d", base_sequence=3, **identity))
    send(s, topic, 9, "no sequence", batch(b"d", **identity))
    send(s, topic, 9, "no epoch", batch(b"d", producer_id=5000, base_sequence=0))


@case("Produce")
def produce_remembers_five_batches(s: Session) -> None:
    topic = s.topic()
    identity = {"producer_id": 5001, "producer_epoch": 0}
    for number in range(7):
        send(s, topic, 9, f"sequence {number}", batch(b"a", base_sequence=number, **identity))
    for number in range(7):
        send(s, topic, 9, f"sequence {number} again", batch(b"a", base_sequence=number, **identity))


@case("Produce")
def produce_sequences_wrap(s: Session) -> None:
    topic = s.topic()
    identity = {"producer_id": 5002, "producer_epoch": 0}
    top = 2**31 - 1
    send(s, topic, 9, "the highest first", batch(b"a", base_sequence=top, **identity))
    send(s, topic, 9, "0", batch(b"a", base_sequence=0, **identity))
    send(
        s,
        topic,
        9,
        "over the edge",
        changed(batch(b"b", b"c", base_sequence=1, **identity), 53, ">i", top),
    )


@case("Produce")
def produce_transactional_without_a_transaction(s: Session) -> None:
    topic = s.topic()
    transactional = batch(
        b"a", is_transactional=True, producer_id=5003, producer_epoch=0, base_sequence=0
    )
    for version in (3, 8, 9, 11, 12, 13):
        send(s, topic, version, "no transactional id", transactional)
        send(
            s,
            topic,
            version,
            "transactional id, plain batch",
            batch(b"a"),
            transactional_id=s.name(),
        )
        send(s, topic, version, "unknown producer", transactional, transactional_id=s.name())


@case("Produce")
def produce_below_min_insync_replicas(s: Session) -> None:
    topic = s.topic(min_insync_replicas="2")
    for version in (3, 8, 9, 13):
        send(s, topic, version, "acks all", batch(b"a"))
        send(s, topic, version, "acks 1", batch(b"a"), acks=1)


@case("Produce", "DeleteTopics")
def produce_to_a_deleted_topic(s: Session) -> None:
    topic = s.topic()
    send(s, topic, 13, "before", batch(b"a"))
    s.ask("DeleteTopics", 6, topics=[{"name": topic.name}], timeout_ms=5000)
    s.until(
        lambda: (
            s.quietly(
                "Metadata", 12, topics=[{"name": topic.name}], allow_auto_topic_creation=False
            )
            .topics[0]
            .error_code
            == 3
        ),
        "deleted",
    )
    send(s, topic, 12, "after, by name", batch(b"a"))
    send(s, topic, 13, "after, by id", batch(b"a"))
    again = s.topic()
    send(s, Topic(topic.name, topic.id), 13, "created again, by the old id", batch(b"a"))
    send(s, again, 13, "created again, by its id", batch(b"a"))
