"""Asks the real Kafka Streams: cases go to the oracle's `run`, and come back with what was to be expected."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

VARIABLE = "MILLSTREAM_STREAMS_ORACLE"
RAM_DISK = Path("/dev/shm")
"""Opening and closing RocksDB is most of what a case costs."""


class OracleMissing(Exception):
    """The environment does not say where the oracle is; the text says what to do."""


class JavaOracle:
    """`refused` has the ids of cases that the oracle's language does not allow."""

    def __init__(self, directory: Path) -> None:
        self._program = directory / "run"
        if not self._program.is_file():
            raise OracleMissing(
                f"{directory} has no program `run`; {VARIABLE} must name the directory with it"
            )
        self.refused: list[str] = []

    @classmethod
    def from_environment(cls) -> JavaOracle:
        directory = os.environ.get(VARIABLE)
        if not directory:
            raise OracleMissing(
                f"set {VARIABLE} to the directory of the streams oracle: its program `run` reads cases and"
                " writes them with what Kafka Streams 4.3.1 did (needs Java 17)"
            )
        return cls(Path(directory))

    def answer(self, cases: list[dict]) -> list[dict]:
        """The cases with `expect`, in order. The oracle stops at a case that it refuses; it is left out."""
        answered: list[dict] = []
        left = cases
        while left:
            done = self._run(left)
            answered += done
            left = left[len(done) :]
            if left:
                self.refused.append(left[0]["id"])
                left = left[1:]
        return answered

    def _run(self, cases: list[dict]) -> list[dict]:
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        with tempfile.TemporaryDirectory(dir=RAM_DISK if RAM_DISK.is_dir() else None) as directory:
            environment = {**os.environ, "JDK_JAVA_OPTIONS": f"-Djava.io.tmpdir={directory}"}
            ran = subprocess.run(
                [self._program],
                input=lines,
                capture_output=True,
                text=True,
                check=False,
                env=environment,
            )
        done = [json.loads(line) for line in ran.stdout.splitlines()]
        if not done and ran.returncode and "of spec" not in ran.stderr:
            raise OracleMissing(f"{self._program} failed:\n{ran.stderr[-2000:]}")
        return done
