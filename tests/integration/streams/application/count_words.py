"""An instance of the counting application as a process: `python count_words.py SERVERS APPLICATION DIRECTORY`."""

from __future__ import annotations

import asyncio
import signal
import sys

from millstream.streams import StreamsConfig
from millstream.streams.application.kafka_streams import KafkaStreams
from tests.integration.streams.application.instances import counting


async def main(servers: str, application: str, directory: str) -> None:
    config = StreamsConfig(
        application_id=application, processing_guarantee="exactly_once_v2", state_dir=directory
    )
    topology = counting(f"{application}-in", f"{application}-out")
    app = KafkaStreams(topology, config, {"bootstrap_servers": servers})
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with app:
        sys.stdout.write("started\n")
        sys.stdout.flush()
        await ended.wait()


asyncio.run(main(*sys.argv[1:]))
