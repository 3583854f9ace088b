"""One broker with logins and access rules for all tests of a process: ours, or Apache Kafka with `make oracle-rights`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.compat.permissions.users import KafkaWithUsers, kafka_with_users, ours_with_users
from tests.integration.streams.application.conftest import SOON

_SOON_HEARD = {
    f"group.{kind}.{setting}": "200"
    for kind in ("consumer", "share")
    for setting in ("heartbeat.interval.ms", "min.heartbeat.interval.ms")
}
"""A member hears of its refusal, or of its assignment, with its next heartbeat."""
ON_KAFKA = os.environ.get("MILLSTREAM_RIGHTS_ON_KAFKA") == "1"


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaWithUsers]:
    settings = SOON | _SOON_HEARD
    with kafka_with_users(settings) if ON_KAFKA else ours_with_users(settings) as running:
        yield running
