"""Gathers what a planner reports: where it has begun, the ends and starts of the logs, and its commits.

A report must never end a query, nor cost it more than one look-up now and then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from millstream.errors import MillstreamError
from millstream.model import Offset, TopicPartition
from millstream.spark.offsets import Offsets
from millstream.spark.source.positions import EARLIEST, LATEST, ChosenOffset
from millstream.spark.source.report import CommitReport, SourceReport

_LOGGER = logging.getLogger(__name__)
_EARLIEST_AGE_MS: Final = 10_000
"""Starts of logs move when retention deletes segments: they are looked up this often."""


class Reporting:
    """Of one planner. Travels with the reader that it belongs to."""

    def __init__(self) -> None:
        self._started: dict[TopicPartition, ChosenOffset] = {}
        self._latest: Offsets = {}
        self._earliest: Offsets = {}
        self._earliest_until_ms = 0
        self._failed = 0

    def note_starts(self, choices: Mapping[TopicPartition, ChosenOffset]) -> None:
        """Takes where partitions begin to be read. The first word on a partition counts."""
        self._started = {**choices, **self._started}

    def note_starts_at(self, offsets: Offsets, reason: str) -> None:
        """The same, all for one reason."""
        if not offsets.keys() <= self._started.keys():
            self.note_starts({tp: ChosenOffset(offset, reason) for tp, offset in offsets.items()})

    def set_ends(self, latest: Offsets) -> None:
        """Takes the ends of the logs where planning has just looked them up, which spares the next report a look-up."""
        self._latest = latest

    def report(
        self,
        look_up: Callable[[Offset], Offsets],
        commits: CommitReport | None,
        now_ms: int,
    ) -> dict[str, Any] | None:  # JSON of SourceReport
        """`look_up` takes EARLIEST or LATEST. None where it fails: a part of the truth would give wrong sums."""
        try:
            latest, self._latest = self._latest or look_up(LATEST), {}
            if now_ms >= self._earliest_until_ms or not latest.keys() <= self._earliest.keys():
                self._earliest = look_up(EARLIEST)
                self._earliest_until_ms = now_ms + _EARLIEST_AGE_MS
        except MillstreamError as error:
            self._failed += 1
            _LOGGER.warning(
                "the progress of the query lacks its metrics, for the %d. time: %s",
                self._failed,
                error,
            )
            return None
        return SourceReport(latest, self._earliest, self._started, commits).to_json()
