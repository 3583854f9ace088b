"""librdkafka's client, by confluent-kafka; ../README.md says what it is asked and what it prints."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final, NoReturn

from confluent_kafka import Consumer, KafkaError, Producer

_POLL_S: Final = 0.02
_TOKEN_LIFETIME_S: Final = 600


def main() -> None:
    asked = json.load(sys.stdin)
    end = time.monotonic() + asked["timeoutS"]
    _write(asked, end)
    print("written", flush=True)
    _read(asked, end)
    print("read", flush=True)


def _write(asked: dict[str, Any], end: float) -> None:
    producer = Producer(_settings(asked))
    producer.produce(
        asked["topic"], asked["value"], on_delivery=lambda error, _: error and _end(error)
    )
    _wait(lambda: producer.flush(_POLL_S) == 0, end)


def _read(asked: dict[str, Any], end: float) -> None:
    own = {"group.id": asked["topic"], "auto.offset.reset": "earliest"}
    consumer = Consumer({**_settings(asked), **own})
    consumer.subscribe([asked["topic"]])

    def is_found() -> bool:
        message = consumer.poll(_POLL_S)
        if message is None:
            return False
        if message.error():
            _end(message.error())
        return bool(message.value() == asked["value"].encode())

    _wait(is_found, end)
    consumer.close()


def _wait(is_done: Callable[[], bool], end: float) -> None:
    while not is_done():
        if time.monotonic() > end:
            _end("nothing said in time")


def _end(error: object) -> NoReturn:
    """Ends at once: the library itself would go on trying."""
    said = f"{error.name()}: {error.str()}" if isinstance(error, KafkaError) else error
    print(f"refused {said}", flush=True)
    os._exit(0)


def _settings(asked: dict[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap.servers": asked["servers"],
        "security.protocol": asked["protocol"],
        "error_cb": _end,
        "broker.address.family": "v4",
        "log_level": 0,
    }
    if asked.get("authority"):
        settings["ssl.ca.location"] = asked["authority"]
    if asked.get("certificate"):
        settings["ssl.certificate.location"] = settings["ssl.key.location"] = asked["certificate"]
    if asked.get("mechanism"):
        settings["sasl.mechanisms"] = asked["mechanism"]
    if asked.get("token"):
        shown = (asked["token"], time.time() + _TOKEN_LIFETIME_S, "", {"logicalCluster": "lkc-1"})
        settings["oauth_cb"] = lambda _: shown
    elif asked.get("user"):
        settings |= {"sasl.username": asked["user"], "sasl.password": asked["password"]}
    return settings


main()
