"""`KafkaStreams` and `HealthServer` for programs without an event loop: the same, run by the loop
thread of the blocking clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from millstream.clients.blocking.blocking_client import BlockingClient, calls, waits
from millstream.clients.blocking.loop_thread import LoopThread
from millstream.foreign_names.explanation import explain_construction
from millstream.runtime import Clock
from millstream.streams import health_server
from millstream.streams.application import kafka_streams as application
from millstream.streams.application.clients import ClientSupplier
from millstream.streams.application.ending_signals import (
    Interrupted,
    Terminated,
    cut_short,
    of_process,
)
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.interactive.live_partitions import LivePartitions
from millstream.streams.application.processes.outer_application import OuterBlockingApplication
from millstream.streams.application.states import ApplicationState
from millstream.streams.config import StreamsConfig
from millstream.streams.handlers import UncaughtErrorHandler, shut_down_client
from millstream.streams.queries import StoreQueryParameters
from millstream.streams.queries.remote_stores import remote_store
from millstream.streams.restore_listener import StateRestoreListener
from millstream.streams.runtime.report import TaskReport
from millstream.streams.state.read_only import Stored
from millstream.streams.topology.topology import Topology


@explain_construction
class KafkaStreams(BlockingClient[application.KafkaStreams]):
    """See `millstream.streams.KafkaStreams`: same arguments, same methods. Safe to share between threads.

    `with` starts it, and closes it in the end. Listeners and `on_uncaught_error` run in the loop thread, where `close`
    and `request_close` are the only methods that may be called.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        clients: Mapping[str, object] | ClientSupplier,
        *,
        clock: Clock | None = None,
        on_uncaught_error: UncaughtErrorHandler = shut_down_client,
        restore_listener: StateRestoreListener | None = None,
    ) -> None:
        super().__init__(
            lambda: application.KafkaStreams(
                topology,
                config,
                clients,
                clock=clock,
                on_uncaught_error=on_uncaught_error,
                restore_listener=restore_listener,
            )
        )
        self._is_awaited = 0
        """How many threads wait for the end."""
        self._is_closing = False
        self._is_told = False
        """Whether the program hears of a signal, or of the end that follows it."""
        self._unanswered: int | None = None
        """A signal that came while the program closed the application by itself."""

    def __reduce__(self) -> tuple[type[OuterBlockingApplication], tuple[str]]:
        """Pickles what a function that holds the application gets in the process of a stream thread."""
        return OuterBlockingApplication, (self._client.config.application_id,)

    def __enter__(self) -> Self:
        self.start()
        return self

    @property
    def state(self) -> ApplicationState:
        """The state of the application."""
        return self._loop.call(lambda: self._client.state)

    @property
    def error(self) -> BaseException | None:
        """The error that has ended the application."""
        return self._loop.call(lambda: self._client.error)

    @property
    def is_paused(self) -> bool:
        """Whether `pause` was called, and `resume` not since."""
        return self._loop.call(lambda: self._client.is_paused)

    @property
    def tasks(self) -> Mapping[str, frozenset[StreamsTaskId]]:
        """By thread, the active tasks that it has."""
        return self._loop.call(lambda: self._client.tasks)

    @property
    def reports(self) -> Mapping[StreamsTaskId, TaskReport]:
        """The last commit of each task."""
        return self._loop.call(lambda: self._client.reports)

    clean_up = waits(application.KafkaStreams.clean_up)
    query = waits(application.KafkaStreams.query)
    remove_stream_thread = waits(application.KafkaStreams.remove_stream_thread)
    add_stream_thread = calls(application.KafkaStreams.add_stream_thread)
    metadata_for_local_threads = calls(application.KafkaStreams.metadata_for_local_threads)
    metrics = calls(application.KafkaStreams.metrics)
    on_state_change = calls(application.KafkaStreams.on_state_change)
    pause = calls(application.KafkaStreams.pause)
    resume = calls(application.KafkaStreams.resume)

    streams_metadata_for_store = calls(application.KafkaStreams.streams_metadata_for_store)
    metadata_for_all_streams_clients = calls(
        application.KafkaStreams.metadata_for_all_streams_clients
    )
    all_local_store_partition_lags = waits(application.KafkaStreams.all_local_store_partition_lags)
    query_metadata_for_key = waits(application.KafkaStreams.query_metadata_for_key)

    def start(self) -> None:
        """Starts the threads, and returns once global stores are filled.

        In the main thread signals end the application from now on.

        Raises as `millstream.streams.KafkaStreams.start`.
        """
        of_process().listen(self)
        try:
            self._loop.run(self._client.start())
        except SystemExit:
            self.close()
            raise
        except BaseException:
            of_process().forget(self)
            raise

    def wait_ended(self) -> None:
        """Waits until the application has ended, also by a signal. Raises the error that has ended it."""
        self._is_awaited += 1
        try:
            self._loop.run(self._client.wait_ended())
        finally:
            self._is_awaited -= 1

    @property
    def is_running(self) -> bool:
        """Whether a signal still says something to the application."""
        return not self._client.state.has_completed_shutdown

    def hear(self, number: int) -> SystemExit | None:
        """Has the application end because of a signal: at once where somebody waits for that, else by ending
        what the main thread does.
        """
        if self._is_told:
            return None
        if self._is_closing:
            self._unanswered = number
            return None
        self._is_told = True
        if not self._is_awaited:
            return cut_short(number)
        self._client.request_close()
        return None

    def store(
        self,
        wanted: str | StoreQueryParameters[Any],  # Any: the rows of every type of store
    ) -> Any:  # Any: ReadOnlyKeyValueStore or another, as the type says that is wanted
        """Returns a store to be read, as that of the asyncio class does: what it is asked it waits for."""
        live = self._loop.call(lambda: self._client.store(wanted))
        return remote_store(live.partitions.wanted.type.name, _Waiting(self._loop, live.partitions))

    def close(self, timeout_s: float | None = None) -> bool:  # type: ignore[override]  # other clients say nothing
        """Ends after the turns under way, commits and leaves the group. Idempotent.

        Returns whether all has ended in time.

        In a function that the application calls, as a processor or a listener, it asks for the end and returns False at
        once. Raises ValueError for a negative time.
        """
        if timeout_s is not None and timeout_s < 0:
            raise ValueError(f"close: timeout_s must not be negative, but is {timeout_s}")
        if self._loop.is_current or self._client.is_caller:
            self.request_close()
            return False
        self._is_closing = True
        try:
            return self._loop.run(self._client.close(timeout_s))
        finally:
            of_process().forget(self, self._unanswered)

    def request_close(self) -> None:
        """Has the application end soon, and returns at once: see `close`, which does so where it cannot wait."""
        self._client.request_close()

    def run(self) -> None:
        """Starts, and returns when the application has ended, in the main thread also by Ctrl-C or SIGTERM.

        Raises what `start` raises, and the error that ends the application.
        """
        try:
            self.start()
            self.wait_ended()
        except (Interrupted, Terminated):
            return  # it was told to end before it ran
        finally:
            self.close()


class HealthServer(BlockingClient[health_server.HealthServer]):
    """See `millstream.streams.HealthServer`: same arguments. `with` begins to answer, and ends it."""

    def __init__(self, application: KafkaStreams, *, port: int, host: str = "127.0.0.1") -> None:
        super().__init__(
            lambda: health_server.HealthServer(application._client, port=port, host=host)
        )

    def __enter__(self) -> Self:
        self._loop.run(self._client.__aenter__())
        return self

    @property
    def url(self) -> str:
        """The address that it listens at."""
        return self._client.url


class _Waiting:
    """Asks partitions in the loop thread, and waits."""

    def __init__(self, loop: LoopThread, partitions: LivePartitions) -> None:
        self._loop = loop
        self._partitions = partitions

    def of_key(self, key: object, method: str, *arguments: object, **named: object) -> Stored:
        del key  # every partition here is asked
        return self._loop.run(self._partitions.of_key(method, *arguments, **named))

    def of_all(self, method: str, *arguments: object, **named: object) -> Iterator[Stored]:
        return iter(self._loop.run(self._partitions.of_all(method, *arguments, **named)))
