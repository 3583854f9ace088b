"""The applications whose outputs and stores are those of the test driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tests.support.kills import customers, topologies
from tests.support.kills.driven import DrivenShape

CACHE_BYTES: Final = 10 << 20
_ORDERS: Final = DrivenShape(
    customers.orders_in_windows, customers.orders_to_the_end, limit=500,
    partitions=customers.ORDER_PARTITIONS, is_backlog=True,
)  # fmt: skip

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
    "orders": _ORDERS,
    "orders of closed windows": replace(_ORDERS, build=customers.orders_of_closed_windows),
    "orders through two topics": replace(_ORDERS, build=customers.orders_through_two_topics),
    "orders with payments": replace(
        _ORDERS,
        build=customers.orders_with_payments,
        given=customers.orders_and_payments,
        is_in_order=False,
    ),
}
ON_THREADS: Final[Mapping[str, DrivenShape]] = {
    **DRIVEN,
    "global": DrivenShape(topologies.global_table, topologies.rows_and_numbers),
}
"""The applications that are killed on stream threads."""
