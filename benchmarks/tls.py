"""Produce over TLS, ours beside Apache Kafka: one broker each with a listener of TLS 1.3, in turns.

    python -m benchmarks.tls [--seconds 4]

The client is one process with prepared frames, which seals them, too; the processor time is the broker's.
"""

from __future__ import annotations

import argparse
import contextlib
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import kafka_peer
from benchmarks.broker import Result, Workload, better, measured
from benchmarks.kafka_peer import KafkaPeer, free_port
from benchmarks.wire import Connection, cpu_s, create_topic
from millstream.testing.node_runner import SubprocessNode
from tests.integration.clients.security.certificates import Authority

WORKLOADS: Final = (
    Workload("produce 1 MB (1000 x 1 KB) over TLS", 1000, 1000),
    Workload("produce 1 x 100 B over TLS", 1, 100),
    Workload("produce 1 x 100 B over TLS, 1 in flight", 1, 100, in_flight=1),
)
TURNS: Final = 3
_RESPONSE_BYTES_MAX: Final = 1 << 16
_START_TIMEOUT_S: Final = 60.0


class TlsConnection(Connection):
    def __init__(self, address: str, authority: Path) -> None:
        super().__init__(address, _RESPONSE_BYTES_MAX)
        context = ssl.create_default_context(cafile=str(authority))
        self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")


def run(
    address: str, pid: int | None, authority: Path, workload: Workload, seconds: float
) -> Result:
    connection = TlsConnection(address, authority)
    measure = measured([connection], create_topic(connection), workload)
    measure(seconds / 2)
    before = cpu_s(pid)
    requests, moved, took, latencies = measure(seconds)
    used = cpu_s(pid) - before
    connection.close()
    return Result(
        requests / took, moved / took, used / requests * 1e6, used / moved * 1e9, latencies
    )


def stores(certificate: Path) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificate)}


def compare(
    ours: tuple[str, int | None],
    peer: tuple[str, int | None] | None,
    authority: Path,
    seconds: float,
) -> None:
    places: Sequence[tuple[str, tuple[str, int | None]]] = [("ours", ours)]
    if peer is not None:
        places = [*places, ("Kafka", peer)]
    for workload in WORKLOADS:
        found: dict[str, list[Result]] = {name: [] for name, _ in places}
        for _ in range(TURNS):
            for name, (address, pid) in places:
                found[name].append(run(address, pid, authority, workload, seconds))
        print(workload.name)
        for name, results in found.items():
            print(f"  {name:6} {better(results)}", flush=True)
        if peer is not None:
            first, second = (better(each) for each in found.values())
            rate = first.requests_per_s / second.requests_per_s
            print(f"  ratio  {rate:.2f}, CPU {first.cpu_s_per_gb / second.cpu_s_per_gb:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    with contextlib.ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory()))
        authority = Authority(directory)
        settings = stores(authority.issue("broker"))
        port = free_port()
        node = SubprocessNode(
            {
                **settings,
                "listeners": f"PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:{port}",
                "log.dirs": str(directory / "data"),
                "millstream.flush.on.ack": "never",
            }
        )
        node.start(_START_TIMEOUT_S)
        running.callback(node.stop)
        peer = None
        if kafka_peer.is_available():
            kafka = running.enter_context(KafkaPeer(settings, tls_port=free_port()))
            peer = f"127.0.0.1:{kafka.tls_port}", kafka.pid
        compare((f"127.0.0.1:{port}", node.pid), peer, authority.path, options.seconds)


if __name__ == "__main__":
    main()
