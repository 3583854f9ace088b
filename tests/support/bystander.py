"""A well-behaved client beside an attack, in a process of its own: `python -m tests.support.bystander HOST:PORT REST_S`.

It writes one record after the other to the topic `bystander` with acks=all and asks for the topic's metadata, with a rest of REST_S
seconds between, and measures how long each answer takes. Each line on standard input is answered by one line of JSON: what came since
the last one. It ends with its input.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.clients.raw_client import RawClient, batch_of

TOPIC = "bystander"


class Bystander:
    """One connection. `run` never returns; `take` is called from another thread."""

    def __init__(self, bootstrap: str, rest_s: float) -> None:
        self._client = RawClient(bootstrap)
        self._client.create_topic(TOPIC)
        self._rest_s = rest_s
        self._latencies_ms: list[float] = []
        self._acknowledged = 0

    def run(self) -> None:
        while True:
            self._write_one()
            self._ask_metadata()
            time.sleep(self._rest_s)

    def _write_one(self) -> None:
        value = b"%d" % self._acknowledged
        begin = time.perf_counter()
        answer = self._client.produce(TOPIC, batch_of(value))
        self._note(begin)
        if answer.error_code:
            raise AssertionError(f"the bystander's record was refused: {answer}")
        self._acknowledged += 1

    def _ask_metadata(self) -> None:
        begin = time.perf_counter()
        request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        answer = self._client.ask(ApiKey.METADATA, 12, request)
        self._note(begin)
        if answer.topics[0].error_code:
            raise AssertionError(f"the bystander's topic is not there: {answer}")

    def _note(self, begin: float) -> None:
        self._latencies_ms.append((time.perf_counter() - begin) * 1_000)

    def take(self) -> dict[str, Any]:
        latencies, self._latencies_ms = sorted(self._latencies_ms), []
        return {
            "acknowledged": self._acknowledged,
            "answers": len(latencies),
            "p50_ms": _at(latencies, 0.5),
            "p99_ms": _at(latencies, 0.99),
            "max_ms": _at(latencies, 1.0),
        }


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else float("inf")


def _main(bootstrap: str, rest_s: float) -> None:
    bystander = Bystander(bootstrap, rest_s)
    threading.Thread(target=bystander.run, daemon=True).start()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(bystander.take()), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1], float(sys.argv[2]))
