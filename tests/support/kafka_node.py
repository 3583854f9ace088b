"""One node of Apache Kafka 4.3 in a process of its own, out of MILLSTREAM_KAFKA_CLASSPATH, on directories that it need not have made."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.metadata import MetadataRequest
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient

CLASSPATH: Final = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
NEEDS_KAFKA: Final = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.slow,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]
_TERMINATED: Final = 143
_HEAP: Final = "-Xmx512m"


class KafkaNode(NamedTuple):
    """Its settings as a file, and where it answers."""

    properties: Path
    bootstrap: str

    @property
    def log(self) -> Path:
        return self.properties.with_suffix(".log")


def kafka_node(data: Path, directory: Path, *more: str, static: bool = False) -> KafkaNode:
    """Writes the settings of a combined node with the directory `data`, and `more` lines of them, to a file in `directory`."""
    port, controller_port = free_port(), free_port()
    controller = f"127.0.0.1:{controller_port}"
    properties = directory / "kafka.properties"
    lines = [
        "process.roles=broker,controller",
        "node.id=1",
        f"controller.quorum.voters=1@{controller}"
        if static
        else f"controller.quorum.bootstrap.servers={controller}",
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://{controller}",
        "controller.listener.names=CONTROLLER",
        f"log.dirs={data}",
        *more,
    ]
    properties.write_text("\n".join(lines) + "\n")
    return KafkaNode(properties, f"127.0.0.1:{port}")


@contextmanager
def running(node: KafkaNode) -> Iterator[str]:
    """Gives the bootstrap address once the node answers; ends it by SIGTERM, which must be a clean shutdown."""
    with node.log.open("w") as log:
        process = subprocess.Popen(
            ["java", _HEAP, "-cp", CLASSPATH, "kafka.Kafka", str(node.properties)],
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for(node.bootstrap)
        yield node.bootstrap
    finally:
        process.terminate()
        assert process.wait(LONG_ENOUGH_S) == _TERMINATED, node.log.read_text()[-2_000:]


def run_tool(name: str, *arguments: str) -> str:
    """Runs one of Kafka's tools and returns what it prints."""
    done = subprocess.run(
        ["java", "-cp", CLASSPATH, name, *arguments],
        capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def dumped_metadata(file: Path) -> str:
    """Returns the records of a metadata log or snapshot, as Kafka decodes them."""
    options = ("--cluster-metadata-decoder", "--files", str(file))
    return run_tool("org.apache.kafka.tools.DumpLogSegments", *options)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait_for(bootstrap: str) -> None:
    deadline = time.monotonic() + LONG_ENOUGH_S
    while time.monotonic() < deadline:
        try:
            with RawClient(bootstrap) as client:
                if client.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None)).brokers:
                    return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("Kafka does not answer")
