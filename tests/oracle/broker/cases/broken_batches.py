"""Produce: whether a batch that lies in one place is taken, and what a consumer then gets."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.errors import KafkaError
from millstream.records.batch import iterate_batches
from millstream.records.compression import Codec
from millstream.records.record import iterate_records
from tests.oracle.broker import broken_batches as broken
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, Topic

COMPRESSED = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
_VERSION = 9


def produce_each(
    s: Session, what: str, batches: Iterable[tuple[str, bytes]], **configs: str
) -> None:
    """Each to a partition of its own, so that none depends on those before it."""
    found = list(batches)
    topic = s.topic(what.replace(" ", "-"), partitions=len(found), **configs)
    for index, (name, records) in enumerate(found):
        label = f"{what}: {name}"
        answer = s.ask(
            "Produce", _VERSION, label, acks=-1, timeout_ms=5000,
            topic_data=[{"name": topic.name, "partition_data": [
                {"index": index, "records": memoryview(records)}]}],
        )  # fmt: skip
        if answer is not None and answer.responses[0].partition_responses[0].error_code == 0:
            s.note("Fetch", 12, label, fetched(s, topic, index))


def fetched(s: Session, topic: Topic, index: int) -> object:
    """What was acknowledged, as far as it can be read."""
    partition = {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    answer = s.quietly(
        "Fetch", 12, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, session_epoch=-1,
        topics=[{"topic": topic.name, "partitions": [partition]}],
    )  # fmt: skip
    batches = []
    for header, view in iterate_batches(memoryview(answer.responses[0].partitions[0].records)):
        try:
            records: object = [
                [
                    record.offset,
                    record.timestamp,
                    None if record.key is None else record.key.decode("latin-1"),
                ]
                for record in iterate_records(header, view)
            ]
        except KafkaError as error:
            records = f"unreadable: {type(error).__name__}"
        batches.append(
            {
                "offsets": [header.base_offset, header.last_offset],
                "attributes": header.attributes,
                "times": [header.base_timestamp, header.max_timestamp],
                "leaderEpoch": header.partition_leader_epoch,
                "content": records,
            }
        )
    return batches


@case("Produce")
def record_lies(s: Session) -> None:
    for codec in Codec:
        produce_each(s, codec.name.lower(), broken.record_batches(codec))


@case("Produce")
def record_lies_on_compacted_topics(s: Session) -> None:
    for codec in (Codec.NONE, Codec.ZSTD):
        produce_each(s, codec.name.lower(), broken.record_batches(codec), cleanup_policy="compact")


@case("Produce")
def record_lies_with_log_append_time(s: Session) -> None:
    for codec in (Codec.NONE, Codec.ZSTD):
        produce_each(
            s,
            codec.name.lower(),
            broken.record_batches(codec),
            message_timestamp_type="LogAppendTime",
        )


@case("Produce")
def record_lies_recompressed(s: Session) -> None:
    for codec in (Codec.NONE, Codec.ZSTD, Codec.GZIP):
        produce_each(s, codec.name.lower(), broken.record_batches(codec), compression_type="gzip")


@case("Produce")
def record_lies_with_bounded_timestamps(s: Session) -> None:
    for codec in (Codec.NONE, Codec.LZ4):
        produce_each(
            s,
            codec.name.lower(),
            broken.record_batches(codec),
            message_timestamp_before_max_ms="1000",
        )


@case("Produce")
def header_lies(s: Session) -> None:
    for codec in (Codec.NONE, Codec.ZSTD):
        produce_each(s, codec.name.lower(), broken.header_batches(codec))
    produce_each(
        s,
        "log append time",
        broken.header_batches(Codec.NONE),
        message_timestamp_type="LogAppendTime",
    )
    produce_each(s, "recompressed", broken.header_batches(Codec.NONE), compression_type="gzip")


@case("Produce")
def stream_lies(s: Session) -> None:
    for codec in COMPRESSED:
        produce_each(s, codec.name.lower(), broken.stream_batches(codec))


@case("Produce")
def stream_lies_recompressed(s: Session) -> None:
    for codec in COMPRESSED:
        produce_each(
            s, codec.name.lower(), broken.stream_batches(codec), compression_type="uncompressed"
        )


@case("Produce")
def old_formats(s: Session) -> None:
    produce_each(s, "old", broken.old_batches())
