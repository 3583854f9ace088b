"""Throws broken TLS at the server's end of connections: `python -m tests.fuzz.tls --count 1000000 --seed 1`, a count of flights.

An honest client of OpenSSL makes the bytes, on both sides of the handshake and of the first request; one flight in three is broken, cut,
or comes from another connection. A run fails when anything but an OSError is raised, a step takes longer than `SLOW_S`, memory
grows, or what an honest client sent arrives as something else.
"""

from __future__ import annotations

import argparse
import random
import socket
import ssl
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from millstream.net.server.tls_socket import TlsSocket
from millstream.net.tls_contexts import client_context, load_stores, server_context
from millstream.security.tls.stores import StoreSettings
from millstream.security.tls.tls_settings import ClientAuth, TlsSettings
from tests.fuzz.requests import BREAKAGES
from tests.integration.clients.security.certificates import Authority

SLOW_S: Final = 1.0
_KEPT: Final = 64
"""Flights of earlier connections that come again."""
_ROUNDS_MAX: Final = 6
_BUFFER_BYTES: Final = 1 << 18
REQUEST: Final = b"request" * 1000


@dataclass
class Report:
    """`findings` are sentences; empty when all is well."""

    flights: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    grown_mb: float = 0.0

    def __str__(self) -> str:
        told = ", ".join(f"{count} {what}" for what, count in sorted(self.outcomes.items()))
        return f"{self.flights} flights: {told}; memory grew by {self.grown_mb:.0f} MB; {len(self.findings)} findings"


class _Client:
    """An honest client whose bytes go nowhere by themselves."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out)
        self.is_through = False

    def flight(self, answer: bytes) -> bytes:
        """Returns what it sends next. Raises OSError where the answer is broken."""
        self._in.write(answer)
        try:
            if not self.is_through:
                self._tls.do_handshake()
                self.is_through = True
            self._tls.write(REQUEST)
        except ssl.SSLWantReadError:
            pass
        return self._out.read()


class _Thrower:
    def __init__(self, report: Report, seed: int, directory: Path) -> None:
        self._report = report
        self._random = random.Random(seed)
        self._kept: list[bytes] = []
        authority = Authority(directory)
        certificate = authority.issue("broker")
        stores = load_stores(
            StoreSettings(
                keystore_type="PEM", keystore_location=str(certificate), truststore_type="PEM", truststore_location=str(authority.path)
            )
        )  # fmt: skip
        self._servers = [
            server_context(
                TlsSettings(listener="FUZZ", stores=stores.settings, client_auth=each), stores
            )
            for each in ClientAuth
        ]
        self._clients = [
            client_context(
                TlsSettings(
                    listener="FUZZ", stores=stores.settings, versions=(each,), checks_host=False
                ),
                stores,
            )
            for each in ("TLSv1.2", "TLSv1.3")
        ]
        self._target = memoryview(bytearray(_BUFFER_BYTES))

    def one_connection(self) -> None:
        here, there = socket.socketpair()
        here.setblocking(False)
        there.setblocking(False)
        with there:
            server = TlsSocket(here, self._random.choice(self._servers))
            try:
                self._talk(server, there, _Client(self._random.choice(self._clients)))
            except OSError as error:
                self._report.outcomes[type(error).__name__] += 1
            except Exception as error:  # noqa: BLE001 - a finding
                self._report.findings.append(f"{error!r} left the socket")
            finally:
                server.close()

    def _talk(self, server: TlsSocket, there: socket.socket, client: _Client) -> None:
        is_through, answer, received = False, b"", b""
        for _ in range(_ROUNDS_MAX):
            there.sendall(self._broken(client.flight(answer)))
            self._report.flights += 1
            started = time.thread_time()
            try:
                if not is_through:
                    server.do_handshake()
                    is_through = True
                while count := server.recv_into(self._target):
                    received += self._target[:count]
            except (BlockingIOError, ssl.SSLWantReadError):
                pass
            if time.thread_time() - started > SLOW_S:
                self._report.findings.append("a flight took too long")
            answer = _all_of(there)
        if not (REQUEST * _ROUNDS_MAX).startswith(received):
            self._report.findings.append(f"something else arrived: {received[:100]!r}")
        self._report.outcomes["received" if received else "nothing received"] += 1

    def _broken(self, flight: bytes) -> bytes:
        chance = self._random
        if not flight or chance.random() < 2 / 3:
            if len(self._kept) < _KEPT:
                self._kept.append(flight)
            else:
                self._kept[chance.randrange(_KEPT)] = flight
            return flight
        if self._kept and chance.random() < 0.2:
            return chance.choice(self._kept)
        return bytes(chance.choice(BREAKAGES)(bytearray(flight), chance))


def _all_of(there: socket.socket) -> bytes:
    found = b""
    try:
        while piece := there.recv(_BUFFER_BYTES):
            found += piece
    except BlockingIOError:
        pass
    return found


def throw(count: int, seed: int) -> Report:
    report = Report()
    settled_bytes = 0
    with tempfile.TemporaryDirectory(prefix="millstream-fuzz-") as directory:
        thrower = _Thrower(report, seed, Path(directory))
        while report.flights < count:
            thrower.one_connection()
            if not settled_bytes and report.flights > count // 5:
                settled_bytes = psutil.Process().memory_info().rss
    report.grown_mb = (psutil.Process().memory_info().rss - settled_bytes) / 1e6
    return report


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--growth-mb", type=float, default=50.0)
    options = parser.parse_args(arguments)
    report = throw(options.count, options.seed)
    if report.grown_mb > options.growth_mb:
        report.findings.append(f"memory grew by {report.grown_mb:.0f} MB")
    for finding in report.findings[:20]:
        sys.stdout.write(f"{finding}\n\n")
    sys.stdout.write(f"{report}\n")
    return 1 if report.findings else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
