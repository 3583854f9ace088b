"""The assignors by the names they have on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from millstream.clients.core.assignors.assignment import Assignor
from millstream.clients.core.assignors.cooperative_sticky import assign_cooperative_sticky
from millstream.clients.core.assignors.range import assign_range
from millstream.clients.core.assignors.round_robin import assign_round_robin

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType(
    {
        "range": assign_range,
        "roundrobin": assign_round_robin,
        "cooperative-sticky": assign_cooperative_sticky,
    }
)

COOPERATIVE: Final = frozenset({"cooperative-sticky"})
"""Members keep their partitions while the group rebalances (KIP-429). The others give everything up first."""
