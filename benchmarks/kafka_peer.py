"""Apache Kafka beside us: one combined node started from the class path in MILLSTREAM_KAFKA_CLASSPATH.

It answers to the same names as `millstream.testing.Broker`, so that a benchmark drives both with the same lines.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from benchmarks.wire import Connection
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest

CLASSPATH_VARIABLE: Final = "MILLSTREAM_KAFKA_CLASSPATH"
_CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAw"
_START_TIMEOUT_S: Final = 120
_SETTINGS: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class KafkaPeer:
    """A context manager. `restart` after `stop` or `kill` keeps port and data; the heap is 1 GiB."""

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        controller_port: int | None = None,
        tls_port: int | None = None,
    ) -> None:
        """A node among several has `node.id` and `controller.quorum.voters` among its settings, and the port that is its own there.

        With `tls_port` it has a listener SSL there, whose stores are among the settings.
        """
        self.tls_port = tls_port
        self._directory = Path(tempfile.mkdtemp(prefix="kafka-peer-"))
        self._port = free_port()
        self._controller_port = controller_port or free_port()
        self._settings = {**_SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def data(self) -> Path:
        """Where its logs are."""
        return self._directory / "data"

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def __enter__(self) -> Self:
        self.format()
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops the node and removes its data."""
        self.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def format(self) -> None:
        self._write_properties()
        self._java("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c").wait()

    def launch(self) -> None:
        """Starts the process; who needs the node waits for an answer."""
        self._process = self._java("kafka.Kafka")

    def start(self) -> None:
        self.launch()
        wait_for_answer(self.bootstrap_servers, _START_TIMEOUT_S)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def _write_properties(self) -> None:
        tls = f",SSL://127.0.0.1:{self.tls_port}" if self.tls_port else ""
        settings = {
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            **(
                {
                    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL"
                }
                if tls
                else {}
            ),
            **self._settings,
            "listeners": f"PLAINTEXT://127.0.0.1:{self._port},CONTROLLER://127.0.0.1:{self._controller_port}{tls}",
            "log.dirs": str(self.data),
        }
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        (self._directory / "server.properties").write_text(text)

    def _java(self, main_class: str, *arguments: str) -> subprocess.Popen[bytes]:
        properties = str(self._directory / "server.properties")
        with (self._directory / "log").open("ab") as log:
            return subprocess.Popen(
                [
                    "java",
                    "-Xmx1g",
                    "-Xms256m",
                    "-cp",
                    os.environ[CLASSPATH_VARIABLE],
                    main_class,
                    *arguments,
                    properties,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def is_available() -> bool:
    return CLASSPATH_VARIABLE in os.environ and shutil.which("java") is not None


def wait_for_answer(bootstrap: str, timeout_s: float) -> None:
    """Returns when ApiVersions is answered. Raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            connection = Connection(bootstrap, 1 << 16)
        except OSError:
            time.sleep(0.01)
            continue
        try:
            connection.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
        except OSError:
            time.sleep(0.01)
        else:
            return
        finally:
            connection.close()
    raise TimeoutError(f"no answer from {bootstrap} within {timeout_s} s")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
