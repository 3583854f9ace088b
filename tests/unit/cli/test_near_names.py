"""A name that does not exist is answered with the nearest that does; who cannot tell them changes nothing of the refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from millstream.cli.near_names import or_near_group, with_near_groups, with_near_topics
from millstream.clients.admin import GroupListing, GroupState, GroupType, Results
from millstream.errors import (
    BrokerNotAvailable,
    GroupIdNotFound,
    InvalidConfig,
    KafkaError,
    UnknownTopicOrPartition,
)
from millstream.metadata.config_resource import ConfigResource
from millstream.model import TopicPartition
from millstream.protocol.enums import ConfigResourceType

if TYPE_CHECKING:
    from millstream.clients.blocking import Admin


class FakeAdmin:
    """Knows one topic and one group, or does not answer."""

    def __init__(self, *, answers: bool = True) -> None:
        self.answers = answers
        self.asked = 0

    def list_topics(self) -> dict[str, None]:
        self._ask()
        return {"orders": None}

    def list_groups(self) -> list[GroupListing]:
        self._ask()
        return [GroupListing("readers", "consumer", GroupState.EMPTY, GroupType.CONSUMER)]

    def _ask(self) -> None:
        self.asked += 1
        if not self.answers:
            raise BrokerNotAvailable("gone")


def unknown(*names: object) -> Results[object, None]:
    return Results({name: UnknownTopicOrPartition(f"{name}: unknown") for name in names})


def told(results: Results[object, None]) -> list[str]:
    return [str(error) for error in results.errors().values()]


@pytest.mark.parametrize(
    "key",
    ["order", TopicPartition("order", 3), ConfigResource(ConfigResourceType.TOPIC, "order")],
)
def test_a_topic_is_known_by_whatever_was_asked_of_it(key: object) -> None:
    found = with_near_topics(cast("Admin", FakeAdmin()), unknown(key))
    assert told(found) == [f"{key}: unknown; did you mean orders?"]
    assert isinstance(found.errors()[key], UnknownTopicOrPartition)


def test_where_none_is_near_nothing_is_guessed() -> None:
    found = with_near_topics(cast("Admin", FakeAdmin()), unknown("clicks"))
    assert told(found) == ["clicks: unknown"]


def test_a_partition_that_is_missing_is_no_misspelt_topic() -> None:
    key = TopicPartition("orders", 9)
    assert told(with_near_topics(cast("Admin", FakeAdmin()), unknown(key))) == [f"{key}: unknown"]


def test_the_cluster_is_asked_once_and_only_for_names_that_are_unknown() -> None:
    admin = FakeAdmin()
    fine: Results[object, None] = Results({"a": None, "b": InvalidConfig("x")})
    with_near_topics(cast("Admin", admin), fine)
    assert admin.asked == 0
    with_near_topics(cast("Admin", admin), unknown("order", "oders"))
    assert admin.asked == 1


def test_a_cluster_that_does_not_tell_leaves_the_refusal_as_it_is() -> None:
    admin = cast("Admin", FakeAdmin(answers=False))
    assert told(with_near_topics(admin, unknown("order"))) == ["order: unknown"]
    assert or_near_group(admin, "reader") == ""


def test_groups_too() -> None:
    errors: dict[object, KafkaError | None] = {"reader": GroupIdNotFound("no group reader")}
    admin = cast("Admin", FakeAdmin())
    assert told(with_near_groups(admin, Results(errors))) == [
        "no group reader; did you mean readers?"
    ]
    assert or_near_group(admin, "reader") == "; did you mean readers?"
    assert or_near_group(admin, "readers") == ""
