"""The global stores of one process of an application, kept up with their topics beside its stream threads.

Not a thread of the operating system. A failure is kept, and `on_failure` hears of it: there is nobody who waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial

from millstream.net.client.tasks import TaskScope
from millstream.streams.application.application_environment import ApplicationEnvironment
from millstream.streams.failure_reports import log_failure
from millstream.streams.metrics import MetricName
from millstream.streams.queries import QueryResult, StateQueryRequest
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.spec import TaskEnvironment

_LOGGER = logging.getLogger(__name__)


class GlobalStreamThread:
    """Made by `start`, in the event loop that uses it; `close` ends it."""

    def __init__(
        self,
        stores: GlobalStores,
        environment: TaskEnvironment,
        closers: AsyncExitStack,
        poll_ms: int,
        on_failure: Callable[[Exception], None],
        *,
        name: str,
    ) -> None:
        self.name = name
        self.stores = stores
        self._environment = environment
        self._closers = closers
        self._poll_ms = poll_ms
        self._on_failure = on_failure
        self._scope = TaskScope("global stream thread")
        self._scope.start(self._keep_up(), "updates", awaited=True)

    @classmethod
    async def start(
        cls, name: str, application: ApplicationEnvironment, on_failure: Callable[[Exception], None]
    ) -> GlobalStreamThread:
        """Opens and fills the stores. Raises StoreLocked, ConfigError, and what the cluster answers."""
        supplier = application.supplier
        async with AsyncExitStack() as closers:
            kernel = ThreadPoolExecutor(1, name)
            closers.callback(kernel.shutdown)
            admin = supplier.admin(f"{name}-admin")
            closers.push_async_callback(admin.close)
            reader = supplier.global_reader(
                f"{name}-global-consumer", read_committed=application.is_exact
            )
            closers.push_async_callback(reader.close)
            clients = TaskClients(reader, admin, lambda own: supplier.producer(name, own))
            environment = TaskEnvironment(clients, application.clock, kernel, application.observe)
            stores = await GlobalStores.open(application.spec(0, None), environment)
            closers.push_async_callback(stores.close)
            poll_ms = application.config.poll_ms
            return cls(stores, environment, closers.pop_all(), poll_ms, on_failure, name=name)

    def metrics(self) -> Mapping[MetricName, float]:
        """Returns the metrics of the tasks that fill the stores."""
        return self.stores.metrics()

    async def query(self, request: StateQueryRequest) -> QueryResult:
        """Asks a store, which the topology has."""
        task = self.stores.task_of(request.store)
        assert task is not None, "the topology has the store"
        return await self._environment.in_kernel(partial(task.query, request))

    async def close(self) -> None:
        """Closes the stores and the clients."""
        try:
            await self._scope.close()
        finally:
            await self._closers.aclose()

    async def _keep_up(self) -> None:
        """Brings the stores up to date again and again."""
        try:
            while True:
                await asyncio.sleep(self._poll_ms / 1000)
                await self._catch_up()
        except Exception as error:  # noqa: BLE001  # whatever it is, it is logged and told
            log_failure(_LOGGER, "global stores are not kept up any more", error)
            self._on_failure(error)

    async def _catch_up(self) -> None:
        try:
            await self.stores.catch_up()
        except Exception as error:
            if not is_retriable(error):
                raise
            _LOGGER.info("global stores are brought up to date soon: %s", error)
