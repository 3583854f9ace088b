"""Wrong passwords as fast as they go: `python -m tests.floods.guesses ADDRESS AUTHORITY USER THREADS`; no TLS where AUTHORITY is `-`.

Each guess is a login of SCRAM-SHA-512 up to its proof, which is made up: that costs the guesser nothing, however many iterations the
node asks for.
"""

from __future__ import annotations

import base64
import os
import secrets
import ssl
import sys
import threading
from collections import Counter
from typing import Final

from tests.floods.answering import answer_lines
from tests.support.clients.secure_client import SecureClient

_PROOF_BYTES: Final = 64


class Guesses:
    """`run` never returns; `take` is called from another thread."""

    def __init__(self, address: str, authority: str, user: str, threads: int) -> None:
        self._address = address
        self._context = None if authority == "-" else ssl.create_default_context(cafile=authority)
        self._user = user
        self._threads = threads
        self._counts: Counter[str] = Counter()

    def run(self) -> None:
        for _ in range(self._threads - 1):
            threading.Thread(target=self._guess_on, daemon=True).start()
        self._guess_on()

    def take(self) -> dict[str, int]:
        taken, self._counts = self._counts, Counter()
        return dict(taken)

    def _guess_on(self) -> None:
        while True:
            try:
                with SecureClient(self._address, self._context) as client:
                    self._guess(client)
            except OSError:
                self._counts["closed by the node"] += 1

    def _guess(self, client: SecureClient) -> None:
        client.shake_hands("SCRAM-SHA-512")
        challenge = client.say(f"n,,n={self._user},r={secrets.token_hex(8)}".encode()).decode()
        nonce = challenge.partition(",")[0]
        proof = base64.b64encode(os.urandom(_PROOF_BYTES)).decode()
        try:
            client.say(f"c=biws,{nonce},p={proof}".encode())
        except AssertionError:
            self._counts["refused"] += 1
        else:
            self._counts["let in"] += 1


if __name__ == "__main__":
    attacker = Guesses(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
    answer_lines(attacker.run, attacker.take)
