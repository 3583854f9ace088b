from __future__ import annotations

import pytest

from tests.sim.raft_log import MemoryLog


@pytest.fixture
def memory_log() -> type[MemoryLog]:
    return MemoryLog
