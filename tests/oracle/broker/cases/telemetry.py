"""GetTelemetrySubscriptions and PushTelemetry (KIP-714). Both brokers answer them, though ApiVersions does not list them: Kafka has no
metrics reporter that takes client metrics, and ours has its switch off."""

from __future__ import annotations

import struct
import time

from millstream.records.compression import Codec, compress
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session

METRICS, SET = 16, 0
NOBODY, RESERVED, OWN = bytes(16), bytes(15) + b"\x01", b"0123456789abcdef"
INTERVAL_S = 0.35
"""A little more than the interval that is asked for."""


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


GAUGE = field(1, b"a.b") + field(5, field(1, b"\x21" + struct.pack("<d", 2.5)))
GOOD = field(1, field(2, field(2, GAUGE)))


def subscribe(s: Session, name: str, **configs: str) -> None:
    s.quietly("IncrementalAlterConfigs", 1, resources=[
        {"resource_type": METRICS, "resource_name": s.name(name), "configs": [
            {"name": key.replace("_", "."), "config_operation": SET, "value": value} for key, value in configs.items()]}])  # fmt: skip
    s.settle()


def push(s: Session, note: str, **fields: object) -> None:
    defaults = {"terminating": False, "compression_type": 0, "metrics": GOOD}
    s.ask("PushTelemetry", 0, note, **{**defaults, **fields})


@case("IncrementalAlterConfigs")
def telemetry_without_subscriptions(s: Session) -> None:
    for note, instance in (("first", NOBODY), ("reserved", RESERVED), ("its own", OWN), ("its own again", OWN)):  # fmt: skip
        s.ask("GetTelemetrySubscriptions", 0, note, client_instance_id=instance)
    push(s, "without an id", client_instance_id=NOBODY, subscription_id=1)
    push(s, "of nobody known", client_instance_id=b"ABCDEFGHIJKLMNOP", subscription_id=1)


@case("IncrementalAlterConfigs")
def telemetry_pushes(s: Session) -> None:
    client = s.name("client")
    subscribe(s, "one", metrics="a.b,c", interval_ms="300", match=f"client_id={client}")
    subscribe(s, "other", metrics="x", match="client_software_version=9.*")
    asked = s.ask(
        "GetTelemetrySubscriptions", 0, "first", client_id=client, client_instance_id=NOBODY
    )
    who = {"client_id": client, "client_instance_id": asked.client_instance_id}
    right = {**who, "subscription_id": asked.subscription_id}
    wrong = {**who, "subscription_id": asked.subscription_id ^ 1}
    push(s, "good", **right)
    push(s, "early", **right)
    time.sleep(INTERVAL_S)
    push(s, "of another subscription", **wrong)
    s.ask("GetTelemetrySubscriptions", 0, "after another subscription", **who)
    time.sleep(INTERVAL_S)
    push(s, "unknown compression", **right, compression_type=9)
    s.ask("GetTelemetrySubscriptions", 0, "after unknown compression", **who)
    for codec in Codec:
        time.sleep(INTERVAL_S)
        push(s, codec.name, **right, compression_type=int(codec), metrics=bytes(compress(codec, GOOD)))  # fmt: skip
    for note, changed in (
        ("empty", {"metrics": b""}),
        ("too large", {"metrics": bytes(1_048_577)}),
        ("broken gzip", {"metrics": b"\xff\xff", "compression_type": 1}),
        ("negative compression", {"compression_type": -1}),
    ):
        time.sleep(INTERVAL_S)
        push(s, note, **right, **changed)


@case("IncrementalAlterConfigs")
def telemetry_ends(s: Session) -> None:
    client = s.name("client")
    subscribe(s, "one", metrics="a", interval_ms="100", match=f"client_id={client}")
    asked = s.ask(
        "GetTelemetrySubscriptions", 0, "first", client_id=client, client_instance_id=NOBODY
    )
    who = {"client_id": client, "client_instance_id": asked.client_instance_id}
    subscribe(s, "one", metrics="*")
    push(s, "of the old subscription", **who, subscription_id=asked.subscription_id)
    asked = s.ask("GetTelemetrySubscriptions", 0, "of the new subscription", **who)
    right = {**who, "subscription_id": asked.subscription_id}
    push(s, "terminating", **right, terminating=True)
    push(s, "after terminating", **right)
    push(s, "terminating again", **right, terminating=True)
