"""Stops a query whose stream has ended, with `endOfStreamScope=query`. No planner can, so the driver's program does.

Spark calls a query idle when nothing is left to do for it, not for its watermarks and timers either. Whether
its sources have ended then stands in the offsets of its last micro-batch, in memory: also right after a
restart, when it has made no progress.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types

from millstream.spark.source.end_of_stream import has_query_end
from millstream.spark.source.options import SourceOptions

_LOGGER = logging.getLogger(__name__)


class EndedQueries:
    """The queries of a session that may end by themselves. Told of by a listener."""

    def __init__(self) -> None:
        self._running: dict[str, Any] = {}  # py4j objects have no types
        """By their runs, as the driver's JVM has them."""

    def add(
        self,
        run_id: str,
        query: Any,  # py4j objects have no types
        sources: Sequence[SourceOptions],
    ) -> None:
        """Takes a query that has begun, if it may end by itself."""
        if any(each.ends_queries for each in sources):
            self._running[run_id] = query

    def forget(self, run_id: str) -> None:
        self._running.pop(run_id, None)

    def stop_if_ended(self, run_id: str) -> None:
        """Stops the query if all its sources have ended."""
        query = self._running.get(run_id)
        if query is None:
            return
        try:
            if have_all_ended(_last_offsets(query.streamingQuery())):
                _LOGGER.info("query %s is stopped: its stream has ended", query.id())
                query.stop()
        except Py4JError as error:  # another version of Spark may keep offsets elsewhere
            self.forget(run_id)
            _LOGGER.warning(
                "query %s is not stopped at the end of its stream, stop it yourself: %s",
                run_id,
                error,
            )


def have_all_ended(documents: Iterable[str | None]) -> bool:
    """`documents`: the offsets of each source as JSON; of a source of another format in whatever form it has, None
    before the first micro-batch.
    """
    found = [document is not None and _is_ended(document) for document in documents]
    return bool(found) and all(found)


def _is_ended(document: str) -> bool:
    try:
        offsets = json.loads(document)
    except json.JSONDecodeError:
        return False
    return isinstance(offsets, dict) and has_query_end(offsets)


def _last_offsets(query: Any) -> Iterator[str | None]:  # Any: of py4j
    """Those of each source of a `StreamExecution`."""
    sources, offsets = query.sources(), query.committedOffsets()
    for number in range(sources.size()):
        found = offsets.get(sources.apply(number))
        yield found.get().json() if found.isDefined() else None
