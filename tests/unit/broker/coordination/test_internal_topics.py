"""The configuration of internal topics that coordinators are safe with."""

from __future__ import annotations

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.coordination.internal_topics import internal_topic


@pytest.mark.parametrize(
    ("topic", "setting"),
    [
        ("__transaction_state", "transaction.state.log.min.isr"),
        ("__share_group_state", "share.coordinator.state.topic.min.isr"),
    ],
)
def test_coordinators_have_their_own_min_insync_replicas(topic: str, setting: str) -> None:
    created = internal_topic(topic, broker_config({setting: "3"}))
    assert created is not None
    assert {each.name: each.value for each in created.configs}["min.insync.replicas"] == "3"


def test_offsets_have_those_of_the_broker() -> None:
    """As Kafka 4.3.1: `min.insync.replicas` counts for a topic that has none of its own."""
    created = internal_topic("__consumer_offsets", broker_config({}))
    assert created is not None
    assert "min.insync.replicas" not in {each.name for each in created.configs}


def test_the_state_of_transactions_never_has_an_unclean_leader() -> None:
    created = internal_topic("__transaction_state", broker_config({}))
    assert created is not None
    assert {each.name: each.value for each in created.configs}[
        "unclean.leader.election.enable"
    ] == "false"
