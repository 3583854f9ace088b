"""The things that the tasks of a host share: clients by their settings, and the global stores of each application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from millstream.clients import Producer, RangeReader
from millstream.clients.admin import Admin
from millstream.spark.kafka_settings import KafkaSettings
from millstream.streams.client_roles import ClientRole
from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec

TRANSACTION_TIMEOUT_MS: Final = 30_000
"""A transaction takes one write of outputs. Of a task that has died in it and is not
started again, readers wait so long."""


@dataclass(slots=True)
class _Globals:
    """The global stores of one application, opened by the first task that wants them."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    stores: GlobalStores | None = None


class HostClients:
    """Those of one host, which opens them when the first task needs them."""

    def __init__(self) -> None:
        self._clients: dict[KafkaSettings, TaskClients] = {}
        self._readers: dict[tuple[KafkaSettings, ClientRole], RangeReader] = {}
        """Those that have settings of their own."""
        self._globals: dict[str, _Globals] = {}
        """By digest of the application."""

    def of(self, kafka: KafkaSettings) -> TaskClients:
        """Returns the clients of all applications that have these settings."""
        if kafka not in self._clients:
            self._clients[kafka] = TaskClients(
                RangeReader(**kafka.of_reader()),
                Admin(**kafka.of_client()),
                lambda transactional_id: _producer(kafka, transactional_id),
                changelog_reader=self._reader_of(kafka, ClientRole.RESTORE_CONSUMER),
            )
        return self._clients[kafka]

    def _reader_of(self, kafka: KafkaSettings, role: ClientRole) -> RangeReader | None:
        """Returns the reader of a role; None where it has the settings of that of the tasks, which then serves both."""
        if kafka.of_reader(role) == kafka.of_reader():
            return None
        if (kafka, role) not in self._readers:
            self._readers[kafka, role] = RangeReader(**kafka.of_reader(role))
        return self._readers[kafka, role]

    async def global_stores(
        self, digest: str, kafka: KafkaSettings, spec: TaskSpec, environment: TaskEnvironment
    ) -> GlobalStores | None:
        """Returns the global stores of an application, filled; None where it has none."""
        if not spec.topology.global_stores:
            return None
        shared = self._globals.setdefault(digest, _Globals())
        async with shared.lock:
            if shared.stores is None:
                clients = environment.clients
                reader = self._reader_of(kafka, ClientRole.GLOBAL_CONSUMER) or clients.reader
                reading = replace(environment, clients=replace(clients, reader=reader))
                shared.stores = await GlobalStores.open(spec, reading)
            return shared.stores

    @asynccontextmanager
    async def global_task(self, digest: str, store: str) -> AsyncIterator[StreamTask | None]:
        """Yields the task that fills a global store of an application, which nobody closes meanwhile; None where none
        is open.
        """
        shared = self._globals.get(digest)
        if shared is None:
            yield None
            return
        async with shared.lock:
            yield None if shared.stores is None else shared.stores.task_of(store)

    async def close_global_stores(self, is_used: Callable[[str], bool]) -> None:
        """Closes those of applications, by digest, that have no task open here."""
        for digest, shared in list(self._globals.items()):
            async with shared.lock:
                if is_used(digest):
                    continue
                stores, shared.stores = shared.stores, None
                if stores is not None:
                    await stores.close()

    async def close(self) -> None:
        """Closes all clients. Global stores have been closed before."""
        for clients in self._clients.values():
            await clients.reader.close()
            await clients.admin.close()
        self._clients.clear()
        for reader in self._readers.values():
            await reader.close()
        self._readers.clear()


def _producer(kafka: KafkaSettings, transactional_id: str | None) -> Producer:
    settings = {"linger_ms": 0} | kafka.of_producer()
    if transactional_id is not None:
        settings |= {
            "transactional_id": transactional_id,
            "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
        }
    return Producer(**settings)
