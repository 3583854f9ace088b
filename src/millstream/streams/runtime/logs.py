"""The readable part of a partition, as a value."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from millstream.model import Uuid

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadableLog:
    """A partition as readers see it: offsets from `start` to before `end`, in a topic with this id."""

    topic_id: Uuid
    start: int
    end: int

    def tell_what_is_gone(self, who: str, partition: str, begins_at: int) -> None:
        """Logs a warning where the very first read finds less than was written: results would be
        short and nobody would know why.
        """
        if begins_at == self.start > 0:
            _LOGGER.warning(
                "%s begins at offset %d of %s, the first that is there: what was before it, %d offsets, was deleted by retention or "
                "by hand, and is not in its results",
                *(who, begins_at, partition, begins_at),
            )
