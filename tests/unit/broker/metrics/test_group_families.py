"""Groups are counted of shards that no thread works on, looked at anew for each family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from millstream.broker.metrics.exposition import MetricFamily
from millstream.broker.metrics.group_families import group_families
from millstream.broker.metrics.node_metrics import GroupMetrics
from millstream.coordinator.group.config import GroupCoordinatorConfig
from tests.support.coordinators.consumer_group import SimConsumerGroup
from tests.support.coordinators.coordinator import SimCoordinator
from tests.support.node_views import given_broker


@dataclass
class Led:
    """A partition of the coordinator's topic."""

    _shard: Any  # Any: a shard of groups
    is_lent: bool = False

    @property
    def shard(self) -> Any:  # Any: as above
        assert not self.is_lent, "a thread has it"
        return self._shard


@dataclass
class GroupCoordinator:
    shards: list[Led] = field(default_factory=list)


class NoPartitions:
    def all(self) -> tuple[()]:
        return ()


def families_of(led: Led) -> Iterator[MetricFamily]:
    coordinator: Any = GroupCoordinator([led])
    partitions: Any = NoPartitions()
    broker = given_broker(group_coordinator=coordinator, partitions=partitions)
    return group_families(GroupMetrics(), broker)


def a_group() -> SimConsumerGroup:
    group = SimConsumerGroup(SimCoordinator(GroupCoordinatorConfig()))
    group.set_topics({"t": 1})
    group.joins("m", "t")
    return group


def test_groups_of_a_shard_are_counted_by_kind_and_state_and_told_one_by_one() -> None:
    group = a_group()
    samples = {each.name: each.samples for each in families_of(Led(group.coordinator.shard))}
    of_group = {"group_id": group.group_id}
    counted = samples["kafka_server_group_coordinator_metrics_consumer_group_count"]
    assert [(each.value, each.labels) for each in counted] == [(1, {"state": "Stable"})]
    assert samples["kafka_server_group_coordinator_metrics_classic_group_count"] == []
    (told,) = samples["kafka_consumer_group_info"]
    assert told.labels == {**of_group, "state": "Stable", "kind": "consumer"}
    assert [(each.value, each.labels) for each in samples["kafka_consumer_group_members"]] == [
        (1, of_group)
    ]


def test_a_shard_that_is_lent_to_a_thread_between_two_families_is_left_alone() -> None:
    """The thread changes its groups and offsets: who walks through them meanwhile has the page break off."""
    led = Led(a_group().coordinator.shard)
    families = families_of(led)
    next(families)
    led.is_lent = True
    samples = {each.name: each.samples for each in families}
    assert samples["kafka_consumer_group_info"] == samples["kafka_consumer_group_members"] == []
