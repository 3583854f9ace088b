"""The requests about all groups that come from this node itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicsChanged:
    """Topics have come, gone or grown since the last image. Answered with None."""


@dataclass(frozen=True, slots=True)
class TopicsDeleted:
    """The topics of these names are gone. Answered with None."""

    names: Collection[str]
