"""Writes the fetch metrics of a worker process into their topic. What fails there is logged, and never fails a task."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext

from millstream.errors import MillstreamError
from millstream.spark.connections import Connections
from millstream.spark.source.fetch_metrics import FetchMetrics, FetchMetricsOptions

if TYPE_CHECKING:
    from millstream.clients import Producer

_LOGGER = logging.getLogger(__name__)
_WAIT_S: Final = 2.0
"""The task waits for it, at its end."""
_MEASURED: dict[tuple[int, str | None, FetchMetricsOptions], FetchMetrics] = {}
"""Of this process. Its id is part of the key: a forked worker counts for itself."""


def fetch_metrics(options: FetchMetricsOptions, now_ms: int) -> FetchMetrics:
    """Returns the counts of this process for the query of the task that is running; they begin now where it is new."""
    key = (os.getpid(), _query_id(), options)
    if key not in _MEASURED:
        _MEASURED[key] = FetchMetrics(now_ms)
    return _MEASURED[key]


def report_fetches(options: FetchMetricsOptions, link: Connections, now_ms: int) -> None:
    """Writes a record where the interval is over."""
    found = fetch_metrics(options, now_ms).taken(now_ms, options.interval_ms)
    if found is None:
        return
    who = {"queryId": _query_id(), "host": socket.gethostname(), "processId": os.getpid()}
    key = "/".join(str(each) for each in who.values())
    value = json.dumps(who | found, separators=(",", ":"))
    try:
        link.run(_write(link.producer(), options.topic, key, value))
    except (MillstreamError, TimeoutError) as error:
        link.discard_producer()
        why = str(error) or f"no answer within {_WAIT_S} s"
        _LOGGER.warning("fetch metrics did not get into topic %s: %s", options.topic, why)


async def _write(producer: Producer, topic: str, key: str, value: str) -> None:
    """A topic that is not there is waited for longer than a task should wait."""
    async with asyncio.timeout(_WAIT_S):
        delivery = await producer.send(topic, value.encode(), key=key.encode())
        await delivery


def _query_id() -> str | None:
    """None in a batch."""
    task = TaskContext.get()
    return None if task is None else task.getLocalProperty("sql.streaming.queryId")
