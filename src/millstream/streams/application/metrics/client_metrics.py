"""The metrics of one instance: its own, those of its stream threads and those of their tasks, as
`KafkaStreams.metrics()` has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from millstream import __version__
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.metrics.thread_measures import GROUP
from millstream.streams.application.states import ApplicationState, ThreadState
from millstream.streams.config import StreamsConfig
from millstream.streams.metrics import MetricName, RecordingLevel, metric_name
from millstream.streams.runtime.report import TaskReport, with_tags
from millstream.streams.topology.topology import Topology

MetricValue = float | str
_CLIENT_GROUP: Final = "stream-metrics"
_STATES: Final = tuple(ApplicationState)
"""In the order of KafkaStreams.State, whose numbers `client-state` has."""
_THREAD_STATES: Final = tuple(ThreadState)
"""In the order of StreamThread.State, whose numbers `thread-state` has."""
_LEVELS: Final = {RecordingLevel.INFO: 0, RecordingLevel.DEBUG: 1}


class MeasuredThread(Protocol):
    """A stream thread, wherever it runs."""

    @property
    def name(self) -> str: ...

    @property
    def state(self) -> ThreadState: ...

    @property
    def reports(self) -> Mapping[StreamsTaskId, TaskReport]: ...

    def metrics(self) -> Mapping[MetricName, float]: ...


class MeasuredThreads(Protocol):
    """The stream threads of an instance, and how many have failed."""

    @property
    def all(self) -> Iterable[MeasuredThread]: ...

    @property
    def failed_count(self) -> int: ...


class MeasuredGlobalThread(Protocol):
    """The thread that keeps the global stores up to date."""

    @property
    def name(self) -> str: ...

    def metrics(self) -> Mapping[MetricName, float]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMetrics:
    """The metrics of one instance, made when it starts."""

    client_id: str
    process_id: str
    application_id: str
    topology_description: str
    recording_level: RecordingLevel

    @classmethod
    def of(
        cls, topology: Topology, config: StreamsConfig, client_id: str, process_id: str
    ) -> ClientMetrics:
        """Returns them for an instance that is starting."""
        return cls(
            client_id=client_id,
            process_id=process_id,
            application_id=config.application_id,
            topology_description=topology.describe(),
            recording_level=config.metrics_recording_level,
        )

    def metrics(
        self,
        state: ApplicationState,
        threads: MeasuredThreads,
        global_thread: MeasuredGlobalThread | None,
    ) -> dict[MetricName, MetricValue]:
        """Returns the metrics of the instance and of its threads, and those of tasks as of their last commits.

        A thread that has ended has none: as in Kafka Streams they go with it.
        """
        alive = [each for each in threads.all if each.state is not ThreadState.DEAD]
        found = self._of_client(state, len(alive), threads.failed_count)
        if global_thread is not None:
            found |= with_tags(global_thread.metrics(), {"thread-id": global_thread.name})
        for thread in alive:
            found |= self._of_thread(thread)
            for report in thread.reports.values():
                found |= with_tags(report.metrics, {"thread-id": thread.name})
        return found

    def _of_client(
        self, state: ApplicationState, alive: int, failed: int
    ) -> dict[MetricName, MetricValue]:
        client = {"client-id": self.client_id}
        process = client | {"process-id": self.process_id}
        values: dict[str, MetricValue] = {
            "version": __version__,
            "application-id": self.application_id,
            "topology-description": self.topology_description,
            "state": str(state),
            "alive-stream-threads": float(alive),
            "failed-stream-threads": float(failed),
        }
        found = {metric_name(_CLIENT_GROUP, name, client): value for name, value in values.items()}
        of_application = process | {"application-id": self.application_id}
        number, level = _STATES.index(state), _LEVELS[self.recording_level]
        found[metric_name(_CLIENT_GROUP, "client-state", of_application)] = float(number)
        found[metric_name(_CLIENT_GROUP, "recording-level", process)] = float(level)
        return found

    def _of_thread(self, thread: MeasuredThread) -> dict[MetricName, MetricValue]:
        tags = {"thread-id": thread.name}
        in_process = tags | {"process-id": self.process_id}
        return {
            metric_name(GROUP, "state", tags): str(thread.state),
            metric_name(GROUP, "thread-state", in_process): float(
                _THREAD_STATES.index(thread.state)
            ),
            **thread.metrics(),
        }
