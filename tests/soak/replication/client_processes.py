"""The six clients of `clients/README.md` as processes, and what they have said as a history."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Self

from millstream.model import TopicPartition
from millstream.testing import History
from millstream.testing.history import Read, Send
from tests.soak.cluster.world import LIMIT_S
from tests.support.kafka_node import CLASSPATH

PARTITIONS: Final = 3
_PROGRAMS: Final = Path(__file__).parent / "clients"
_ROOT: Final = Path(__file__).parents[3]
_BUILD_S: Final = 300.0
"""The first build of the Go program compiles its library, too."""


class NotAvailable(Exception):
    """The client cannot be run on this machine; it says why."""


def python(make: str) -> Callable[[Path], list[str]]:
    return lambda _: [sys.executable, "-m", "tests.soak.replication.clients.python_clients", make]


def java(_: Path) -> list[str]:
    if not CLASSPATH:
        raise NotAvailable("MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka are")
    if shutil.which("javac") is None:
        raise NotAvailable("there is no JDK")
    return ["java", "-XX:TieredStopAtLevel=1", "-Xmx200m", "-cp", CLASSPATH, str(_PROGRAMS / "Client.java")]  # fmt: skip


def franz_go(directory: Path) -> list[str]:
    if shutil.which("go") is None:
        raise NotAvailable("there is no Go")
    program = directory / "franz"
    built = subprocess.run(
        ["go", "build", "-o", str(program), "."],
        cwd=_PROGRAMS / "franz", capture_output=True, text=True, timeout=_BUILD_S, check=False,
    )  # fmt: skip
    if built.returncode:
        raise NotAvailable(f"franz-go cannot be built: {built.stderr[-300:]}")
    return [str(program)]


MAKES: Final[Mapping[str, Callable[[Path], list[str]]]] = {
    "java": java,
    "librdkafka": python("librdkafka"),
    "franz-go": franz_go,
    "kafka-python": python("kafka-python"),
    "aiokafka": python("aiokafka"),
    "ours": python("ours"),
}
"""With how the command of each is found. Raises NotAvailable."""


class ClientProcess:
    """A client that writes one topic and reads another one. A context manager: the process is gone at its end."""

    def __init__(
        self, name: str, command: list[str], servers: str, topics: tuple[str, str], directory: Path
    ) -> None:
        self.name = name
        self.writes, self.reads = topics
        self._command = [*command, servers, name, *topics, str(PARTITIONS)]
        self._said = directory / f"{name}.said"
        self._complained = directory / f"{name}.complained"

    def __enter__(self) -> Self:
        with self._said.open("wb") as said, self._complained.open("wb") as complained:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=said, stderr=complained, text=True,
                cwd=_ROOT, env={**os.environ, "PYTHONPATH": str(_ROOT)},
            )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def lines(self) -> list[list[str]]:
        """Returns the words of each line that it has said."""
        whole = self._said.read_text(errors="replace").split("\n")[:-1]
        return [line.split(" ") for line in whole]

    def count(self) -> Counter[str]:
        """Returns how many lines of each kind it has said."""
        return Counter(words[0] for words in self.lines())

    def errors(self) -> list[str]:
        return [" ".join(words[1:]) for words in self.lines() if words[0] == "E"]

    def goes_on(self) -> None:
        """Returns when more was acknowledged and more was read."""
        before = self.count()
        self._wait(lambda now: now["A"] > before["A"] + 10 and now["R"] > before["R"] + 10)

    def begin_stop(self) -> None:
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.write("stop\n")
        self._process.stdin.flush()

    def wait_until_done(self) -> None:
        self._wait(lambda now: now["DONE"] > 0)

    def has_read(self, ends: Mapping[int, int]) -> None:
        """Returns when it has read each partition up to this offset."""
        deadline = time.monotonic() + LIMIT_S
        while (found := self._positions()) != dict(ends):
            self._check(deadline, f"has read up to {found} of {ends}")
            time.sleep(0.5)

    def leave(self) -> int:
        """Returns the exit code."""
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.close()
        return self._process.wait(LIMIT_S)

    def _positions(self) -> dict[int, int]:
        reads = [words for words in self.lines() if words[0] == "R"]
        return {int(words[1]): int(words[2]) + 1 for words in reads}

    def _wait(self, holds: Callable[[Counter[str]], bool]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not holds(now := self.count()):
            self._check(deadline, f"stands still at {dict(now)}")
            time.sleep(0.5)

    def _check(self, deadline: float, what: str) -> None:
        complained = self._complained.read_text(errors="replace")[-2_000:]
        assert self._process.poll() is None, f"{self.name} has ended: {complained}"
        assert time.monotonic() < deadline, f"{self.name} {what}: {self.errors()} {complained}"

    def tell(self, history: History) -> None:
        """Writes what it has said into a history."""
        sends: dict[str, Send] = {}
        has_moved = False
        for kind, *words in self.lines():
            match kind:
                case "S":
                    partition = TopicPartition(self.writes, int(words[0]))
                    sends[words[1]] = history.send(self.name, partition, words[1].encode())
                case "A":
                    sends[words[2]].acknowledge(int(words[1]))
                case "M":
                    has_moved = True
                case "R":
                    partition = TopicPartition(self.reads, int(words[0]))
                    read = Read(partition, int(words[1]), words[2].encode())
                    history.poll(self.name, [read], moved=has_moved)
                    has_moved = False
