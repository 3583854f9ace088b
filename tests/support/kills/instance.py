"""An instance of an application on stream threads that is killed; `nursery` starts it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from millstream.model import TopicPartition
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.processes.pickling import ThreadProcessFailed
from millstream.streams.handlers import OnUncaughtError
from tests.patience import WAITS_FOR_CLUSTER
from tests.support.kills.orders import PROCESSING, RESTORING, Orders, ThreadKilled
from tests.support.kills.secured import login
from tests.support.kills.ways import Way

CLIENTS = {"heartbeat_interval_ms": 200, "session_timeout_ms": 3_000}


class Restoring:
    """Comes to its moment with each batch that is restored."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders

    def on_restore_start(
        self, changelog: TopicPartition, store: str, starting_offset: int, ending_offset: int
    ) -> None: ...

    def on_batch_restored(
        self, changelog: TopicPartition, store: str, batch_end_offset: int, restored: int
    ) -> None:
        self._orders.observe(RESTORING)

    def on_restore_end(
        self, changelog: TopicPartition, store: str, total_restored: int
    ) -> None: ...

    def on_restore_suspended(
        self, changelog: TopicPartition, store: str, total_restored: int
    ) -> None: ...


class Processing:
    """Comes to its moment with each record in the middle of the topology."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders

    def __call__(self, _key: str, _value: object) -> None:
        self._orders.observe(PROCESSING)


def replaced(error: Exception) -> OnUncaughtError:
    """A thread that was killed is replaced; whatever else fails ends the instance, and with it the test."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ThreadKilled | ThreadProcessFailed):
            return OnUncaughtError.REPLACE_THREAD
        cause = cause.__cause__
    return OnUncaughtError.SHUTDOWN_CLIENT


def main(described: str, servers: str, directory: str) -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
    )
    orders, way = Orders.from_environment(), Way.decode(described)
    application = KafkaStreams(
        way.killed.topology(Processing(orders)),
        replace(way.config, state_dir=directory),
        {
            "bootstrap_servers": servers,
            "max_partition_fetch_bytes": way.fetch_bytes,
            **WAITS_FOR_CLUSTER,
            **CLIENTS,
            **login(is_secure=way.is_secure),
        },
        observe=orders.observe,
        restore_listener=Restoring(orders),
        on_uncaught_error=replaced,
    )
    asyncio.run(application.run())
