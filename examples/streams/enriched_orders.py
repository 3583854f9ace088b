"""Orders with the names of their customers, and what each customer has paid a minute.

A foreign-key join of two tables, a serde of one's own, windows with one final result each.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import timedelta

from millstream.streams import (
    Materialized,
    Serde,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    Windowed,
)
from millstream.streams.serdes import long, string

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Order:
    customer: str
    cents: int
    customer_name: str | None = None


ORDER: Serde[Order] = Serde(
    "order",
    encode=lambda order: json.dumps(asdict(order)).encode(),
    decode=lambda data: Order(**json.loads(data)),
)


def with_name(order: Order, name: str | None) -> Order:
    return Order(order.customer, order.cents, name)


def line(window: Windowed[str], cents: int) -> str:
    return f"{window.key}, minute {window.start_ms // 60_000}: {cents / 100:.2f}"


def topology() -> Topology:
    """Reads `orders`, `customers` and `payments`; writes `enriched-orders` and `paid-per-minute`."""
    builder = StreamsBuilder()
    orders = builder.table("orders", key=string(), value=ORDER)
    names = builder.table("customers", key=string(), value=string())
    enriched = orders.left_join(
        names,
        with_name,
        foreign_key=lambda order: order.customer,
        name="enrich",
        materialized=Materialized("enriched", key=string(), value=ORDER),
    )
    enriched.to_stream().to("enriched-orders")
    paid = (
        builder.stream("payments", key=string(), value=ORDER)
        .filter(lambda _, order: order.cents > 0)
        .group_by(lambda _, order: order.customer, key=string(), name="by-customer")
        .windowed_by(TimeWindows.tumbling(MINUTE, grace=timedelta(seconds=10)))
        .aggregate(
            lambda: 0,
            lambda _, order, total: total + order.cents,
            materialized=Materialized("paid", key=string(), value=long()),
        )
        .suppress(Suppressed.until_window_closes(name="final"))
    )
    paid.to_stream().map_values(line, with_key=True).to("paid-per-minute", value=string())
    return builder.build()
