"""Counts words as an application: `python word_count.py SERVERS STATE_DIRECTORY [PROCESSES]`, on as many machines as there is work for.

Reads the topic `words`, one word a record, and writes each new count to `counts`, exactly once. With more than one process its stream
threads compute side by side.
"""

from __future__ import annotations

import asyncio
import sys

from millstream.streams import (
    KafkaStreams,
    Materialized,
    RestoreProgress,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)
from millstream.streams.serdes import long, string


def topology() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=string(), value=string())
    by_word = words.group_by(lambda _, word: word, key=string(), value=string(), name="by-word")
    counts = by_word.count(materialized=Materialized("counts"))
    counts.to_stream().to("counts", value=long())
    return builder.build()


async def main(servers: str, state_directory: str, processes: str = "1") -> None:
    config = StreamsConfig(
        application_id="word-count",
        processing_guarantee="exactly_once_v2",
        state_dir=state_directory,
        num_stream_threads=int(processes),
        use_processes=int(processes) > 1,
    )
    progress = RestoreProgress()  # one line in the terminal, while stores are restored
    clients = {"bootstrap.servers": servers}
    await KafkaStreams(topology(), config, clients, restore_listener=progress).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
