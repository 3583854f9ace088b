"""The list of topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.clients.admin import (
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    Results,
    TopicDescription,
)
from millstream.console.views.configs import ConfigRow, changed_config_rows
from millstream.console.views.offsets import UNKNOWN_RANGE, PartitionOffsets, total
from millstream.console.views.paging import Page
from millstream.errors import KafkaError
from millstream.model import TopicPartition


@dataclass(frozen=True, slots=True)
class TopicRow:
    """With an `error` nothing else is known but the name. `record_count`: see PartitionOffsets."""

    name: str
    is_internal: bool = False
    partition_count: int = 0
    replication_factor: int = 0
    under_replicated_count: int = 0
    record_count: int | None = None
    changed_configs: tuple[ConfigRow, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TopicsView:
    page: Page
    topics: tuple[TopicRow, ...]


def topics_view(
    names: Sequence[str],
    page: Page,
    topics: Results[str, TopicDescription],
    ranges: Mapping[TopicPartition, PartitionOffsets],
    configs: Results[ConfigResource, dict[str, ConfigEntry]],
) -> TopicsView:
    return TopicsView(page, tuple(_row(name, topics[name], ranges, configs) for name in names))


def _row(
    name: str,
    topic: TopicDescription | KafkaError,
    ranges: Mapping[TopicPartition, PartitionOffsets],
    configs: Results[ConfigResource, dict[str, ConfigEntry]],
) -> TopicRow:
    if isinstance(topic, KafkaError):
        return TopicRow(name, error=str(topic))
    entries = configs.get(ConfigResource(ConfigResourceType.TOPIC, name))
    return TopicRow(
        name=name,
        is_internal=topic.is_internal,
        partition_count=len(topic.partitions),
        replication_factor=max((len(each.replicas) for each in topic.partitions), default=0),
        under_replicated_count=sum(len(each.isr) < len(each.replicas) for each in topic.partitions),
        record_count=total(
            ranges.get(TopicPartition(name, each.partition), UNKNOWN_RANGE).record_count
            for each in topic.partitions
        ),
        changed_configs=changed_config_rows(entries.values()) if isinstance(entries, dict) else (),
        error=str(entries) if isinstance(entries, KafkaError) else None,
    )
