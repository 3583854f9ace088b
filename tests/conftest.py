"""What holds for every test."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.quarantine import quarantine

# Nothing here may depend on how fast the machine is today: no deadline for an example, none for drawing its data.
settings.register_profile("millstream", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("millstream")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    quarantine(items)
