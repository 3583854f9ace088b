"""The case with which it began: orders in time in each of four partitions, counted by customer in windows of 10 s with 2 s of grace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from live_cases.cluster import Written
from live_cases.conversion import Input
from streams.spec_topology import serde

from alignment.case import Case, made_case

ORDERS: Final = 16_000
PARTITIONS: Final = 4
INTERVAL_MS: Final = 10
CUSTOMERS: Final = 100
WINDOW_MS, GRACE_MS = 10_000, 2_000


def orders_spec(
    size_ms: int = WINDOW_MS, advance_ms: int = WINDOW_MS, grace_ms: int = GRACE_MS
) -> dict:
    """Counts by what stands before the colon, in windows of a length that begin so often."""
    key = f"time_windowed:string:{size_ms}"
    windows = {"type": "hopping", "size": size_ms, "advance": advance_ms, "grace": grace_ms}
    return {
        "name": "orders",
        "topics": {
            "orders": {"key": "string", "value": "string", "in": {}},
            "windows": {"key": key, "value": "long"},
        },
        "ops": [
            {"op": "stream", "id": "o1", "topic": "orders"},
            {"op": "group_by", "id": "o2", "from": "o1", "fn": "before::"},
            {"op": "windowed_by", "id": "o3", "from": "o2", "windows": windows},
            {"op": "count", "id": "o4", "from": "o3", "materialized": {"key": "string"}},
            {"op": "to_stream", "id": "o5", "from": "o4"},
            {
                "op": "to",
                "from": "o5",
                "topic": "windows",
                "produced": {"key": key, "value": "long"},
            },
        ],
    }


def orders_case(count: int = ORDERS) -> Case:
    """A backlog of so many orders, 10 ms apart, one partition after another."""
    text = serde("string")
    orders = [
        Input(
            "orders",
            number % PARTITIONS,
            text.encode(str(number)),
            text.encode(f"c{number * 7919 % CUSTOMERS}:{number}"),
            number * INTERVAL_MS,
            (),
        )
        for number in range(count)
    ]
    backlog = sorted(orders, key=lambda order: order.partition)
    partitions = {"orders": PARTITIONS, "windows": PARTITIONS}
    return made_case(f"{count} orders", orders_spec(), partitions, [backlog])


def counted(found: Mapping[tuple[str, int], Sequence[Written]]) -> int:
    """How many orders the last rows of the windows count."""
    last = {
        (log, record.key): record.value
        for log, records in found.items()
        if log[0] == "windows"
        for record in records
    }
    return sum(serde("long").decode(value) for value in last.values() if value is not None)
