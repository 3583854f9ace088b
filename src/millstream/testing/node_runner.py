"""Two ways to run a node under a test: a thread of this process, or a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from queue import Empty, Queue
from typing import IO, NamedTuple, Protocol

from millstream.broker.config.broker_config import broker_config
from millstream.broker.node.process import NodeProcess, ReadyReport
from millstream.errors import MillstreamError
from millstream.net.network import event_loop_factory
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

STOP_TIMEOUT_S = 60.0


class NodeFailed(MillstreamError):
    """A node did not start, or did not stop. The message has its own words."""


class ReadyNode(NamedTuple):
    bootstrap: str
    cluster_id: str

    @property
    def port(self) -> int:
        return int(self.bootstrap.rpartition(":")[2])


class NodeRunner(Protocol):
    """One life of a node."""

    @property
    def pid(self) -> int | None: ...
    def start(self, timeout_s: float) -> ReadyNode:
        """Starts the node. Raises NodeFailed, or what the node itself raised."""
        ...

    def stop(self) -> None: ...
    def kill(self) -> None: ...


class ThreadNode:
    """A node with a thread and an event loop of its own in this process."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._config = broker_config(settings)
        self._outcome: Queue[ReadyNode | BaseException | None] = Queue()
        """What the node reports: ready, then at its end None or the exception that ended it."""
        self._process: NodeProcess | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._has_begun = threading.Event()
        self.broker_stopped = threading.Event()
        """Set when the broker of the node serves nothing any more."""
        self._thread = threading.Thread(target=self._run, name="millstream-node", daemon=True)

    @property
    def pid(self) -> int | None:
        return None

    def start(self, timeout_s: float) -> ReadyNode:
        self.begin()
        return self.wait_until_ready(timeout_s)

    def begin(self) -> None:
        """Starts the node, which may need others to get ready."""
        self._thread.start()
        self._has_begun.wait(STOP_TIMEOUT_S)

    def wait_until_ready(self, timeout_s: float) -> ReadyNode:
        """Raises NodeFailed, or what the node itself raised."""
        ready = self._next_outcome(timeout_s)
        assert ready is not None, "the node ended before it was ready"
        return ready

    def stop(self) -> None:
        self.ask(lambda process: process.request_stop())
        self.wait_until_ended()

    def kill(self) -> None:
        self.ask(lambda process: process.request_abort())
        self.wait_until_ended()

    def ask(self, ask: Callable[[NodeProcess], object]) -> None:
        """Has something done on the loop of the node; nothing to do when it has ended."""
        process, loop = self._process, self._loop
        assert process is not None, "the node was not started"
        assert loop is not None, "the node was not started"
        with contextlib.suppress(
            RuntimeError
        ):  # the loop is closed: the node ended by itself, which its outcome tells
            loop.call_soon_threadsafe(ask, process)

    def wait_until_ended(self) -> None:
        """Raises NodeFailed when it does not end, and what ended it unless that was raised before."""
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive():
            raise NodeFailed(f"the node did not end within {STOP_TIMEOUT_S:.0f} s")
        while not self._outcome.empty():
            self._next_outcome(0)

    def _next_outcome(self, timeout_s: float) -> ReadyNode | None:
        try:
            outcome = self._outcome.get(timeout=timeout_s)
        except Empty:
            raise NodeFailed(f"the node said nothing for {timeout_s:.0f} s") from None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=event_loop_factory()) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for it
            self._outcome.put(error)
        else:
            self._outcome.put(None)
        finally:
            self._has_begun.set()  # also where it failed before that: who waits is told at once
            self.broker_stopped.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = NodeProcess(self._config, SystemClock(), SystemRandom(), SystemFileSystem())
        self._has_begun.set()
        telling = self._loop.create_task(self._tell_broker_stopped(self._process))
        try:
            await self._process.run(self._announce)
        finally:
            telling.cancel()

    async def _tell_broker_stopped(self, process: NodeProcess) -> None:
        await process.broker_stopped.wait()
        self.broker_stopped.set()

    def _announce(self, report: ReadyReport) -> None:
        self._outcome.put(ReadyNode(report.bootstrap, report.cluster_id))


class SubprocessNode:
    """`millstream server` as users start it. It ends when this process does."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._command = [
            sys.executable,
            "-m",
            "millstream.cli.main",
            "server",
            "--until-end-of-input",
        ]
        for key, value in settings.items():
            self._command += ["--override", f"{key}={value}"]
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the node
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def start(self, timeout_s: float) -> ReadyNode:
        self._process = subprocess.Popen(  # noqa: S603 - our own command line
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        lines: Queue[bytes] = Queue()
        output = self._process.stdout
        assert output is not None, "standard output is a pipe"
        reader = threading.Thread(target=lambda: lines.put(output.readline()), daemon=True)
        reader.start()
        try:
            line = lines.get(timeout=timeout_s).decode()
        except Empty:
            line = ""
        if not line.startswith("millstream ready "):
            raise NodeFailed(f"the node did not start:\n{self._killed()}")
        told, _, _ = line.partition(" data=")  # a path may have blanks
        fields = dict(field.split("=", 1) for field in told.split()[2:])
        return ReadyNode(fields["bootstrap"], fields["cluster"])

    def stop(self) -> None:
        process = self._running()
        process.terminate()
        try:
            code = process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise NodeFailed(f"the node did not stop:\n{self._killed()}") from None
        errors = self._close(process)
        if code != 0:
            raise NodeFailed(f"the node ended with exit code {code}:\n{errors}")

    def kill(self) -> None:
        self._killed()

    def _killed(self) -> str:
        """Returns what it had written to standard error."""
        process = self._running()
        process.send_signal(signal.SIGKILL)
        process.wait(STOP_TIMEOUT_S)
        return self._close(process)

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the node was not started"
        return self._process

    def _close(self, process: subprocess.Popen[bytes]) -> str:
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None, "both are pipes"
            pipe.close()
        self._errors.seek(0)
        with self._errors:
            return self._errors.read().decode(errors="replace").strip()
