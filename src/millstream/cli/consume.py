"""`millstream consume TOPIC`: records to standard output, as values or as JSON lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from millstream.clients import ConsumerRecord
    from millstream.clients.blocking import Consumer


@click.command()
@click.argument("topic")
@click.option(
    "--bootstrap-server",
    "-b",
    "bootstrap",
    default="localhost:9092",
    show_default=True,
    help="HOST:PORT[,...]",
)
@click.option(
    "--group", "-G", help="Join this group and commit; default: all partitions, no group."
)
@click.option(
    "--from-beginning", is_flag=True, help="Start at the first record instead of the end."
)
@click.option("--exit", "-e", "exit_at_end", is_flag=True, help="End when the end is reached.")
@click.option("--max-messages", "-c", type=int, help="End after this many records.")
@click.option(
    "--output", "-o", type=click.Choice(["value", "jsonl"]), default="value", show_default=True
)
def consume(
    topic: str,
    *,
    bootstrap: str,
    group: str | None,
    max_messages: int | None,
    output: str,
    from_beginning: bool,
    exit_at_end: bool,
) -> None:
    """Print the records of TOPIC as they come."""
    from millstream.clients import TopicPartition, blocking

    written = sys.stdout.buffer
    left = max_messages
    with blocking.Consumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest" if from_beginning else "latest",
    ) as consumer:
        if group is not None:
            consumer.subscribe([topic])
        else:
            consumer.assign([TopicPartition(topic, p) for p in consumer.partitions_for(topic)])
        while left is None or left > 0:
            records = consumer.poll(max_records=500 if left is None else min(500, left))
            for record in records:
                written.write(_line(record, output))
            written.flush()
            left = None if left is None else left - len(records)
            if exit_at_end and not records and _at_end(consumer):
                break


def _line(record: ConsumerRecord, output: str) -> bytes:
    if output == "value":
        return (record.value or b"") + b"\n"
    import orjson

    return orjson.dumps(
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp_ms,
            "key": _text(record.key),
            "value": _text(record.value),
            "headers": [[name, _text(content)] for name, content in record.headers],
        },
        option=orjson.OPT_APPEND_NEWLINE,
    )


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")


def _at_end(consumer: Consumer) -> bool:
    assignment = consumer.assignment()
    ends = consumer.end_offsets(assignment)
    return bool(assignment) and all(consumer.position(tp) >= end for tp, end in ends.items())
