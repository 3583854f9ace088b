"""Brokers in processes of their own, as users run them, and names that no two tests share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from millstream.testing.broker import Broker


@pytest.fixture(scope="session")
def shared_broker() -> Iterator[Broker]:
    """For tests that leave it running."""
    with Broker(in_process=False) as running:
        yield running


@pytest.fixture
def broker() -> Iterator[Broker]:
    """For tests that restart it."""
    with Broker(in_process=False) as running:
        yield running


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"
