"""What the operators of quixstreams and faust cost on the input of `benchmarks.streams`, without a broker.

    build/peers/bin/python -m benchmarks.streams_peers RECORDS

Prints JSON: records per second of processor time by `peer: workload`. quixstreams' functions are composed as its
StreamingDataFrame does it and called row by row, counts are kept in its store in memory; faust iterates a stream over
a channel. Values come as bytes and leave as bytes, as ours do; neither writes a changelog here, ours does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Callable

import faust
from quixstreams.core.stream import Stream
from quixstreams.state.manager import StateStoreManager
from quixstreams.state.memory.store import MemoryStore

Row = tuple[bytes, bytes, int]
KEYS = 1_000
BATCH = 10_000


def rows(records: int) -> list[Row]:
    return [(f"key-{n * 7919 % KEYS}".encode(), f"{n:092d}".encode(), n) for n in range(records)]


def quixstreams_rate(stream: Stream, given: list[Row], commit: Callable[[], None]) -> float:
    written: list[object] = []
    composed = stream.compose(sink=lambda value, *_: written.append(value))
    (execute,) = composed.values()
    started = time.process_time()
    for number, (key, value, timestamp) in enumerate(given, 1):
        execute(value, key, timestamp, None)
        if number % BATCH == 0:
            commit()
            written.clear()
    return len(given) / (time.process_time() - started)


def quixstreams_count(given: list[Row]) -> float:
    manager = StateStoreManager(default_store_type=MemoryStore)
    manager.register_store("in", "default")
    manager.on_partition_assign(stream_id="in", partition=0, committed_offsets={})
    store = manager.get_store("in", "default")
    transaction = store.start_partition_transaction(0)

    def count(_value: str, key: bytes, timestamp: int, _headers: object) -> int:
        state = transaction.as_state(prefix=key, timestamp=timestamp)
        known: int = state.get("count", 0) + 1
        state.set("count", known)
        return known

    def commit() -> None:
        nonlocal transaction
        transaction.prepare()
        transaction.flush()
        transaction = store.start_partition_transaction(0)

    decoded = Stream().add_apply(bytes.decode)
    counted = decoded.add_apply(count, metadata=True).add_apply(lambda known: known.to_bytes(8))
    return quixstreams_rate(counted, given, commit)


async def faust_rate(given: list[Row], *, filtered: bool) -> float:
    app = faust.App("bench", stream_wait_empty=False)
    stream = app.channel(maxsize=len(given)).stream()
    stream.add_processor(bytes.decode)
    if filtered:
        stream = stream.filter(lambda value: value[0] != "#")
        stream.add_processor(str.upper)
    for _, value, _ in given:
        stream.channel.queue.put_nowait(value)
    started, left, written = time.process_time(), len(given), []
    async for value in stream:
        written.append(value.encode())
        left -= 1
        if not left:
            break
    return len(given) / (time.process_time() - started)


def main(records: int) -> None:
    logging.disable(logging.CRITICAL)
    given = rows(records)
    decoded = Stream().add_apply(bytes.decode)
    mapped = decoded.add_filter(lambda value: value[0] != "#").add_apply(
        lambda value: value.upper()
    )
    nothing = int  # to be done at a commit
    figures = {
        "quixstreams: pass-through": quixstreams_rate(
            decoded.add_apply(str.encode), given, nothing
        ),
        "quixstreams: filter, map_values": quixstreams_rate(
            mapped.add_apply(str.encode), given, nothing
        ),
        "quixstreams: count": quixstreams_count(given),
        "faust: pass-through": asyncio.run(faust_rate(given, filtered=False)),
        "faust: filter, map_values": asyncio.run(faust_rate(given, filtered=True)),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(int(sys.argv[1]))
