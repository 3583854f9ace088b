"""A broker looks at changes of its own configurations before it passes them on: only it knows what it was started with."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.own_changes import check_pool_sizes, refusals
from millstream.errors import ConfigError
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.incremental_alter_configs import AlterConfigsResource

TOPIC, BROKER = 2, 4
OWN = ConfigResource(ConfigResourceType.BROKER, "5")
ALL = ConfigResource(ConfigResourceType.BROKER, "")


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ({}, {"num.io.threads": "17"}, "not greater than double the current value 8"),
        ({}, {"num.io.threads": "16"}, None),
        ({}, {"num.io.threads": "4"}, None),
        ({}, {"num.io.threads": "3"}, "at least half the current value 8"),
        ({"num.io.threads": "3"}, {"num.io.threads": "0"}, "at least 1"),
        ({}, {"log.cleaner.threads": "3"}, "double"),
        ({}, {"num.io.threads": "many"}, "whole number"),
        ({"num.io.threads": "100"}, {}, None),
    ],
)
def test_pools_at_most_double_and_at_most_halve(
    before: dict[str, str], after: dict[str, str], sentence: str | None
) -> None:
    if sentence is None:
        check_pool_sizes(before, after)
        return
    with pytest.raises(ConfigError, match=sentence):
        check_pool_sizes(before, after)


def judged(
    name: str, after: Mapping[str, str], image: MetadataImage | None = None, kind: int = BROKER
) -> str:
    """Returns what broker 5, which was started with 20 threads, has against a change."""
    resource = AlterConfigsResource(resource_type=kind, resource_name=name)
    config = broker_config({"node.id": "5", "num.io.threads": "20", "log.dirs": "/own-1,/own-2"})
    found = refusals([resource], lambda *_: dict(after), config, image or MetadataImage())
    return str(found.get(0, ""))


@pytest.mark.parametrize("name", ["5", ""])
def test_a_pool_is_compared_with_what_the_broker_was_started_with(name: str) -> None:
    assert judged(name, {"num.io.threads": "40"}) == ""
    assert "double the current value 20" in judged(name, {"num.io.threads": "41"})
    assert "half the current value 20" in judged(name, {"num.io.threads": "9"})


def test_a_pool_is_compared_with_what_was_changed_since() -> None:
    image = MetadataImage(configs={OWN: {"num.io.threads": "40"}})
    assert judged("5", {"num.io.threads": "80"}, image) == ""
    assert "half the current value 40" in judged("5", {"num.io.threads": "19"}, image)


def test_what_is_for_all_brokers_does_not_count_where_this_one_has_its_own() -> None:
    image = MetadataImage(configs={OWN: {"num.io.threads": "40"}})
    assert judged("", {"num.io.threads": "1000"}, image) == ""
    image = MetadataImage(configs={ALL: {"num.io.threads": "40"}})
    assert "double the current value 40" in judged("", {"num.io.threads": "81"}, image)
    assert judged("5", {"num.io.threads": "80"}, image) == ""


def test_values_are_judged_beside_what_the_broker_was_started_with() -> None:
    """Not by the controller, whose directories are others, or none."""
    assert judged("5", {"cordoned.log.dirs": "/own-2"}) == ""
    assert "/other is none of log.dirs" in judged("5", {"cordoned.log.dirs": "/other"})


def test_what_is_fixed_is_left_to_the_controller() -> None:
    assert judged("5", {"log.dirs": "/other", "process.roles": "controller"}) == ""


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("6", "Unexpected broker id, expected 5, but received 6"),
        ("x", "Node id must be an integer, but it is: x"),
    ],
)
def test_a_broker_passes_on_nothing_for_another_one(name: str, sentence: str) -> None:
    assert judged(name, {}) == sentence


def test_topics_and_what_stands_twice_are_left_to_the_controller() -> None:
    assert judged("5", {"num.io.threads": "1000"}, kind=TOPIC) == ""
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="6")
    config = broker_config({"node.id": "5"})
    assert refusals([resource] * 2, lambda *_: {}, config, MetadataImage()) == {}
