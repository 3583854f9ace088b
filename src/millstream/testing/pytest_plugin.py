"""Pytest fixtures of Millstream. Imported by every pytest run that has Millstream installed, so it imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from millstream.testing.broker import Broker


@pytest.fixture(scope="session")
def millstream_broker() -> Iterator[Broker]:
    """A running node in this process, shared by the session: use topic and group names of your own."""
    from millstream.testing.broker import Broker

    with Broker() as broker:
        yield broker
