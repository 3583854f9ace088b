from __future__ import annotations

from tests.sim.raft_world import memory_log, raft_world

__all__ = ["memory_log", "raft_world"]
