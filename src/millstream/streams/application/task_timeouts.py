"""Since when tasks make no progress although they are tried again and again (task.timeout.ms, KIP-572). Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.errors import TaskTimedOut


@dataclass(slots=True)
class TaskTimeouts:
    """Serves the tasks of one stream thread. A failure begins a task's time, progress ends it."""

    timeout_ms: int
    _since_ms: dict[StreamsTaskId, int] = field(default_factory=dict)

    def maybe_init_task_timeout_or_raise(
        self, task: StreamsTaskId, error: Exception, now_ms: int
    ) -> None:
        """Notes a failure after which the task would be tried again. Raises TaskTimedOut once its time is over."""
        since_ms = self._since_ms.setdefault(task, now_ms)
        if now_ms - since_ms >= self.timeout_ms:
            raise TaskTimedOut(
                f"task {task} made no progress within {self.timeout_ms} ms; raise task_timeout_ms if it needs more. The last cause: "
                f"{type(error).__name__}: {error}"
            ) from error

    def clear_task_timeout(self, task: StreamsTaskId) -> None:
        """Notes that the task has committed, has nothing to commit, or is given up."""
        self._since_ms.pop(task, None)
