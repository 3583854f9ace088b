"""What must, and must not, type-check of Streams. `make check` runs mypy and pyright over this file; nothing runs it.

A line that must not check has an ignore with mypy's error code: both complain about an ignore that nothing needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

from millstream.streams import (
    ContextualProcessor,
    GlobalKTable,
    JoinWindows,
    KStream,
    KTable,
    Materialized,
    OffsetReset,
    ProcessorContext,
    Record,
    RecordContext,
    Retry,
    SessionWindows,
    SlidingWindows,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    TopologyBuilder,
    Windowed,
)
from millstream.streams.aggregates import Mean, mean_of, sum_of
from millstream.streams.serdes import Serde, double, long, string, time_windowed
from millstream.testing import (
    MockProcessorContext,
    TestInputTopic,
    TestOutputTopic,
    TopologyTestDriver,
)


@dataclass
class Order:
    customer: str
    cents: int


@dataclass
class Customer:
    city: str


def to_bytes(order: Order) -> bytes:
    return f"{order.customer} {order.cents}".encode()


def from_bytes(data: bytes) -> Order:
    customer, cents = data.decode().split()
    return Order(customer, int(cents))


ORDERS = Serde("order", to_bytes, from_bytes)
CUSTOMERS: Serde[Customer] = Serde(
    "customer", lambda c: c.city.encode(), lambda b: Customer(str(b))
)
DAY = timedelta(days=1)


def orders(builder: StreamsBuilder) -> KStream[str, Order]:
    return builder.stream("orders", key=string(), value=ORDERS)


def customers(builder: StreamsBuilder) -> KTable[str, Customer]:
    return builder.table("customers", key=string(), value=CUSTOMERS)


def sources_have_the_types_of_their_serdes(builder: StreamsBuilder) -> None:
    assert_type(builder.stream("orders", key=string(), value=ORDERS), KStream[str, Order])
    assert_type(builder.table("orders", key=string(), value=ORDERS), KTable[str, Order])
    assert_type(builder.global_table("p", key=long(), value=double()), GlobalKTable[int, float])
    assert_type(builder.stream("orders"), KStream[Any, Any])  # the application's default serdes
    annotated: KStream[str, Order] = builder.stream("orders", value=ORDERS)
    assert_type(annotated.map_values(lambda order: order.cents), KStream[str, int])
    wrong: KStream[str, int] = builder.stream("orders", key=string(), value=ORDERS)  # type: ignore[arg-type]  # orders
    wrong.filter(lambda key, value: value > 0)
    builder.stream("orders", key=str)  # type: ignore[call-overload]  # a serde
    builder.stream("orders", reset=OffsetReset.LATEST)
    builder.stream("orders", reset=DAY)
    builder.stream("orders", reset="latest")  # type: ignore[call-overload]  # an OffsetReset


def types_follow_the_records(builder: StreamsBuilder) -> None:
    stream = orders(builder)
    assert_type(stream.filter(lambda _, order: order.cents > 0), KStream[str, Order])
    assert_type(stream.map_values(lambda order: order.cents), KStream[str, int])
    with_key = stream.map_values(lambda key, order: (key, order.cents), with_key=True)
    assert_type(with_key, KStream[str, tuple[str, int]])
    retried = stream.map_values(lambda order: order.cents, retry=Retry("retries", key=string()))
    assert_type(retried, KStream[str, int])
    assert_type(stream.map(lambda key, order: (order.cents, key)), KStream[int, str])
    assert_type(stream.flat_map(lambda key, order: [(order.cents, key)]), KStream[int, str])
    assert_type(stream.flat_map_values(lambda order: [order.cents]), KStream[str, int])
    assert_type(stream.select_key(lambda _, order: order.cents), KStream[int, Order])
    assert_type(stream.merge(stream), KStream[str, Order])
    assert_type(stream.repartition(), KStream[str, Order])
    assert_type(stream.to_table(), KTable[str, Order])
    branches = stream.split().branch(lambda _, order: order.cents > 0).default_branch()
    assert_type(branches, dict[str, KStream[str, Order]])


def functions_that_do_not_fit_are_refused(builder: StreamsBuilder) -> None:
    stream = orders(builder)
    stream.filter(lambda key: True)  # type: ignore[arg-type, misc]  # key and value
    stream.map_values(lambda order: order.euros)  # type: ignore[attr-defined]  # cents
    stream.map(lambda key, order: order)  # type: ignore[arg-type, return-value]  # a pair
    stream.map_values(lambda order: order.cents, retry=Retry("r", key=long()))  # type: ignore[arg-type]  # a str
    stream.flat_map_values(lambda order: order.cents)  # type: ignore[arg-type, return-value]  # many
    stream.merge(stream.map_values(lambda order: order.cents))  # type: ignore[arg-type, return-value]  # other values
    stream.to("out", value=string())  # type: ignore[arg-type]  # orders
    stream.to("out", key=long(), value=ORDERS)  # type: ignore[arg-type]  # keys are text
    stream.to_table(materialized=Materialized("o", value=string()))  # type: ignore[arg-type]  # orders


def sinks_take_functions_of_the_stream(builder: StreamsBuilder) -> None:
    def topic(key: str, order: Order, context: RecordContext) -> str:
        return f"{context.topic}-{key}-{order.customer}"

    def partition(topic: str, key: str, order: Order, partitions: int) -> int:
        return order.cents % partitions

    def wrong_topic(key: int, order: Order, context: RecordContext) -> str:
        return "out"

    stream = orders(builder)
    stream.to(topic)
    stream.to("out", partitioner=partition)
    stream.repartition(partitioner=partition, partitions=3)
    stream.to(wrong_topic)  # type: ignore[arg-type]  # keys are text
    stream.map_values(lambda order: order.cents).to("out", partitioner=partition)  # type: ignore[arg-type]  # numbers


def aggregations_have_the_type_of_their_aggregate(builder: StreamsBuilder) -> None:
    grouped = orders(builder).group_by(lambda _, order: order.customer, key=string())
    assert_type(grouped.count(), KTable[str, int])
    assert_type(grouped.reduce(lambda one, other: max(one, other, key=cents)), KTable[str, Order])
    total = grouped.aggregate(lambda: 0, lambda _, order, sum_: sum_ + order.cents, value=long())
    assert_type(total, KTable[str, int])
    assert_type(grouped.aggregate(sum_of(cents)), KTable[str, int])
    assert_type(grouped.aggregate(mean_of(cents)), KTable[str, Mean])
    grouped.count(materialized=Materialized("counts", value=string()))  # type: ignore[arg-type]  # numbers
    grouped.aggregate(lambda: 0, lambda _, order, sum_: sum_ + order.cents, value=string())  # type: ignore[arg-type, operator, return-value]  # numbers
    grouped.reduce(lambda one, other: one.cents)  # type: ignore[arg-type, return-value]  # an order


def cents(order: Order) -> int:
    return order.cents


def windows_wrap_the_key(builder: StreamsBuilder) -> None:
    grouped = orders(builder).group_by_key()
    daily = grouped.windowed_by(TimeWindows.tumbling(DAY))
    assert_type(daily.count(), KTable[Windowed[str], int])
    assert_type(grouped.windowed_by(SlidingWindows.of(DAY)).count(), KTable[Windowed[str], int])
    sessions = grouped.windowed_by(SessionWindows.of(DAY))
    assert_type(sessions.reduce(lambda one, other: one), KTable[Windowed[str], Order])
    largest = sessions.aggregate(
        lambda: 0.0, lambda _, o, top: max(o.cents, top), lambda _, a, b: max(a, b), value=double()
    )
    assert_type(largest, KTable[Windowed[str], float])
    closed = daily.count().suppress(Suppressed.until_window_closes())
    by_start = closed.to_stream(lambda window, _: window.start_ms)
    assert_type(by_start, KStream[int, int])
    closed.to_stream().to("out", key=time_windowed(string(), 86_400_000), value=long())
    closed.to_stream().to("out", key=string(), value=long())  # type: ignore[arg-type]  # windowed
    grouped.windowed_by(JoinWindows.of(DAY))  # type: ignore[call-overload]  # windows of joins


def cogrouped_streams_share_an_aggregate(builder: StreamsBuilder) -> None:
    def add_order(_key: str, order: Order, total: int) -> int:
        return total + order.cents

    def add_refund(_key: str, refund: int, total: int) -> int:
        return total - refund

    refunds = builder.stream("refunds", key=string(), value=long()).group_by_key()
    both = orders(builder).group_by_key().cogroup(add_order).cogroup(refunds, add_refund)
    assert_type(both.aggregate(lambda: 0), KTable[str, int])
    daily = both.windowed_by(TimeWindows.tumbling(DAY))
    assert_type(daily.aggregate(lambda: 0), KTable[Windowed[str], int])
    sessions = both.windowed_by(SessionWindows.of(DAY))
    assert_type(sessions.aggregate(lambda: 0, lambda _, a, b: a + b), KTable[Windowed[str], int])
    sessions.aggregate(lambda: 0)  # type: ignore[call-overload]  # sessions need a merger
    daily.aggregate(lambda: "")  # type: ignore[arg-type, return-value]  # a number
    orders(builder).group_by_key().cogroup(add_order).cogroup(refunds, add_order)  # type: ignore[arg-type]  # refunds


def joins_of_streams_give_what_the_joiner_gives(builder: StreamsBuilder) -> None:
    stream, windows = orders(builder), JoinWindows.of(DAY)
    inner = stream.join(stream, lambda one, other: one.cents + other.cents, windows=windows)
    assert_type(inner, KStream[str, int])
    keyed = stream.join(
        stream, lambda key, one, other: (key, one, other), windows=windows, with_key=True
    )
    assert_type(keyed, KStream[str, tuple[str, Order, Order]])
    left = stream.left_join(stream, lambda one, other: (one, other), windows=windows)
    assert_type(left, KStream[str, tuple[Order, Order | None]])
    outer = stream.outer_join(stream, lambda one, other: (one, other), windows=windows)
    assert_type(outer, KStream[str, tuple[Order | None, Order | None]])
    stream.left_join(stream, lambda one, other: other.cents, windows=windows)  # type: ignore[union-attr]  # or None
    stream.join(stream, lambda one, other: one)  # type: ignore[call-overload]  # windows
    joined = StreamJoined[str, Order, Order](value=string())  # type: ignore[arg-type]  # orders
    stream.join(stream, lambda one, other: one, windows=windows, joined=joined)


def joins_with_tables_give_what_the_joiner_gives(builder: StreamsBuilder) -> None:
    stream, table = orders(builder), customers(builder)
    inner = stream.join(table, lambda order, customer: (order.cents, customer.city))
    assert_type(inner, KStream[str, tuple[int, str]])
    left = stream.left_join(table, lambda order, customer: customer)
    assert_type(left, KStream[str, Customer | None])
    stream.join(table, lambda order, customer: order, grace=DAY)
    prices = builder.global_table("prices", key=long(), value=double())
    priced = stream.join(
        prices, lambda order, price: order.cents * price, on=lambda key, order: order.cents
    )
    assert_type(priced, KStream[str, float])
    stream.join(prices, lambda order, price: price)  # type: ignore[call-overload]  # on=
    stream.join(table, lambda order, customer: order, windows=JoinWindows.of(DAY))  # type: ignore[call-overload]  # a table
    stream.select_key(lambda _, order: order.cents).join(table, lambda order, customer: order)  # type: ignore[arg-type]  # other keys


def no_keys() -> set[str]:
    return set()


def add_key(_city: str, key: str, keys: set[str]) -> set[str]:
    return keys | {key}


def take_key_off(_city: str, key: str, keys: set[str]) -> set[str]:
    return keys - {key}


def tables_have_types_as_streams_have(builder: StreamsBuilder) -> None:
    table = customers(builder)
    assert_type(table.filter(lambda _, customer: customer.city != ""), KTable[str, Customer])
    assert_type(table.map_values(lambda customer: customer.city), KTable[str, str])
    assert_type(table.to_stream(), KStream[str, Customer])
    joined = table.left_join(table, lambda one, other: (one, other))
    assert_type(joined, KTable[str, tuple[Customer, Customer | None]])
    regrouped = table.group_by(lambda key, customer: (customer.city, key))
    assert_type(regrouped.count(), KTable[str, int])
    keys = regrouped.aggregate(no_keys, add_key, take_key_off)
    assert_type(keys, KTable[str, set[str]])
    regrouped.aggregate(lambda: 0, lambda _, key, total: total)  # type: ignore[call-overload]  # a subtractor


def foreign_keys_have_the_type_of_the_other_key(builder: StreamsBuilder) -> None:
    table = orders(builder).to_table()
    joined = table.join(
        customers(builder), lambda order, customer: customer.city, foreign_key=lambda o: o.customer
    )
    assert_type(joined, KTable[str, str])
    table.join(customers(builder), lambda order, customer: order, foreign_key=lambda o: o.cents)  # type: ignore[arg-type, return-value]  # text


class Total:
    """Adds up what each customer has spent."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context

    def process(self, record: Record[str, Order]) -> None:
        assert_type(record.value, Order)
        self.context.forward(record.with_key(record.value.customer).with_value(record.value.cents))
        self.context.forward(record)  # type: ignore[arg-type]  # an order


class Audit:
    def process(self, record: Record[str, Order]) -> None:
        """Without a context it forwards nothing."""


class City(ContextualProcessor[str, Customer, str, str]):
    def process(self, record: Record[str, Customer]) -> None:
        self.context.forward(record.with_value(record.value.city))


class Cents:
    def transform(self, key: str, value: Order | None) -> int:
        return 0 if value is None else value.cents


def processors_say_what_they_take_and_forward(builder: StreamsBuilder) -> None:
    stream, table = orders(builder), customers(builder)
    assert_type(stream.process(Total), KStream[str, int])
    assert_type(stream.process_values(Total), KStream[str, int])
    stream.process(Audit)
    assert_type(table.to_stream().process(City, stores=["cities"]), KStream[str, str])
    assert_type(stream.to_table().transform_values(Cents), KTable[str, int])
    stream.process(City)  # type: ignore[arg-type]  # of customers
    table.transform_values(Cents)  # type: ignore[arg-type]  # of orders
    stream.process(Total())  # type: ignore[call-overload]  # a supplier, the class itself
    nodes = TopologyBuilder().add_source("orders", "orders", key=string(), value=ORDERS)
    nodes.add_processor("total", Total, "orders").add_sink("out", "out", "total")
    nodes.add_processor("total", object, "orders")  # type: ignore[arg-type]  # no process


def processors_are_tested_with_a_mock_of_any_type() -> None:
    processor, context = Total(), MockProcessorContext()
    processor.init(context)
    processor.process(Record("1", Order("ann", 5), 0))
    processor.process(Record("1", "order", 0))  # type: ignore[arg-type]  # an order


def options_can_be_kept_in_variables(builder: StreamsBuilder) -> None:
    kept: Materialized[str, int] = Materialized("counts", logging=False)
    orders(builder).group_by_key().count(materialized=kept)
    names: Iterable[str] = ["a", "b"]
    builder.stream(names).foreach(print)


def what_no_serde_tells_is_any(builder: StreamsBuilder, driver: TopologyTestDriver) -> None:
    """The application's default serdes decide."""
    assert_type(Materialized(), Materialized[Any, Any])
    assert_type(Materialized(key=string()), Materialized[str, Any])
    assert_type(StreamJoined(), StreamJoined[Any, Any, Any])
    assert_type(driver.input_topic("in", key=string()), TestInputTopic[str, Any])
    assert_type(driver.output_topic("out"), TestOutputTopic[Any, Any])
    stores_only = Materialized(store="counts")
    assert_type(orders(builder).group_by_key().count(materialized=stores_only), KTable[str, int])


def topics_of_the_test_driver_have_the_types_of_their_serdes(driver: TopologyTestDriver) -> None:
    topic = driver.input_topic("orders", key=string(), value=ORDERS)
    topic.pipe("a", Order("ann", 5))
    topic.pipe("a", "order")  # type: ignore[arg-type]  # an order
    assert_type(driver.output_topic("o", key=string(), value=long()), TestOutputTopic[str, int])
