"""The readable part of a partition, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model import Uuid


@dataclass(frozen=True, slots=True)
class ReadableLog:
    """A partition as readers see it: offsets from `start` to before `end`, in a topic with this id."""

    topic_id: Uuid
    start: int
    end: int
