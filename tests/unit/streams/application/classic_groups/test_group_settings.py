"""Settings of a group are checked when they are given, and processors see them by Kafka's names."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import ConfigError
from millstream.streams import StreamsConfig
from millstream.streams.config import GroupProtocol, RackAwareStrategy


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"group_protocol": "consumer"},
            "group_protocol must be streams or classic, not 'consumer'",
        ),
        (
            {"rack_aware_assignment_strategy": "near"},
            "must be none or min_traffic or balance_subtopology, not 'near'",
        ),
        ({"group_instance_id": "one"}, "needs group_protocol=classic"),
    ],
)
def test_names_that_do_not_exist_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        StreamsConfig("app", **given)


@pytest.mark.parametrize(
    "name", ["max_warmup_replicas", "acceptable_recovery_lag", "rack_aware_assignment_traffic_cost"]
)
def test_numbers_below_the_least_are_refused(name: str) -> None:
    given: dict[str, Any] = {name: -1}
    with pytest.raises(ValueError, match=rf"{name} must be at least"):
        StreamsConfig("app", **given)


def test_text_becomes_what_it_names_and_processors_see_kafkas_names() -> None:
    config = StreamsConfig(
        "app",
        group_protocol="classic",
        group_instance_id="one",
        rack_aware_assignment_strategy="min_traffic",
        client_tags={"zone": "a"},
        rack_aware_assignment_tags=["zone", "shelf"],
    )
    assert config.group_protocol is GroupProtocol.CLASSIC
    assert config.rack_aware_assignment_strategy is RackAwareStrategy.MIN_TRAFFIC
    seen = config.as_settings()
    assert seen["group.protocol"] == "classic"
    assert seen["group.instance.id"] == "one"
    assert seen["client.tag.zone"] == "a"
    assert seen["rack.aware.assignment.tags"] == "zone,shelf"
