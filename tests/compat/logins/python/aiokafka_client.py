"""aiokafka's client; ../README.md says what it is asked and what it prints."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError
from aiokafka.helpers import create_ssl_context


class Told(logging.Handler):
    """Why a connection failed is in the library's log alone; what it raises says less."""

    reason = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("Unable connect"):
            self.reason = self.reason or record.getMessage()


class Tokens(AbstractTokenProvider):
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token


async def main() -> None:
    asked = json.load(sys.stdin)
    told = Told()
    logging.getLogger("aiokafka").addHandler(told)
    logging.getLogger("aiokafka").propagate = False
    try:
        async with asyncio.timeout(asked["timeoutS"]):
            await _write(asked)
            print("written")
            await _read(asked)
            print("read")
    except KafkaError as error:
        print(f"refused {type(error).__name__}: {told.reason or error}")
    except TimeoutError:
        print("refused nothing said in time")


async def _write(asked: dict[str, Any]) -> None:
    producer = AIOKafkaProducer(**_settings(asked))
    try:
        await producer.start()
        if not producer.client.cluster.brokers():
            raise KafkaError(
                "it knows of no broker"
            )  # looked at no refusal, and would go on asking
        await producer.send_and_wait(asked["topic"], asked["value"].encode())
    finally:
        await producer.stop()


async def _read(asked: dict[str, Any]) -> None:
    consumer = AIOKafkaConsumer(auto_offset_reset="earliest", **_settings(asked))
    consumer.assign([TopicPartition(asked["topic"], 0)])
    try:
        await consumer.start()
        while (await consumer.getone()).value != asked["value"].encode():
            pass
    finally:
        await consumer.stop()


def _settings(asked: dict[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap_servers": asked["servers"],
        "security_protocol": asked["protocol"],
    }
    if asked.get("authority"):
        shown = asked.get("certificate")
        settings["ssl_context"] = create_ssl_context(
            cafile=asked["authority"], certfile=shown, keyfile=shown
        )
    if asked.get("mechanism"):
        settings["sasl_mechanism"] = asked["mechanism"]
    if asked.get("token"):
        settings["sasl_oauth_token_provider"] = Tokens(asked["token"])
    elif asked.get("user"):
        settings |= {"sasl_plain_username": asked["user"], "sasl_plain_password": asked["password"]}
    return settings


asyncio.run(main())
