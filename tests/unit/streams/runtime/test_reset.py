"""What belongs to an application alone."""

from __future__ import annotations

from datetime import timedelta

from millstream.streams import JoinWindows, Materialized, StreamJoined, StreamsBuilder, Suppressed
from millstream.streams.runtime.reset import internal_topics
from millstream.streams.serdes import string
from millstream.streams.topology.plan import internal_names

TOPICS = [
    "orders",
    "orders-by-day",
    "orders-counts-changelog",
    "orders-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition",
    "orders-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
    "orders-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
    "orders-by-customer-subscription-registration-topic",
    "orders-by-customer-subscription-response-topic",
    "orders-of-a-topic",
    "orders-eu-counts-changelog",
    "other-counts-changelog",
    "orders-eu-millstream-paused",
    "orders-millstream-paused",
]


def test_internal_topics_are_known_by_their_names() -> None:
    assert internal_topics("orders", TOPICS, ["orders", "orders-eu"]) == (
        "orders-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition",
        "orders-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
        "orders-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
        "orders-by-customer-subscription-registration-topic",
        "orders-by-customer-subscription-response-topic",
        "orders-counts-changelog",
        "orders-millstream-paused",
    )


def test_an_application_with_a_longer_id_keeps_its_own() -> None:
    assert internal_topics("orders-eu", TOPICS, []) == (
        "orders-eu-counts-changelog",
        "orders-eu-millstream-paused",
    )
    assert "orders-eu-counts-changelog" in internal_topics("orders", TOPICS, ["orders"])


def test_what_a_topology_makes_is_found_whatever_has_made_it_and_however_it_is_called() -> None:
    builder = StreamsBuilder()
    orders = builder.table("in-orders", key=string(), value=string())
    customers = builder.table("in-customers", key=string(), value=string())
    for name in (None, "by-customer"):
        joined = orders.join(
            customers, lambda a, b: a + b, foreign_key=lambda value: value, name=name
        )
        joined.suppress(Suppressed.until_time_limit(timedelta(seconds=1)))
    words = builder.stream("in-words", key=string(), value=string())
    for name in (None, "by-word"):
        moved = words.group_by(lambda _, word: word, key=string(), value=string(), name=name)
        moved.count(materialized=None if name is None else Materialized("counts"))
        other = builder.stream(f"in-other-{name}", key=string(), value=string())
        words.join(
            other,
            lambda a, b: a + b,
            windows=JoinWindows(1_000, 1_000),
            joined=None if name is None else StreamJoined(name="pairs", store_name="pairs"),
        )
    made = internal_names(builder.build(), "orders")
    assert len(made) == 20, "each operator makes its own"
    assert internal_topics("orders", [*made, "in-orders", "in-words"], []) == tuple(sorted(made))
