"""One broker with logins and access rules for all tests of a process: ours, or Apache Kafka with `make oracle-rights`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.compat.permissions.users import KafkaWithUsers, kafka_with_users, ours_with_users
from tests.integration.streams.application.conftest import SOON

ON_KAFKA = os.environ.get("MILLSTREAM_RIGHTS_ON_KAFKA") == "1"


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaWithUsers]:
    with kafka_with_users(SOON) if ON_KAFKA else ours_with_users(SOON) as running:
        yield running
