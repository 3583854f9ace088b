"""An application on stream threads with all that remembers, until its input ends: `python -m ... SERVERS DIRECTORY`.

It answers each line with what it has, as JSON: `count` or, after a stream thread more or one fewer, `add` and `remove`.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from datetime import timedelta

import orjson

from millstream.streams import (
    KafkaStreams,
    Materialized,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)
from millstream.streams.serdes import bytes_, long, string
from millstream.streams.state.storage.rocksdb_memory import memory_of_process
from millstream.streams.topology import Topology

CACHE_BYTES = 1024 * 1024
WINDOW = timedelta(seconds=10)
RETENTION = timedelta(seconds=30)
THREADS = 2


def topology() -> Topology:
    """A join with a table, a cached count, and a count in windows behind a repartition topic."""
    builder = StreamsBuilder()
    orders = builder.stream("orders", key=string(), value=bytes_())
    customers = builder.table("customers", key=string(), value=bytes_())
    orders.join(customers, lambda order, customer: order[:20] + customer).to(
        "joined", key=string(), value=bytes_()
    )
    counts = orders.group_by_key(key=string(), value=bytes_()).count()
    counts.to_stream().to("counts", value=long())
    grouped = orders.group_by(lambda key, _: key[-2:], key=string(), value=bytes_())
    windows = TimeWindows.tumbling(WINDOW, grace=WINDOW)
    windowed = grouped.windowed_by(windows).count(
        materialized=Materialized("windows", retention=RETENTION)
    )
    windowed.to_stream().to("windows", value=long())
    return builder.build()


async def main(servers: str, directory: str) -> None:
    config = StreamsConfig(
        application_id="remembering",
        processing_guarantee="exactly_once_v2",
        cache_max_bytes=CACHE_BYTES,
        num_stream_threads=THREADS,
        state_dir=directory,
    )
    async with KafkaStreams(topology(), config, {"bootstrap_servers": servers}) as application:
        while line := await asyncio.to_thread(sys.stdin.readline):
            match line.strip():
                case "add":
                    application.add_stream_thread()
                case "remove":
                    await application.remove_stream_thread()
            sys.stdout.write(f"{orjson.dumps(counted(application)).decode()}\n")
            sys.stdout.flush()
    assert application.error is None, application.error


def counted(application: KafkaStreams) -> dict[str, float]:
    """The orders that are committed, and what is kept; the memory of RocksDB in MB."""
    return {
        "orders": sum(each.position.get("orders", 0) for each in application.reports.values()),
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "asyncio tasks": len(asyncio.all_tasks()),
        "RocksDB": memory_of_process().used_bytes / 1e6,
    }


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
