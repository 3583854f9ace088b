"""One node of a cluster under test: a thread of this process, or a process of its own.

Both are started together with others.

A paused node keeps its connections and answers nobody. As a process it gets SIGSTOP; in a thread
its event loop stands still.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from millstream.cli.cluster.node_child import (
    BrokerStopped,
    NodeChild,
    NodeEnded,
    NodeEvent,
    NodeReady,
)
from millstream.runtime.system import SystemClock
from millstream.testing.node_runner import STOP_TIMEOUT_S, NodeFailed, ThreadNode


class ClusterNodeRunner(Protocol):
    """One life of a node, which begins when this is made."""

    @property
    def pid(self) -> int | None: ...
    @property
    def is_paused(self) -> bool: ...
    def wait_until_ready(self, timeout_s: float) -> None:
        """Raises NodeFailed, or what the node itself raised."""
        ...

    def begin_broker_stop(self) -> None:
        """Asks the broker to stop; a controller on the same node goes on."""
        ...

    def wait_until_broker_stopped(self) -> None: ...
    def begin_stop(self) -> None:
        """Asks for the end of the node."""
        ...

    def wait_until_ended(self) -> None:
        """Raises NodeFailed when it does not end, or not in order."""
        ...

    def kill(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


class ClusterThread:
    """A node in a thread of this process, with an event loop of its own."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._node = ThreadNode(settings)
        self._standing_still: threading.Event | None = None
        self._node.begin()

    @property
    def pid(self) -> int | None:
        return None

    @property
    def is_paused(self) -> bool:
        return self._standing_still is not None

    def wait_until_ready(self, timeout_s: float) -> None:
        self._node.wait_until_ready(timeout_s)

    def begin_broker_stop(self) -> None:
        self.resume()
        self._node.ask(lambda process: process.request_broker_stop())

    def wait_until_broker_stopped(self) -> None:
        if not self._node.broker_stopped.wait(STOP_TIMEOUT_S):
            raise NodeFailed(f"the broker did not stop within {STOP_TIMEOUT_S:.0f} s")

    def begin_stop(self) -> None:
        self.resume()
        self._node.ask(lambda process: process.request_stop())

    def wait_until_ended(self) -> None:
        self._node.wait_until_ended()

    def kill(self) -> None:
        self.resume()
        self._node.kill()

    def pause(self) -> None:
        standing_still = threading.Event()
        self._node.ask(lambda _: standing_still.wait())
        self._standing_still = standing_still

    def resume(self) -> None:
        if self._standing_still is not None:
            self._standing_still.set()
            self._standing_still = None


class ClusterProcess:
    """A node in a process of its own, which ends when this process does."""

    def __init__(self, node_id: int, settings: Path, log: Path, overrides: Sequence[str]) -> None:
        self._events: SimpleQueue[NodeEvent] = SimpleQueue()
        self._child = NodeChild(node_id, settings, log, self._events.put, overrides)
        self._ended: NodeEnded | None = None
        self.is_paused = False

    @property
    def pid(self) -> int | None:
        return self._child.pid

    def wait_until_ready(self, timeout_s: float) -> None:
        self._wait_for(NodeReady, timeout_s)
        if self._ended is not None:
            raise NodeFailed(self._told(f"did not start ({self._ended.how})"))

    def begin_broker_stop(self) -> None:
        self.resume()
        self._child.signal(signal.SIGTERM)

    def wait_until_broker_stopped(self) -> None:
        self._wait_for(BrokerStopped, STOP_TIMEOUT_S)

    def begin_stop(self) -> None:
        self.resume()
        self._child.end_input()

    def wait_until_ended(self) -> None:
        self._wait_for(NodeEnded, STOP_TIMEOUT_S)
        if self._ended is not None and self._ended.code != 0:
            raise NodeFailed(
                self._told(f"ended otherwise than it was asked to ({self._ended.how})")
            )

    def kill(self) -> None:
        self._child.signal(signal.SIGKILL)
        self._wait_for(NodeEnded, STOP_TIMEOUT_S)

    def pause(self) -> None:
        self._child.signal(signal.SIGSTOP)
        # Sent is not yet obeyed. WNOWAIT leaves the end of the process to `subprocess`.
        with contextlib.suppress(ChildProcessError):  # whoever waits for its end is told of it
            os.waitid(os.P_PID, self._child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.is_paused = True

    def resume(self) -> None:
        if self.is_paused:
            self._child.signal(signal.SIGCONT)
            self.is_paused = False

    def _wait_for(self, event: type[NodeEvent], timeout_s: float) -> None:
        """Until that event, or the end of the process. Raises NodeFailed."""
        clock = SystemClock()
        deadline_ms = clock.now().monotonic_ms + timeout_s * 1000
        while self._ended is None:
            left_s = (deadline_ms - clock.now().monotonic_ms) / 1000
            try:
                came = self._events.get(timeout=max(0.0, left_s))
            except Empty:
                raise NodeFailed(
                    self._told(f"did not do within {timeout_s:.0f} s what it was asked to")
                ) from None
            if isinstance(came, NodeEnded):
                self._ended = came
            if isinstance(came, event):
                return

    def _told(self, what: str) -> str:
        child = self._child
        return f"node {child.node_id} {what}; the last line of {child.log}: {child.last_words()}"
