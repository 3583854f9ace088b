"""One node of a cluster as a child process: starts `millstream server`, reads what it says, and passes on signals.

The child ends with its parent, also when that is killed: it stops at the end of its input, which is a pipe that only
the parent holds. If it is paused then, the system wakes it (`cli/server/child_process.py`): with the end of the thread
that started it, so that is the thread that waits for its end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Final

from millstream.broker.config.sources import setting_of_variable
from millstream.cli.cluster.layout import OWN_KEYS
from millstream.cli.server.child_process import BROKER_STOPPED

_READY: Final = "millstream ready "
_LAST_WORDS_BYTES: Final = 4_096
"""The last lines of a log, a traceback among them."""


@dataclass(frozen=True, slots=True)
class NodeReady:
    """The node answers."""

    node_id: int


@dataclass(frozen=True, slots=True)
class BrokerStopped:
    """The broker of the node has stopped, its controller goes on."""

    node_id: int


@dataclass(frozen=True, slots=True)
class NodeEnded:
    """The process has ended; `code` is negative for the signal that ended it, as in `subprocess`."""

    node_id: int
    code: int

    @property
    def how(self) -> str:
        if self.code >= 0:
            return f"exit code {self.code}"
        return f"killed by {signal.Signals(-self.code).name}"


NodeEvent = NodeReady | BrokerStopped | NodeEnded


class NodeChild:
    """One life of a node. What happens to it is told to `tell`, from a thread of its own."""

    def __init__(
        self,
        node_id: int,
        settings: Path,
        log: Path,
        tell: Callable[[NodeEvent], None],
        overrides: Sequence[str] = (),
    ) -> None:
        """Starts the node with the file `settings`. Raises OSError."""
        self.node_id = node_id
        self.log = log
        self._tell = tell
        command = [sys.executable, "-m", "millstream.cli.main", "server", str(settings)]
        command.append("--controller-until-end-of-input")
        for override in overrides:
            command += ["--override", override]
        started: Future[subprocess.Popen[str]] = Future()
        Thread(
            target=self._live, args=(command, started), name=f"node-{node_id}", daemon=True
        ).start()
        self._process = started.result()

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal; nothing to do when the node has ended."""
        self._process.send_signal(number)

    def end_input(self) -> None:
        """Stops what is not stopped yet."""
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.close()

    def last_words(self) -> str:
        """Returns the last line of its log."""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - _LAST_WORDS_BYTES))
            lines = log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def _live(self, command: Sequence[str], started: Future[subprocess.Popen[str]]) -> None:
        try:
            process = self._start(command)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for it
            started.set_exception(error)
            return
        started.set_result(process)
        output = process.stdout
        assert output is not None, "it is a pipe"
        with output:
            for line in output:
                if line.startswith(_READY):
                    self._tell(NodeReady(self.node_id))
                elif line.rstrip() == BROKER_STOPPED:
                    self._tell(BrokerStopped(self.node_id))
        code = process.wait()
        assert process.stdin is not None, "it is a pipe"
        process.stdin.close()
        self._tell(NodeEnded(self.node_id, code))

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        with self.log.open("ab") as errors:
            return subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_environment(os.environ),
                process_group=0,  # Ctrl-C is for the parent, which stops its nodes in order
                text=True,
                errors="replace",
            )


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Without variables for what differs from node to node: they would make all nodes one."""
    return {
        variable: value
        for variable, value in given.items()
        if not (variable.startswith("KAFKA_") and setting_of_variable(variable) in OWN_KEYS)
    }
