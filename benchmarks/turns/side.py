"""A process that measures one side: started with the product of one checkout first on its path, told what to do over pipes.

It is a session of its own, so that whatever it starts (brokers, a JVM, task hosts) can be ended with it.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from benchmarks.turns.cpu_clock import session_processes
from benchmarks.turns.ratios import Slice

_ANSWER_TIMEOUT_S: Final = 300
"""A session of Spark, started beside another one on a busy machine, takes half a minute."""
_END_TIMEOUT_S: Final = 30
_MEMORY: Final = Path("/dev/shm")
_DATA_BYTES: Final = 4 << 30
"""Both sides write 1 GB in a round, at most, which goes when it ends."""


class SideFailed(Exception):
    """A side cannot measure a row; the message is which one, and the last thing that it said."""


class Side:
    """A context manager; `order` and `answer` are apart so that two sides can prepare at the same time."""

    def __init__(self, name: str, code: Path, product: Path, group: str, number: int) -> None:
        """`code`: the folder that holds benchmarks/, of which both sides run the same. `number`: of the round."""
        self._name = name
        self._data = tempfile.mkdtemp(prefix="turns-", dir=place_for_data())
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.turns.worker", group, str(product), str(number)],
            cwd=code,
            env=environment(product, number) | {"TMPDIR": self._data},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Of the process, and of its session."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None, "standard input is a pipe"
        assert self._process.stdout is not None, "standard output is a pipe"
        with suppress(OSError):  # it has ended already
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_TIMEOUT_S if error is None else 1)
        for pid in session_processes(self.pid):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()
        shutil.rmtree(self._data, ignore_errors=True)  # what a killed broker leaves is memory

    def order(self, **what: str) -> None:
        """Raises SideFailed when the process has ended."""
        assert self._process.stdin is not None, "standard input is a pipe"
        try:
            self._process.stdin.write(json.dumps(what).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._failed() from None

    def answer(self) -> Mapping[str, Any]:
        """Raises SideFailed when there is none."""
        output = self._process.stdout
        assert output is not None, "standard output is a pipe"
        if not select.select([output], [], [], _ANSWER_TIMEOUT_S)[0]:
            raise SideFailed(f"{self._name}: no answer within {_ANSWER_TIMEOUT_S} s")
        line = output.readline()
        if not line:
            raise self._failed()
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def measure(self, row: str) -> Slice:
        self.order(measure=row)
        return Slice(**self.answer())

    def _failed(self) -> SideFailed:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_TIMEOUT_S)  # it writes its traceback as it ends
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        said = lines[-1] if lines else f"ended with {self._process.returncode}"
        return SideFailed(f"{self._name}: {said}")


def environment(product: Path, number: int) -> dict[str, str]:
    """Both sides of a round get the same hash seed, each round another one: the order of sets is an accident of a start."""
    return os.environ | {
        "PYTHONPATH": str(product),
        "PYTHONHASHSEED": str(number),
        "PYTHONSAFEPATH": "",  # the benchmark code is found in the current folder
    }


def place_for_data() -> str:
    """Memory, where there is enough: a disk that others write to costs a broker four times as much for a request of 1 MB."""
    has_room = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _DATA_BYTES
    return str(_MEMORY) if has_room else tempfile.gettempdir()
