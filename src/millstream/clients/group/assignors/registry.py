"""The assignors by the names they have on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from millstream.clients.group.assignors.assignment import Assignor
from millstream.clients.group.assignors.range import RangeAssignor
from millstream.clients.group.assignors.round_robin import RoundRobinAssignor
from millstream.clients.group.assignors.sticky import CooperativeStickyAssignor, StickyAssignor

_BUILT_IN: Final[tuple[Assignor, ...]] = (
    RangeAssignor(),
    RoundRobinAssignor(),
    StickyAssignor(),
    CooperativeStickyAssignor(),
)

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType(
    {assignor.name: assignor for assignor in _BUILT_IN}
)


def chosen_assignors(strategy: Iterable[str | Assignor]) -> tuple[Assignor, ...]:
    """Returns the names and objects of the setting partition_assignment_strategy as objects, in order."""
    return tuple(ASSIGNORS[item] if isinstance(item, str) else item for item in strategy)
