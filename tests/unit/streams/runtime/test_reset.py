"""What belongs to an application alone."""

from __future__ import annotations

from millstream.streams.runtime.reset import internal_topics

TOPICS = [
    "orders",
    "orders-by-day",
    "orders-counts-changelog",
    "orders-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition",
    "orders-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
    "orders-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
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
        "orders-counts-changelog",
        "orders-millstream-paused",
    )


def test_an_application_with_a_longer_id_keeps_its_own() -> None:
    assert internal_topics("orders-eu", TOPICS, []) == (
        "orders-eu-counts-changelog",
        "orders-eu-millstream-paused",
    )
    assert "orders-eu-counts-changelog" in internal_topics("orders", TOPICS, ["orders"])
