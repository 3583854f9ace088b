"""An instance of `Instances`' application in each of the ways in which a program runs one: `signalled_instance.py WAY SERVERS DIRECTORY APPLICATION ADDRESS`.

Commits only when it ends. Writes each state that the application enters, and `went on` where the program goes on after it.
"""

from __future__ import annotations

import asyncio
import sys
import time

from millstream.streams import KafkaStreams, StreamsConfig, blocking
from millstream.streams.query_server import QueryServer
from tests.integration.streams.application.instances import counting

HOUR_S = 3_600


async def run(app: KafkaStreams) -> None:
    await app.run()


async def block(app: KafkaStreams) -> None:
    async with app:
        await app.wait_ended()


async def served_block(app: KafkaStreams) -> None:
    async with app, QueryServer(app):
        await app.wait_ended()


async def served_run(app: KafkaStreams) -> None:
    async with QueryServer(app):
        await app.run()


async def busy_block(app: KafkaStreams) -> None:
    async with app:
        await asyncio.sleep(HOUR_S)


async def by_hand(app: KafkaStreams) -> None:
    await app.start()
    await asyncio.sleep(HOUR_S)


async def group(app: KafkaStreams) -> None:
    async with app:
        await asyncio.gather(app.wait_ended(), asyncio.sleep(HOUR_S))


def blocking_run(app: blocking.KafkaStreams) -> None:
    app.run()


def blocking_block(app: blocking.KafkaStreams) -> None:
    with app:
        app.wait_ended()


def blocking_busy_block(app: blocking.KafkaStreams) -> None:
    with app:
        time.sleep(HOUR_S)


def blocking_never_closed(app: blocking.KafkaStreams) -> None:
    app.start()
    time.sleep(HOUR_S)


WAYS = {each.__name__: each for each in (run, block, served_block, served_run, busy_block, by_hand)}
WAYS |= {group.__name__: group}
BLOCKING = {
    each.__name__: each
    for each in (blocking_run, blocking_block, blocking_busy_block, blocking_never_closed)
}


def main(way: str, servers: str, directory: str, application: str, address: str) -> None:
    config = StreamsConfig(
        application_id=application,
        state_dir=directory,
        application_server=address,
        commit_interval_ms=HOUR_S * 1_000,
    )
    topology = counting(f"{application}-in", f"{application}-out")
    clients = {"bootstrap.servers": servers}

    def tell(new: str, _old: str) -> None:
        sys.stdout.write(f"{new}\n")
        sys.stdout.flush()

    async def in_loop() -> None:
        app = KafkaStreams(topology, config, clients)
        app.on_state_change(tell)
        await WAYS[way](app)

    if way in WAYS:
        asyncio.run(in_loop())
    else:
        app = blocking.KafkaStreams(topology, config, clients)
        app.on_state_change(tell)
        BLOCKING[way](app)
    sys.stdout.write("went on\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
