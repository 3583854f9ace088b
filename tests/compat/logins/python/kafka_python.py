"""kafka-python's client; ../README.md says what it is asked and what it prints."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any, NoReturn

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider


class Told(logging.Handler):
    """Why a connection failed is in the library's log alone; it goes on trying and raises what says less."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("Bootstrap connection to %s failed") and isinstance(
            record.args, tuple
        ):
            _end(record.args[1])


class Tokens(AbstractTokenProvider):
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        return self._token

    def extensions(self) -> dict[str, str]:
        return {"logicalCluster": "lkc-1"}


def main() -> None:
    asked = json.load(sys.stdin)
    logger = logging.getLogger("kafka.net")
    logger.addHandler(Told())
    logger.propagate = False
    try:
        _write(asked)
        print("written", flush=True)
        _read(asked)
        print("read", flush=True)
    except KafkaError as error:
        _end(error)


def _write(asked: dict[str, Any]) -> None:
    producer = KafkaProducer(**_settings(asked))
    producer.send(asked["topic"], asked["value"].encode()).get(asked["timeoutS"])
    producer.close()


def _read(asked: dict[str, Any]) -> None:
    consumer = KafkaConsumer(auto_offset_reset="earliest", **_settings(asked))
    consumer.assign([TopicPartition(asked["topic"], 0)])
    while next(consumer).value != asked["value"].encode():
        pass
    consumer.close()


def _end(error: object) -> NoReturn:
    print(f"refused {error}", flush=True)
    os._exit(0)


def _settings(asked: dict[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap_servers": asked["servers"],
        "security_protocol": asked["protocol"],
    }
    if asked.get("authority"):
        settings["ssl_cafile"] = asked["authority"]
    if asked.get("certificate"):
        settings["ssl_certfile"] = settings["ssl_keyfile"] = asked["certificate"]
    if asked.get("mechanism"):
        settings["sasl_mechanism"] = asked["mechanism"]
    if asked.get("token"):
        settings["sasl_oauth_token_provider"] = Tokens(asked["token"])
    elif asked.get("user"):
        settings |= {"sasl_plain_username": asked["user"], "sasl_plain_password": asked["password"]}
    return settings


main()
