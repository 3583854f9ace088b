"""A task host in a thread of this process in place of Spark's jobs: the same driver and the same tasks, ten times as fast.

Finds differences where thousands of cases are run; what Spark, its workers and the sockets between them do is left out.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Self

from millstream.runtime.system import SystemClock
from millstream.spark.pipeline.host import TaskHost
from millstream.spark.pipeline.hosted_application import HostedApplication, digest_of
from millstream.spark.pipeline.messages import Reply, RunTask, RunTasks


class Hosts:
    """One task host. `jobs` makes what an application takes for its jobs on Spark. A context manager."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="task host")
        self._thread.start()
        self._host = TaskHost(SystemClock())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self._host.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def jobs(self, _session: object, application: HostedApplication) -> HostJobs:
        return HostJobs(self, self._host, application)

    def forget_clients(self) -> None:
        """They know topics that the next case makes anew."""
        self.call(self._host.close())
        self._host = TaskHost(SystemClock())


class HostJobs:
    """What `TaskJobs` is to an application."""

    def __init__(self, hosts: Hosts, host: TaskHost, application: HostedApplication) -> None:
        pickled = application.pickled()
        self.digest = digest_of(pickled)
        self.places: Mapping[tuple[int, int], str] = {}
        self._name = application.config.application_id
        self._hosts, self._host = hosts, host
        host.take(self.digest, pickled)

    def run(self, requests: Sequence[RunTask], _description: str) -> list[Reply]:
        request = RunTasks(self._name, self.digest, tuple(requests))
        return list(self._hosts.call(self._host.run(request)))

    def close(self) -> None:
        self._hosts.call(self._host.close_tasks(self._name))
