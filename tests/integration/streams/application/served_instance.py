"""An instance of `Instances`' application in a process of its own, with its query server: it can be killed."""

from __future__ import annotations

import asyncio
import sys

from millstream.streams import KafkaStreams, StreamsConfig
from millstream.streams.query_server import QueryServer
from tests.integration.streams.application.instances import counting


async def main(servers: str, directory: str, application: str, address: str) -> None:
    config = StreamsConfig(
        application_id=application,
        processing_guarantee="exactly_once_v2",
        state_dir=directory,
        application_server=address,
        num_standby_replicas=1,
    )
    topology = counting(f"{application}-in", f"{application}-out")
    app = KafkaStreams(topology, config, {"bootstrap_servers": servers})
    async with QueryServer(app):
        await app.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
