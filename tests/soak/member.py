"""One member of a group that is churned: reads, commits what it has read, and tells each record on a line of its own.

    python member.py BOOTSTRAP GROUP PROTOCOL TOPIC FILE

A line is `partition offset`, written before the offset is committed: so what was committed was told.
"""

from __future__ import annotations

import sys
from pathlib import Path

from confluent_kafka import Consumer, KafkaException

BATCH = 50


def main(bootstrap: str, group: str, protocol: str, topic: str, file: str) -> None:
    settings: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if protocol == "classic":
        settings |= {"session.timeout.ms": 3000, "heartbeat.interval.ms": 300}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    with Path(file).open("a", buffering=1) as out:
        while True:
            messages = [m for m in consumer.consume(BATCH, 0.1) if m.error() is None]
            if not messages:
                continue
            out.write("".join(f"{m.partition()} {m.offset()}\n" for m in messages))
            try:
                consumer.commit(asynchronous=False)
            except KafkaException:
                continue  # not a member any more, or the broker is down: somebody reads it again


if __name__ == "__main__":
    main(*sys.argv[1:])
