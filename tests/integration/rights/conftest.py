"""One broker with logins and access rules for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compat.permissions.users import KafkaWithUsers, ours_with_users
from tests.integration.streams.application.conftest import SOON


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaWithUsers]:
    with ours_with_users(SOON) as ours:
        yield ours
