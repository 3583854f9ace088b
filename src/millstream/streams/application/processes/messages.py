"""The messages between an application and the processes of its stream threads, which travel as frames. Pure data."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.streams.application.group.known_hosts import KnownHosts
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.states import ThreadState
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.metrics import MetricName
from millstream.streams.runtime.report import TaskReport


@dataclass(frozen=True, slots=True)
class StartThread:
    """The first message to a process.

    `application` is a pickled ApplicationEnvironment, `log_level` the least that is wanted.
    """

    name: str
    application: bytes
    is_paused: bool
    log_level: int


@dataclass(frozen=True, slots=True)
class PauseThread:
    """Pauses the thread, or has it go on."""

    is_paused: bool


@dataclass(frozen=True, slots=True)
class ResizeCache:
    """The caches of the thread's tasks are to hold no more than this together."""

    cache_bytes: int


@dataclass(frozen=True, slots=True)
class StopThread:
    """Has the thread end after its turn."""


@dataclass(frozen=True, slots=True)
class AskThread:
    """Asks the stores of the thread. `request` is a pickled StateQueryRequest, `number` comes back with the answer."""

    number: int
    request: bytes


@dataclass(frozen=True, slots=True)
class AskStoreOffsets:
    """Asks how far the stores of the thread are with their changelogs. `number` comes back with the answer."""

    number: int


@dataclass(frozen=True, slots=True)
class AskTasks:
    """Asks how far the active tasks of the thread have come. `number` comes back with the answer."""

    number: int


@dataclass(frozen=True, slots=True)
class OtherTasks:
    """The answer to AskOtherTasks: what each of the others has pickled."""

    number: int
    tasks: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class AnswerError:
    """The answer to an error of the thread."""

    answer: OnUncaughtError


@dataclass(frozen=True, slots=True)
class ThreadChanged:
    """The state of the thread, its tasks, those commits that were not told yet, and the hosts that answer queries.

    `standby_tasks`: with the input offsets that their stores cover.
    """

    state: ThreadState
    active_tasks: frozenset[StreamsTaskId]
    reports: Mapping[StreamsTaskId, TaskReport]
    known_hosts: KnownHosts
    standby_tasks: Mapping[StreamsTaskId, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class AskOtherTasks:
    """The thread asks how far the tasks of all other threads of its instance have come.

    `number` comes back with the answer.
    """

    number: int


@dataclass(frozen=True, slots=True)
class ThreadMeasured:
    """The metrics of the thread as they are now; told now and then."""

    metrics: Mapping[MetricName, float]


@dataclass(frozen=True, slots=True)
class ThreadAnswered:
    """The pickled answer of the stores, or the error that asking them has raised."""

    number: int
    results: bytes | None
    error: bytes | None = None


@dataclass(frozen=True, slots=True)
class ThreadFailed:
    """The thread ends with this error, pickled; it waits for the application's answer."""

    error: bytes


@dataclass(frozen=True, slots=True)
class CloseRequested:
    """A function of the application has asked for its end."""


@dataclass(frozen=True, slots=True)
class ThreadLogged:
    """A log record, for the application's own handlers."""

    record: logging.LogRecord


@dataclass(frozen=True, slots=True)
class ThreadEnded:
    """The last message: the thread has ended, and the process does so now."""
