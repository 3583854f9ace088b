"""The messages between a Spark worker and the task host beside it, which travel as frames. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.streams.runtime.report import TaskReport


@dataclass(frozen=True, slots=True)
class Hello:
    """Asks a host whether it is alive; it answers with the same."""


@dataclass(frozen=True, slots=True)
class RunTask:
    """One run of a task, up to `ends` by input topic.

    `topics` are all that it reads; it is started anew where it has read others.
    """

    sub_topology: int
    partition: int
    topics: tuple[str, ...]
    ends: Mapping[str, int]
    lags: Mapping[str, int] | None = None
    """By input topic, the records behind its end; None where tasks do not wait for topics
    that have none (max.task.idle.ms)."""
    renew: bool = False
    """The offsets are committed again although they are the same, so that the group does not forget them."""
    reached: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """By repartition topic that is read in the order of time, how far the tasks have come that
    write it, by their partitions."""


@dataclass(frozen=True, slots=True)
class RunTasks:
    """Asks for runs of tasks of one application, all at the same time.

    `application_digest` names what the application was made from.

    The answer is a tuple of replies, in the order of `runs`.
    """

    application_id: str
    application_digest: str
    runs: tuple[RunTask, ...]


@dataclass(frozen=True, slots=True)
class ApplicationWanted:
    """The host does not know the application of a request: it wants `Application` before it answers."""


@dataclass(frozen=True, slots=True)
class Application:
    """A pickled `HostedApplication`, and the import path of the worker."""

    pickled: bytes
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standby:
    """The task whose stores are to be kept up with their changelogs, although it runs elsewhere."""

    sub_topology: int
    partition: int
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeepStandbys:
    """Asks a host to keep the standbys of an application, until it is asked no more.

    The answer comes at once: StandbysKept.
    """

    application_id: str
    application_digest: str
    standbys: tuple[Standby, ...]


@dataclass(frozen=True, slots=True)
class StandbysKept:
    """Of the standbys that were asked for, those that lack so little that their task may come:
    sub-topologies and partitions.
    """

    ready: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class CloseTasks:
    """Asks a host to close all tasks of an application; it answers with the same."""

    application_id: str


@dataclass(frozen=True, slots=True)
class CloseTask:
    """Asks a host to close one task, because another host is about to open it; it answers with the same."""

    application_id: str
    task_name: str
    """As its directory is called: `TaskSpec.task_name`."""


@dataclass(frozen=True, slots=True)
class AskStore:
    """Asks a task that is open in the host about one of its stores; `task_name` None asks a global store.

    The answer is one of `queries.questions`. `question` is pickled with cloudpickle.
    """

    application_id: str
    application_digest: str
    task_name: str | None
    store: str
    question: bytes


@dataclass(frozen=True, slots=True)
class Working:
    """The host still works on the request."""


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A run that has failed.

    `is_retriable`: the next attempt may succeed, since the cause lies outside of the application.
    """

    task: str
    text: str
    is_retriable: bool


Reply = TaskReport | TaskFailed
