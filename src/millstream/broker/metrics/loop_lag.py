"""Measures the lag of the event loop: the time that every client has to wait on top of its own request."""

from __future__ import annotations

import asyncio
from typing import Final

from millstream.broker.metrics.node_metrics import NodeMetrics

_INTERVAL_S: Final = 1
_INTERVAL_NS: Final = _INTERVAL_S * 1_000_000_000


async def watch_loop_lag(metrics: NodeMetrics) -> None:
    """Wakes up once a second and notes how late that was. Runs until it is cancelled."""
    while True:
        begin_ns = metrics.now_ns()
        await asyncio.sleep(_INTERVAL_S)
        late_ns = metrics.now_ns() - begin_ns - _INTERVAL_NS
        metrics.loop_lag.observe(max(late_ns, 0) // 1_000)
