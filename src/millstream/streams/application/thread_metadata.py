"""The stream threads of an instance and their tasks, as an operator asks for them (Kafka Streams' ThreadMetadata and
TaskMetadata). Pure data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.states import ThreadState
from millstream.streams.runtime.report import TaskReport


@dataclass(frozen=True, slots=True)
class TaskMetadata:
    """A task of a thread.

    `committed_offsets`: by input topic, as of its last commit here, or as far as the stores of a standby task cover
    commits elsewhere; empty before they are known.
    """

    task_id: StreamsTaskId
    committed_offsets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ThreadMetadata:
    """A stream thread, its active and its standby tasks in order, and the client ids under which brokers know it."""

    thread_name: str
    thread_state: ThreadState
    active_tasks: tuple[TaskMetadata, ...]
    standby_tasks: tuple[TaskMetadata, ...]

    consumer_client_id: str
    restore_consumer_client_id: str
    producer_client_id: str
    """That of all producers of the thread: with exactly once each task has its own."""
    admin_client_id: str


@dataclass(frozen=True, slots=True)
class ThreadClientIds:
    """The client ids of a thread, which begin with its name."""

    thread_name: str

    @property
    def consumer(self) -> str:
        return f"{self.thread_name}-consumer"

    @property
    def restore_consumer(self) -> str:
        return f"{self.thread_name}-restore-consumer"

    @property
    def producer(self) -> str:
        return f"{self.thread_name}-producer"

    @property
    def admin(self) -> str:
        return f"{self.thread_name}-admin"

    @property
    def member(self) -> str:
        """The client id of the connections that live its membership."""
        return f"{self.thread_name}-member"


def thread_metadata(
    name: str,
    state: ThreadState,
    active_tasks: Iterable[StreamsTaskId],
    reports: Mapping[StreamsTaskId, TaskReport],
    standby_tasks: Mapping[StreamsTaskId, Mapping[str, int]],
) -> ThreadMetadata:
    """Returns what is known of a thread."""
    ids = ThreadClientIds(name)
    tasks = (
        TaskMetadata(task, reports[task].position if task in reports else {})
        for task in sorted(active_tasks)
    )
    copies = (TaskMetadata(task, offsets) for task, offsets in sorted(standby_tasks.items()))
    return ThreadMetadata(
        name,
        state,
        tuple(tasks),
        tuple(copies),
        ids.consumer,
        ids.restore_consumer,
        ids.producer,
        ids.admin,
    )
