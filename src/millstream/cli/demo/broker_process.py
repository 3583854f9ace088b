"""A node of our own for the demo, in a process of its own, as a user would start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from millstream.errors import MillstreamError

_STOP_TIMEOUT_S: Final = 15
"""A node gives its leadership away within 10 s, and answers what was asked within 5 s."""


class NodeDidNotStart(MillstreamError):
    """The node ended before it was ready; the message ends with what it said."""


class BrokerProcess:
    """`millstream server --port 0 --data DIRECTORY` for as long as the block runs."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._log = directory / "server.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
                [
                    sys.executable,
                    "-m",
                    "millstream.cli.main",
                    "server",
                    "--port",
                    "0",
                    "--data",
                    str(directory / "data"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C is for us; the node is stopped after the work that needs it
            )
        self.bootstrap_servers = self._wait_until_ready()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _wait_until_ready(self) -> str:
        """The line `millstream ready bootstrap=HOST:PORT ...`; the end of output means that the node has ended."""
        assert self._process.stdout is not None, "asked for above"
        for line in self._process.stdout:
            if line.startswith("millstream ready "):
                fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
                return fields["bootstrap"]
        self._process.wait()
        said = self._log.read_text(errors="replace").strip().splitlines()
        raise NodeDidNotStart(f"the node did not start: {said[-1] if said else 'it said nothing'}")
