"""Logins that never end: `python -m tests.floods.slow_logins ADDRESS AUTHORITY COUNT`. A byte of the first message every few seconds.

Each has finished its handshake of TLS, so only the time for a login bounds it. Who is closed comes back.
"""

from __future__ import annotations

import contextlib
import ssl
import sys
import time
from collections import Counter
from typing import Final

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from tests.floods.answering import answer_lines
from tests.support.clients.raw_client import request_frame
from tests.support.clients.secure_client import SecureClient

_APART_S: Final = 2.0
_FIRST: Final = request_frame(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest("SCRAM-SHA-256"))


class SlowLogins:
    """`run` never returns; `take` is called from another thread."""

    def __init__(self, address: str, authority: str, count: int) -> None:
        self._address = address
        self._context = ssl.create_default_context(cafile=authority)
        self._count = count
        self._open: list[tuple[SecureClient, int]] = []
        self._counts: Counter[str] = Counter()

    def run(self) -> None:
        while True:
            begun = time.monotonic()
            self._open = [
                (client, sent + 1) for client, sent in self._open if self._send(client, sent)
            ]
            while len(self._open) < self._count and time.monotonic() - begun < _APART_S:
                with contextlib.suppress(OSError):
                    self._open.append((SecureClient(self._address, self._context), 0))
            time.sleep(max(begun + _APART_S - time.monotonic(), 0))

    def take(self) -> dict[str, int]:
        taken, self._counts = self._counts, Counter()
        return {**taken, "open": len(self._open)}

    def _send(self, client: SecureClient, sent: int) -> bool:
        """Whether it is still open."""
        try:
            client.send(_FIRST[sent % len(_FIRST) :][:1])
        except OSError:
            client.socket.close()
            self._counts["closed by the node"] += 1
            return False
        self._counts["bytes"] += 1
        return True


if __name__ == "__main__":
    attacker = SlowLogins(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    answer_lines(attacker.run, attacker.take)
