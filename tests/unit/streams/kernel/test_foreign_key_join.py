"""Foreign-key joins (KIP-213): who asks whom, what is answered, which answers come too late, and the bytes in between."""

from __future__ import annotations

import pytest

from millstream.streams import StreamsBuilder
from millstream.streams.kernel.joins.murmur3 import hash128
from millstream.streams.serdes import long, string
from millstream.streams.serdes.foreign_key import (
    Instruction,
    SubscriptionResponseWrapper,
    SubscriptionWrapper,
    combined_key,
    responses,
    subscriptions,
)
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

ORDERS, CUSTOMERS, OUT = "orders", "customers", "enriched"


class Shop:
    """Orders `customer:item` joined with customers; every result as `key=value@timestamp`."""

    def __init__(self, *, left=False, **options):
        builder = StreamsBuilder()
        orders = builder.table(ORDERS, key=string(), value=string())
        customers = builder.table(CUSTOMERS, key=string(), value=string())
        join = orders.left_join if left else orders.join
        options = {"foreign_key": _customer, **options}
        joined = join(customers, lambda order, customer: f"{order}/{customer}", **options)
        joined.to_stream().to(OUT, key=string(), value=string())
        self.topology = builder.build()
        self._driver = TopologyTestDriver(self.topology)
        self._out = self._driver.output_topic(OUT, key=string(), value=string())

    def order(self, key, value, at=0):
        return self._pipe(ORDERS, key, value, at)

    def customer(self, key, value, at=0):
        return self._pipe(CUSTOMERS, key, value, at)

    def _pipe(self, topic, key, value, at):
        self._driver.input_topic(topic, key=string(), value=string()).pipe(key, value, at=at)
        return [f"{r.key}={r.value}@{r.timestamp}" for r in self._out.read()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._driver.close()


def _customer(order):
    head, colon, _ = order.partition(":")
    return head if colon else None


def test_a_left_row_meets_the_right_row_of_its_foreign_key():
    with Shop() as shop:
        assert shop.order("o1", "ann:tea", 1) == []
        assert shop.customer("ann", "Ann", 5) == ["o1=ann:tea/Ann@5"]
        assert shop.order("o2", "ann:rum", 3) == ["o2=ann:rum/Ann@5"]


def test_a_changed_right_row_reaches_everybody_who_wants_it():
    with Shop() as shop:
        shop.order("o1", "ann:tea")
        shop.order("o2", "ann:rum")
        shop.order("o3", "bob:gin")
        assert sorted(shop.customer("ann", "Ann", 4)) == ["o1=ann:tea/Ann@4", "o2=ann:rum/Ann@4"]
        assert sorted(shop.customer("ann", None, 6)) == ["o1=None@6", "o2=None@6"]


def test_a_left_row_that_moves_to_a_missing_foreign_key_takes_its_result_back():
    with Shop() as shop:
        shop.customer("ann", "Ann")
        assert shop.order("o1", "ann:tea", 1) == ["o1=ann:tea/Ann@1"]
        assert shop.order("o1", "bob:tea", 2) == ["o1=None@2"]
        assert shop.customer("ann", "Anna", 3) == []


def test_a_left_row_without_a_foreign_key_has_no_result_in_an_inner_join():
    with Shop() as shop:
        shop.customer("ann", "Ann")
        assert shop.order("o1", "nobody") == []
        shop.order("o1", "ann:tea", 1)
        assert shop.order("o1", "nobody", 2) == ["o1=None@2"]
        assert shop.order("o1", None, 3) == []


def test_a_left_join_keeps_rows_without_foreign_key_or_right_row():
    with Shop(left=True) as shop:
        assert shop.order("o1", "nobody", 1) == ["o1=nobody/None@1"]
        assert shop.order("o2", "ann:tea", 2) == ["o2=ann:tea/None@2"]
        assert shop.customer("ann", "Ann", 3) == ["o2=ann:tea/Ann@3"]
        assert shop.order("o2", None, 4) == ["o2=None@4"]


def test_the_foreign_key_may_come_from_key_and_value():
    with Shop(foreign_key=lambda key, _value: key[0], with_key=True) as shop:
        shop.customer("a", "Ann")
        assert shop.order("a7", "tea", 2) == ["a7=tea/Ann@2"]


def test_a_name_names_every_node_topic_and_store_of_the_join():
    with Shop(name="bill") as shop:
        described = str(shop.topology.describe())
    for part in (
        "bill-subscription-registration-topic",
        "bill-subscription-registration-processor",
        "bill-subscription-store",
        "bill-subscription-response-topic",
        "bill-subscription-response-resolver",
        "bill-result",
    ):
        assert part in described


def test_a_function_that_cannot_take_its_arguments_is_refused_with_the_name_of_the_operator():
    with pytest.raises(TypeError, match="join"):
        Shop(foreign_key=lambda a, b, c: a)


def test_rows_are_hashed_as_kafka_streams_hashes_them():
    """The hash that Kafka Streams 4.3.1 put into the subscription of the value f3:a0."""
    assert hash128(b"f3:a0").hex() == "5e24f520c20b418febd298999366d0f6"
    assert hash128(b"f1:e2").hex() == "04b7829d8f3e8a6cb0a22b0edc2f9d20"


def test_subscriptions_have_kafka_streams_bytes():
    serde = subscriptions(string())
    row_hash = bytes.fromhex("5e24f520c20b418febd298999366d0f6")
    asked = SubscriptionWrapper(row_hash, Instruction.ANSWER_IF_FOUND, "d", 0)
    written = bytes.fromhex("01035e24f520c20b418febd298999366d0f66400000000")
    assert serde.encode(asked) == written
    assert serde.decode(written) == asked
    deleted = SubscriptionWrapper(None, Instruction.DELETE_AND_ANSWER, "d", 3)
    assert serde.encode(deleted) == bytes.fromhex("81016400000003")
    assert serde.decode(serde.encode(deleted)) == deleted


def test_subscriptions_of_version_0_have_no_partition():
    assert subscriptions(string()).decode(bytes.fromhex("800264")) == SubscriptionWrapper(
        None, Instruction.ANSWER_ALWAYS, "d", None
    )


def test_responses_have_kafka_streams_bytes():
    serde = responses(long())
    row_hash = bytes(range(16))
    assert serde.encode(SubscriptionResponseWrapper(row_hash, 7)) == b"\x00" + row_hash + (
        7
    ).to_bytes(8, "big")
    assert serde.decode(
        serde.encode(SubscriptionResponseWrapper(row_hash, 7))
    ) == SubscriptionResponseWrapper(row_hash, 7)
    assert serde.encode(SubscriptionResponseWrapper(None, None)) == b"\x80"
    assert serde.decode(b"\x80") == SubscriptionResponseWrapper(None, None)


def test_a_version_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="version 2"):
        subscriptions(string()).decode(bytes.fromhex("82016400000003"))


def test_the_key_of_a_subscription_begins_with_the_length_of_the_foreign_key():
    assert combined_key(b"f3", b"d") == bytes.fromhex("00000002663364")
