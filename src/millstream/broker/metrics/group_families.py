"""The metric families of groups: how many of each kind and state, their members, and their lag.

Lag is read off the committed offsets and the high watermarks when metrics are asked for, of
partitions that this node leads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample, counter, gauge
from millstream.broker.metrics.node_metrics import GroupMetrics
from millstream.broker.metrics.node_view import BrokerView
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.group import Group, GroupKind
from millstream.coordinator.group.offsets.store import OffsetStore
from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.model import TopicPartition

_COORDINATOR: Final = "kafka_server_group_coordinator_metrics"
_GROUP: Final = "kafka_consumer_group"
_REBALANCE_COUNTS: Final = {
    GroupKind.CLASSIC: "group_completed_rebalance_count",
    GroupKind.CONSUMER: "consumer_group_rebalance_count",
    GroupKind.SHARE: "share_group_rebalance_count",
    GroupKind.STREAMS: "streams_group_rebalance_count",
}


def group_families(metrics: GroupMetrics, broker: BrokerView) -> Iterator[MetricFamily]:
    """Yields the families of groups, each from shards that no thread works on at the moment.

    Others have their turn between two families: a shard may be lent to a thread by the next one, or be back.
    """
    yield from _counts(_groups(broker))
    yield from _written(metrics)
    yield MetricFamily(
        f"{_GROUP}_info",
        MetricKind.GAUGE,
        "1 for each group, with its kind and state.",
        [
            Sample(1, _labels(group, state=group.state_name, kind=group.kind))
            for group in _groups(broker)
        ],
    )
    yield MetricFamily(
        f"{_GROUP}_members",
        MetricKind.GAUGE,
        "Members of each group.",
        [Sample(_member_count(group), _labels(group)) for group in _groups(broker)],
    )
    yield from _lags(broker, [shard.offsets for shard in _shards(broker)])


def _shards(broker: BrokerView) -> list[GroupShard]:
    return [each.shard for each in broker.group_coordinator.shards if not each.is_lent]


def _groups(broker: BrokerView) -> list[Group]:
    return [group for shard in _shards(broker) for group in shard.groups]


def _labels(group: Group, **more: str) -> dict[str, str]:
    return {"group_id": group.group_id, **more}


def _member_count(group: Group) -> int:
    match group:
        case ClassicGroup() | ConsumerGroup() | ShareGroup() | StreamsGroup():
            return len(group.members)
        case _:
            return 0


def _counts(groups: list[Group]) -> Iterator[MetricFamily]:
    """All of them are counted before the first is given."""
    kinds = Counter(group.kind for group in groups)
    states = Counter((group.kind, group.state_name) for group in groups)
    yield MetricFamily(
        f"{_COORDINATOR}_group_count",
        MetricKind.GAUGE,
        "Groups that this node coordinates, by protocol.",
        [Sample(kinds[kind], {"protocol": kind}) for kind in GroupKind],
    )
    for kind in GroupKind:
        yield MetricFamily(
            f"{_COORDINATOR}_{kind}_group_count",
            MetricKind.GAUGE,
            f"{kind.capitalize()} groups by state.",
            [
                Sample(number, {"state": state})
                for (of_kind, state), number in sorted(states.items())
                if of_kind is kind
            ],
        )


def _written(metrics: GroupMetrics) -> Iterator[MetricFamily]:
    yield _counter("offset_commit_count", "Offsets committed.", metrics.offset_commits)
    yield _counter(
        "offset_removal_count", "Offsets that expired or were deleted.", metrics.offsets_removed
    )
    for kind, name in _REBALANCE_COUNTS.items():
        yield _counter(name, f"Rebalances of {kind} groups.", metrics.rebalances[kind])


def _counter(name: str, doc: str, value: int) -> MetricFamily:
    return counter(f"{_COORDINATOR}_{name}", doc, value)


def _lags(broker: BrokerView, stores: list[OffsetStore]) -> Iterator[MetricFamily]:
    ends = {place: p.high_watermark for place, p in broker.partitions.all() if p.is_leader}
    by_partition: list[Sample] = []
    by_topic: Counter[tuple[str, str]] = Counter()
    offsets = 0
    for store in stores:
        for group_id in store.group_ids():
            for topic, partitions in store.of_group(group_id).items():
                offsets += len(partitions)
                for number, stored in partitions.items():
                    end = ends.get(TopicPartition(topic, number))
                    if end is None:
                        continue
                    lag = max(0, end - stored.value.offset)
                    labels = {"group_id": group_id, "topic_name": topic}
                    by_partition.append(Sample(lag, {**labels, "partition_id": str(number)}))
                    by_topic[group_id, topic] += lag
    yield gauge(
        "kafka_coordinator_group_groupmetadatamanager_numoffsets", "Committed offsets.", offsets
    )
    yield MetricFamily(
        f"{_GROUP}_topic_partition_lag",
        MetricKind.GAUGE,
        "Records between a group's committed offset and the end of a partition.",
        by_partition,
    )
    yield MetricFamily(
        f"{_GROUP}_topic_lag",
        MetricKind.GAUGE,
        "The same, summed over the partitions of a topic.",
        [
            Sample(lag, {"group_id": group_id, "topic_name": topic})
            for (group_id, topic), lag in by_topic.items()
        ],
    )
