"""One run of the application that is killed, with everything that it starts."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Final, Self

from tests.patience import LONG_ENOUGH_S
from tests.support.kills.orders import VARIABLE, stat_of

ROOT: Final = Path(__file__).parents[3]


class Run:
    """In a session of its own, so that everything that it starts can be found. `directory`: for stores, orders, temporary files and its log."""

    def __init__(self, shape: str, servers: str, directory: Path, limit: int) -> None:
        self.directory = directory
        temporary = directory / "t"
        temporary.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            VARIABLE: str(directory / "orders"),
            "TMPDIR": str(temporary),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        }
        with (directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.kills.application", shape, servers, str(directory), str(limit)],
                stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1, start_new_session=True,
                env=environment, cwd=ROOT,
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing goes on, whatever has failed."""
        self.kill()

    def finish(self) -> bool:
        """Waits until it ends by itself. Whether it has done everything."""
        last = self._output.read().rstrip()
        code = self.process.wait(LONG_ENOUGH_S)
        self._output.close()
        return last.endswith("done") and code == 0

    def kill(self) -> None:
        """Everything at once; Spark's worker daemon has a process group of its own, but the same session."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it ended between listing and killing
        self.process.wait(LONG_ENOUGH_S)
        self._output.close()

    def processes(self) -> list[int]:
        return [
            pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_ours(pid)
        ]

    def wait_for_orphans(self) -> list[int]:
        """What is left of it although it was given the time to end."""
        deadline = time.monotonic() + LONG_ENOUGH_S
        while (left := self.processes()) and time.monotonic() < deadline:
            select.select([], [], [], 0.1)
        return left

    def files_left(self) -> list[str]:
        """Files that task hosts have left below the temporary directory; Spark's own are Spark's."""
        return [str(each) for each in (self.directory / "t").glob("millstream-*/*/**/*")]

    @property
    def _output(self) -> IO[str]:
        assert self.process.stdout is not None, "it is a pipe"
        return self.process.stdout

    def _is_ours(self, pid: int) -> bool:
        stat = stat_of(pid)
        return stat is not None and stat[0] != "Z" and int(stat[3]) == self.process.pid
