"""A disk that stands still: whoever syncs waits, in the thread that it does so."""

from __future__ import annotations

import asyncio
import threading

from tests.support.simulated_disk import SimFileSystem

PATIENCE_S = 10.0


class StandingDisk(SimFileSystem):
    """Syncs wait until it `may_go`, and then fail if it `is_broken`."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go = threading.Event()
        self.may_go.set()
        self._waits = threading.Event()
        self.is_broken = False
        self.failing_syncs = self._wait

    def stand_still(self) -> None:
        self._waits.clear()
        self.may_go.clear()

    async def until_somebody_waits(self) -> None:
        assert await asyncio.to_thread(self._waits.wait, PATIENCE_S), "nobody syncs"

    def _wait(self, _path: str) -> bool:
        if not self.may_go.is_set():
            self._waits.set()
            assert self.may_go.wait(PATIENCE_S), "a test lets the disk go on"
        return self.is_broken
