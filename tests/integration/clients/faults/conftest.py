"""A broker that gives up lost group members soon: faults make some. An Apache Kafka wants the same settings."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from millstream.testing.broker import Broker

QUICK_GROUPS = {
    "group.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "5000",
    "group.consumer.min.session.timeout.ms": "5000",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
}


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False, settings={"num.partitions": "1", **QUICK_GROUPS}) as broker:
        yield broker.bootstrap_servers
