"""Who must not notice a flood, in a process of its own: `python -m tests.floods.bystander NODE AUTHORITY ECHO REST_S`.

One client has logged in before and writes a record, reads it, and asks the echo server, with a rest of REST_S seconds after each. Beside
it a newcomer connects, logs in and goes, once a second. Each line on standard input is answered by one line of JSON: how long all of
it took, in milliseconds, since the last one.
"""

from __future__ import annotations

import ssl
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.floods.answering import answer_lines
from tests.support.clients.raw_client import RawClient, batch_of
from tests.support.clients.secure_client import SecureClient

TOPIC: Final = "bystander"
USER, PASSWORD = "alice", "wonder"
ECHOED: Final = b"e" * 100
_NEWCOMERS_APART_S: Final = 1.0


class Bystander:
    """`run` and `come_and_go` never return, and have a thread each; `take` is called from a third."""

    def __init__(self, node: str, authority: str, echo: str, rest_s: float) -> None:
        self._node = node
        self._context = ssl.create_default_context(cafile=authority)
        self._client = self._logged_in()
        self._echo = RawClient(echo)
        self._rest_s = rest_s
        self._written = 0
        self._took_ms: dict[str, list[float]] = {}

    def run(self) -> None:
        threading.Thread(target=self.come_and_go, daemon=True).start()
        while True:
            for name, work in (
                ("produce", self._write),
                ("fetch", self._read),
                ("echo", self._ask_echo),
            ):
                self._measure(name, work)
                time.sleep(self._rest_s)

    def come_and_go(self) -> None:
        while True:
            try:
                self._measure("login", lambda: self._logged_in().socket.close())
            except (OSError, AssertionError):  # shut out, or refused
                self._took_ms.setdefault("login failed", []).append(0.0)
            time.sleep(_NEWCOMERS_APART_S)

    def take(self) -> dict[str, list[float]]:
        taken, self._took_ms = self._took_ms, {}
        return taken

    def _measure(self, name: str, work: Callable[[], object]) -> None:
        begin = time.perf_counter()
        work()
        self._took_ms.setdefault(name, []).append((time.perf_counter() - begin) * 1_000)

    def _logged_in(self) -> SecureClient:
        client = SecureClient(self._node, self._context)
        client.log_in(USER, PASSWORD)
        return client

    def _write(self) -> None:
        answer = self._client.produce(TOPIC, batch_of(b"%d" % self._written))
        assert answer.error_code == 0, answer
        assert answer.base_offset == self._written, answer
        self._written += 1

    def _read(self) -> None:
        asked = FetchPartition(
            partition=0, fetch_offset=self._written - 1, partition_max_bytes=1 << 16
        )
        request = FetchRequest(
            max_wait_ms=0, min_bytes=1, max_bytes=1 << 16, session_epoch=-1,
            topics=[FetchTopic(topic=TOPIC, partitions=[asked])],
        )  # fmt: skip
        answer = self._client.ask(ApiKey.FETCH, 12, request).responses[0].partitions[0]
        assert answer.error_code == 0, answer
        assert answer.records, "what was acknowledged can be read"

    def _ask_echo(self) -> None:
        self._echo.send(ECHOED)
        left = len(ECHOED)
        while left:
            left -= len(self._echo.socket.recv(left))


if __name__ == "__main__":
    bystander = Bystander(*sys.argv[1:4], float(sys.argv[4]))
    answer_lines(bystander.run, bystander.take)
