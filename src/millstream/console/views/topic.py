"""The page of one topic: partitions, configs, and the latest records of one partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.clients.admin import ConfigEntry, TopicDescription
from millstream.console.views.configs import ConfigRow, config_rows
from millstream.console.views.offsets import UNKNOWN_RANGE, PartitionOffsets, total
from millstream.console.views.records import RecordsView
from millstream.errors import KafkaError
from millstream.model import TopicPartition, uuid_text


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """`leader` is -1 while there is none. Offsets are None where they are not known."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    out_of_sync: tuple[int, ...]
    """Replicas that fell out of the ISR."""
    eligible: tuple[int, ...]
    """Of those, the ones that have all records and may lead (KIP-966)."""
    is_led_elsewhere: bool
    """Another replica leads than the first, which is preferred."""
    offsets: PartitionOffsets


@dataclass(frozen=True, slots=True)
class TopicView:
    name: str
    topic_id: str
    is_internal: bool
    record_count: int | None
    partitions: tuple[PartitionRow, ...]
    configs: tuple[ConfigRow, ...]
    configs_error: str | None
    records: RecordsView


def topic_view(
    topic: TopicDescription,
    ranges: Mapping[TopicPartition, PartitionOffsets],
    configs: dict[str, ConfigEntry] | KafkaError,
    records: RecordsView,
) -> TopicView:
    rows = tuple(
        PartitionRow(
            partition=each.partition,
            leader=each.leader,
            leader_epoch=each.leader_epoch,
            replicas=each.replicas,
            isr=each.isr,
            out_of_sync=each.out_of_sync,
            eligible=each.eligible_leader_replicas or (),
            is_led_elsewhere=each.is_led_elsewhere,
            offsets=ranges.get(TopicPartition(topic.name, each.partition), UNKNOWN_RANGE),
        )
        for each in topic.partitions
    )
    failed = isinstance(configs, KafkaError)
    return TopicView(
        name=topic.name,
        topic_id=uuid_text(topic.topic_id),
        is_internal=topic.is_internal,
        record_count=total(row.offsets.record_count for row in rows),
        partitions=rows,
        configs=() if isinstance(configs, KafkaError) else config_rows(configs.values()),
        configs_error=str(configs) if failed else None,
        records=records,
    )
