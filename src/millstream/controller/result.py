"""The result of a controller request, and the readings that a request may use besides its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from millstream.metadata.delta import MetadataRecord
from millstream.model import Offset
from millstream.runtime.clock import Instant
from millstream.runtime.random import Random

ResponseT_co = TypeVar("ResponseT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """Readings of the moment a request is handled."""

    now: Instant
    random: Random
    next_offset: Offset
    """Offset that the first record of the result will have: a broker's epoch is the offset of its registration."""


@dataclass(frozen=True, slots=True)
class ControllerResult(Generic[ResponseT_co]):
    """Records to append as one batch, and the answer that is true once they are committed. Nothing has changed yet."""

    records: tuple[MetadataRecord, ...]
    response: ResponseT_co
