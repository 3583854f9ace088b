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

from tests.integration.spark.standalone_cluster import linked_spark_home
from tests.patience import LONG_ENOUGH_S
from tests.support.kills.orders import VARIABLE, session_of
from tests.support.kills.remains import files_of_hosts, remains

ROOT: Final = Path(__file__).parents[3]
DONE: Final = ("done", "Run is COMPLETED.")
"""What ends the last line of an application, and of a Declarative Pipeline, behind which executors may complain that they end."""


def place_of(directory: Path, master: str) -> str:
    """The executors of a cluster have disks of their own."""
    return str(directory if master.startswith("local[") else directory / "{executor}")


class Run:
    """A module of this package, in a session of its own, so that everything that it starts can be found. `directory`: for stores, orders, temporary files and its log."""

    def __init__(self, directory: Path, module: str, *arguments: str) -> None:
        self.directory = directory
        temporary = directory / "t"
        temporary.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            VARIABLE: str(directory / "orders"),
            "TMPDIR": str(temporary),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        }
        home = directory / "spark"
        if not home.exists():  # Spark writes below it
            linked_spark_home(home)
        environment |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
        with (directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"tests.support.kills.{module}", *arguments],
                stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1, start_new_session=True,
                env=environment, cwd=ROOT,
            )  # fmt: skip

    @classmethod
    def of_application(
        cls,
        shape: str,
        servers: str,
        directory: Path,
        limit: int | None,
        master: str = "local[2]",
        *options: str,
    ) -> Self:
        """A topology of `shapes`. `options` as `application` takes them."""
        place = place_of(directory, master)
        arguments = (shape, servers, place, str(limit or 0), master, *options)
        return cls(directory, "application", *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing goes on, whatever has failed."""
        self.kill()

    def finish(self) -> bool:
        """Waits until it ends by itself. Whether it has done everything."""
        lines = self._output.read().splitlines()
        code = self.process.wait(LONG_ENOUGH_S)
        self._output.close()
        return any(line.endswith(DONE) for line in lines) and code == 0

    def kill(self) -> None:
        """Everything at once; Spark's worker daemon has a process group of its own, but the same session."""
        for pid in session_of(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it ended between listing and killing
        self.process.wait(LONG_ENOUGH_S)
        self._output.close()

    def remains(self) -> list[str]:
        """What is left of it although it was given the time to end."""
        deadline = time.monotonic() + LONG_ENOUGH_S
        while (left := remains(self.process.pid, self.directory)) and time.monotonic() < deadline:
            select.select([], [], [], 0.1)
        return left

    def files_left(self) -> list[str]:
        return files_of_hosts(self.directory / "t")

    @property
    def _output(self) -> IO[str]:
        assert self.process.stdout is not None, "it is a pipe"
        return self.process.stdout
