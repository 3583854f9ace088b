"""Orders of customers that lie in four partitions before anything starts, in time in each, and are collected behind a repartition topic in windows.

A window names its orders, so that one that was lost is told from one that came twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import count, product
from typing import Final

from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.streams import JoinWindows, StreamJoined, StreamsBuilder, Suppressed, TimeWindows
from millstream.streams.dsl import KGroupedStream, KTable
from millstream.streams.serdes import string, time_windowed
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.topology import Topology
from tests.support.kills.topologies import LATER_MS, OUT, Given, Seen

ORDER_PARTITIONS: Final = 4
ORDERS: Final = 2_000
INTERVAL_MS: Final = 20
CUSTOMERS: Final = 100
PAID_AFTER_MS: Final = 505
WINDOW_MS: Final = 10_000
WINDOW: Final = TimeWindows.tumbling(
    timedelta(milliseconds=WINDOW_MS), grace=timedelta(milliseconds=2_000)
)


def orders_in_windows(builder: StreamsBuilder, seen: Seen) -> Topology:
    """Writes a window anew with each of its orders."""
    _write(_collected(builder, seen), seen)
    return builder.build()


def orders_of_closed_windows(builder: StreamsBuilder, seen: Seen) -> Topology:
    """Writes a window once it is closed, which the last order of its partition of the repartition topic does."""
    _write(_collected(builder, seen).suppress(Suppressed.until_window_closes()), seen)
    return builder.build()


def orders_through_two_topics(builder: StreamsBuilder, seen: Seen) -> Topology:
    """Windows of groups of customers behind two repartition topics."""
    orders = builder.stream("orders", key=string(), value=string()).peek(seen)
    of_customers = orders.select_key(lambda _, order: order.partition(":")[0])
    by_customer = of_customers.repartition(key=string(), value=string(), name="customers")
    by_group = by_customer.peek(seen).group_by(
        lambda customer, _: customer[-1], key=string(), value=string()
    )
    _write(_in_windows(by_group), seen)
    return builder.build()


def orders_with_payments(builder: StreamsBuilder, seen: Seen) -> Topology:
    """Each order with its payment, which comes within a second, or without one when that has passed."""
    orders, payments = (
        builder.stream(each, key=string(), value=string())
        .peek(seen)
        .select_key(lambda _, value: value.partition(":")[2])
        for each in ("orders", "payments")
    )
    windows = JoinWindows.of(timedelta(seconds=1), grace=timedelta(seconds=1))
    serdes = StreamJoined(key=string(), value=string(), other_value=string())
    joined = orders.left_join(
        payments, lambda order, payment: f"{order}+{payment}", windows=windows, joined=serdes
    )
    joined.peek(seen).to(OUT, key=string(), value=string())
    return builder.build()


def orders_and_payments() -> Iterator[Given]:
    """Two of three orders are paid, in another partition than they are in."""
    for number in range(ORDERS):
        yield _order(number, "c", INTERVAL_MS * number)
        if number % 3:
            at_ms, partition = INTERVAL_MS * number + PAID_AFTER_MS, (number + 1) % ORDER_PARTITIONS
            yield Given("payments", b"%d" % number, b"p:%d" % number, at_ms, partition)
    for number, name in enumerate(_names_for_all_partitions()):
        yield _given(number, f"end:{name}", LATER_MS + number)


def orders_to_the_end() -> Iterator[Given]:
    """Behind them orders that come to all partitions of repartition topics and close all windows."""
    for number in range(ORDERS):
        customer = f"c{number * 7919 % CUSTOMERS}"
        yield _order(number, customer, INTERVAL_MS * number)
    for number, name in enumerate(_names_for_all_partitions()):
        yield _order(number, name, LATER_MS + number)


def _order(number: int, customer: str, at_ms: int) -> Given:
    return _given(number, f"{customer}:{number}", at_ms)


def _given(number: int, order: str, at_ms: int) -> Given:
    return Given("orders", b"%d" % number, order.encode(), at_ms, number % ORDER_PARTITIONS)


def _names_for_all_partitions() -> Iterator[str]:
    """Names that come to each partition, and whose last letters do."""
    wanted = {*product(range(ORDER_PARTITIONS), repeat=2)}
    for name in (f"end-{number}" for number in count()):
        place = _partition(name), _partition(name[-1])
        if place in wanted:
            wanted.remove(place)
            yield name
        if not wanted:
            return


def _partition(key: str) -> int:
    return partition_for_key(key.encode(), ORDER_PARTITIONS)


def _collected(builder: StreamsBuilder, seen: Seen) -> KTable[Windowed[str], str]:
    orders = builder.stream("orders", key=string(), value=string()).peek(seen)
    by_customer = orders.group_by(
        lambda _, order: order.partition(":")[0], key=string(), value=string()
    )
    return _in_windows(by_customer)


def _in_windows(grouped: KGroupedStream[str, str]) -> KTable[Windowed[str], str]:
    return grouped.windowed_by(WINDOW).aggregate(
        str, lambda _, order, before: f"{before} {order.partition(':')[2]}", value=string()
    )


def _write(windows: KTable[Windowed[str], str], seen: Seen) -> None:
    of_windows = windows.to_stream().peek(lambda window, orders: seen(window.key, orders))
    of_windows.to(OUT, key=time_windowed(string(), WINDOW_MS), value=string())
