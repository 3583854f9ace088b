"""The result of a controller request, and the readings that a request may use besides its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from millstream.metadata.delta import MetadataRecord
from millstream.model import Offset
from millstream.runtime.clock import Instant
from millstream.runtime.random import Random
from millstream.security.authorizer import ANONYMOUS

ResponseT_co = TypeVar("ResponseT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """Readings of the moment a request is handled."""

    now: Instant
    random: Random
    next_offset: Offset
    """Offset that the first record of the result will have: a broker's epoch is the offset of its registration."""
    principal: str = ANONYMOUS
    """The principal that asks."""
    kraft_version: int = 1
    """0 where the configuration names the voters of the metadata quorum, 1 where its log does."""


@dataclass(frozen=True, slots=True)
class ControllerResult(Generic[ResponseT_co]):
    """Records to append as one batch, and the answer that is true once they are committed. Nothing has changed yet."""

    records: tuple[MetadataRecord, ...]
    response: ResponseT_co
    upgrades_kraft_version: bool = False
    """Whether the voters of the quorum are written to its log first: they are no metadata records, which are the controller's."""
