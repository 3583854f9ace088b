"""Counts words as a service: settings from the environment, a log on standard error, probes on a port. `python service.py`.

BOOTSTRAP_SERVERS and STATE_DIRECTORY must be set; HEALTH_ADDRESS is 127.0.0.1:8080 unless told otherwise. SIGTERM ends it with
status 0, an error that ends the application with status 1.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from millstream.streams import (
    HealthServer,
    KafkaStreams,
    Materialized,
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


async def main() -> None:
    config = StreamsConfig(
        application_id="word-count",
        processing_guarantee="exactly_once_v2",
        state_dir=os.environ["STATE_DIRECTORY"],
    )
    application = KafkaStreams(
        topology(), config, {"bootstrap_servers": os.environ["BOOTSTRAP_SERVERS"]}
    )
    host, _, port = os.environ.get("HEALTH_ADDRESS", "127.0.0.1:8080").rpartition(":")
    async with HealthServer(application, host=host, port=int(port)) as probes:
        logging.getLogger("service").info("probes at %s", probes.url)
        await application.run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        asyncio.run(main())
    except Exception as error:  # noqa: BLE001 - one line for the log, whatever it was
        sys.exit(f"the application has ended: {type(error).__name__}: {error}")
