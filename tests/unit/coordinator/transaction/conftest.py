"""Worlds for the tests of transactions. Fixtures build, they assert nothing."""

from __future__ import annotations

import pytest

from tests.support.coordinators.transactions import SimTransactions


@pytest.fixture
def world() -> SimTransactions:
    """A coordinator at transaction.version 2."""
    return SimTransactions()


@pytest.fixture
def older() -> SimTransactions:
    """A coordinator at transaction.version 0, as after an upgrade of an old cluster."""
    return SimTransactions(level=0)
