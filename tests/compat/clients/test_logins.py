"""Other people's clients log in, by every mechanism that they have, and are told when they may not."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider as AioTokenProvider
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient

with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", DeprecationWarning
    )  # its loader of schemas uses what Python deprecates
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.net.sasl.oauth import AbstractTokenProvider

from tests.patience import LONG_ENOUGH_S
from tests.support.sasl_node import MECHANISMS, PASSWORD, USER, SaslNode, sasl_node

pytestmark = [
    pytest.mark.compat,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslNode]:
    with sasl_node(tmp_path_factory.mktemp("node")) as running:
        yield running


class KafkaPythonTokens(AbstractTokenProvider):
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        return self._token

    def extensions(self) -> dict[str, str]:
        return {"logicalCluster": "lkc-1"}


class AioTokens(AioTokenProvider):
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token


# librdkafka


def librdkafka(node: SaslNode, mechanism: str, token: str, **more: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap.servers": node.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": mechanism,
    }
    if mechanism == "OAUTHBEARER":
        settings["oauth_cb"] = lambda _config: (
            token,
            time.time() + 600,
            USER,
            {"logicalCluster": "lkc-1"},
        )
    else:
        settings |= {"sasl.username": USER, "sasl.password": PASSWORD}
    return {**settings, **more}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_logs_in(node: SaslNode, mechanism: str, topic: str) -> None:
    token = node.issuer.token()
    producer = Producer(librdkafka(node, mechanism, token))
    producer.produce(topic, b"value")
    assert producer.flush(LONG_ENOUGH_S) == 0
    reader = Consumer(
        librdkafka(node, mechanism, token, **{"group.id": topic, "auto.offset.reset": "earliest"})
    )
    reader.subscribe([topic])
    try:
        message = reader.poll(LONG_ENOUGH_S)
        assert message is not None
        assert message.value() == b"value"
    finally:
        reader.close()


@pytest.mark.parametrize(
    ("mechanism", "changes"),
    [
        *((each, {"sasl.password": "wrong"}) for each in MECHANISMS[:3]),
        *((each, {"sasl.username": "nobody"}) for each in MECHANISMS[:3]),
        ("OAUTHBEARER", {}),
    ],
)
def test_librdkafka_is_told_that_it_may_not(
    node: SaslNode, mechanism: str, changes: dict[str, str]
) -> None:
    told: list[KafkaError] = []
    expired = node.issuer.token(lifetime_s=-100)
    client = AdminClient(librdkafka(node, mechanism, expired, **changes, error_cb=told.append))
    end = time.monotonic() + LONG_ENOUGH_S
    while not any(error.code() == KafkaError._AUTHENTICATION for error in told):
        assert time.monotonic() < end, told
        client.poll(0.05)


# kafka-python


def kafka_python(node: SaslNode, mechanism: str, token: str, **more: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap_servers": node.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
    }
    if mechanism == "OAUTHBEARER":
        settings["sasl_oauth_token_provider"] = KafkaPythonTokens(token)
    else:
        settings |= {"sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
    return {**settings, **more}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_logs_in(node: SaslNode, mechanism: str, topic: str) -> None:
    settings = kafka_python(node, mechanism, node.issuer.token())
    producer = KafkaProducer(**settings)
    try:
        producer.send(topic, b"value").get(LONG_ENOUGH_S)
    finally:
        producer.close()
    reader = KafkaConsumer(topic, auto_offset_reset="earliest", **settings)
    try:
        assert next(reader).value == b"value"
    finally:
        reader.close()


REFUSED = """
import json, sys
from kafka import KafkaProducer
from kafka.errors import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider

class Tokens(AbstractTokenProvider):
    def token(self):
        return sys.argv[2]

settings = json.loads(sys.argv[1])
if sys.argv[2]:
    settings["sasl_oauth_token_provider"] = Tokens()
try:
    KafkaProducer(**settings, bootstrap_timeout_ms=300)
except KafkaError as error:
    print("refused", error)
"""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_does_not_get_in(node: SaslNode, mechanism: str) -> None:
    """In a process of its own: kafka-python 3.0 leaves the sockets of refused connections to the garbage collector, which says so later."""
    token = node.issuer.token(aud="somebody") if mechanism == "OAUTHBEARER" else ""
    settings = kafka_python(node, mechanism, "", sasl_plain_password="wrong")
    settings.pop("sasl_oauth_token_provider", None)
    command = [sys.executable, "-W", "ignore", "-c", REFUSED, json.dumps(settings), token]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=True
    )
    assert ended.stdout.startswith("refused"), ended.stderr


# aiokafka


def aiokafka(node: SaslNode, mechanism: str, token: str, **more: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap_servers": node.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
    }
    if mechanism == "OAUTHBEARER":
        settings["sasl_oauth_token_provider"] = AioTokens(token)
    else:
        settings |= {"sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
    return {**settings, **more}


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_aiokafka_logs_in(node: SaslNode, mechanism: str, topic: str) -> None:
    settings = aiokafka(node, mechanism, node.issuer.token())
    async with AIOKafkaProducer(**settings) as producer:
        await producer.send_and_wait(topic, b"value")
    async with AIOKafkaConsumer(**settings) as reader:
        reader.assign([TopicPartition(topic, 0)])
        await reader.seek_to_beginning()
        assert (await reader.getone()).value == b"value"


@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
async def test_aiokafka_is_told_that_it_may_not(node: SaslNode, mechanism: str) -> None:
    producer = AIOKafkaProducer(**aiokafka(node, mechanism, "", sasl_plain_password="wrong"))
    try:
        with pytest.raises(AioKafkaError):
            await producer.start()
    finally:
        await producer.stop()


async def test_aiokafka_gets_no_further_with_a_token_that_is_refused(node: SaslNode) -> None:
    """It does not look at the refusal (RFC 7628, section 3.2.2) and asks for metadata, which it is not told."""
    token = node.issuer.token(iss="https://evil.example")
    producer = AIOKafkaProducer(**aiokafka(node, "OAUTHBEARER", token))
    try:
        await producer.start()
        assert not producer.client.cluster.brokers()
    finally:
        await producer.stop()
