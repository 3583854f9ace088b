"""One Apache Kafka with users for all tests of a process, and one broker of ours: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compat.permissions.users import KafkaWithUsers, kafka_with_users, ours_with_users


@pytest.fixture(scope="session", params=["Kafka", "ours"])
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaWithUsers]:
    with kafka_with_users() if request.param == "Kafka" else ours_with_users() as running:
        yield running
