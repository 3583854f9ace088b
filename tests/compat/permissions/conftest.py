"""One Apache Kafka with users for all tests of a process: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compat.permissions.users import KafkaWithUsers, kafka_with_users


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaWithUsers]:
    with kafka_with_users() as running:
        yield running
