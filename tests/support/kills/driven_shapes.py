"""The applications whose outputs and stores are those of the test driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.support.kills import topologies
from tests.support.kills.driven import DrivenShape

CACHE_BYTES: Final = 10 << 20

DRIVEN: Final[Mapping[str, DrivenShape]] = {
    "stateless": DrivenShape(topologies.stateless, topologies.numbers),
    "aggregate": DrivenShape(topologies.aggregate, topologies.numbers),
    "aggregate with cache": DrivenShape(
        topologies.aggregate, topologies.numbers, cache_max_bytes=CACHE_BYTES
    ),
    "window": DrivenShape(topologies.window, topologies.numbers_to_the_end),
    "join": DrivenShape(topologies.join, topologies.sides, is_in_order=False),
    "foreign key": DrivenShape(topologies.foreign_key, topologies.rows_before_references),
    "suppress": DrivenShape(topologies.suppress, topologies.numbers_to_the_end),
    "two sub-topologies": DrivenShape(topologies.two_sub_topologies, topologies.numbers),
}
ON_THREADS: Final[Mapping[str, DrivenShape]] = {
    **DRIVEN,
    "global": DrivenShape(topologies.global_table, topologies.rows_and_numbers),
}
"""The applications that are killed on stream threads."""
