"""Partitions that need attention: without a leader, with too few replicas in sync, with some out of sync, led by
another than the first. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from millstream.cli.rows import Row
    from millstream.clients.admin import TopicDescription
    from millstream.clients.admin.topics.descriptions import PartitionDescription

COLUMNS: Final = ("topic", "partition", "leader", "replicas", "isr", "out_of_sync", "state")
NO_LEADER: Final = -1
_OFFLINE: Final = "no leader"
_UNDER_MIN_ISR: Final = "under min ISR"
_AT_MIN_ISR: Final = "at min ISR"
_UNDER_REPLICATED: Final = "under-replicated"
_LED_ELSEWHERE: Final = "not led by its first replica"
_WORST_FIRST: Final = (_OFFLINE, _UNDER_MIN_ISR, _AT_MIN_ISR, _UNDER_REPLICATED, _LED_ELSEWHERE)


def troubled_rows(
    topics: Iterable[TopicDescription], min_isr: Mapping[str, int | None]
) -> list[Row]:
    """Returns a row for each partition that is not as it should be, the worst first.

    `min_isr` by topic; None where it is not known.
    """
    rows: list[Row] = []
    for topic in topics:
        for each in topic.partitions:
            state = _state(each, min_isr.get(topic.name))
            if state is not None:
                rows.append(
                    {
                        "topic": topic.name,
                        "partition": each.partition,
                        "leader": None if each.leader == NO_LEADER else each.leader,
                        "replicas": each.replicas,
                        "isr": each.isr,
                        "out_of_sync": each.out_of_sync,
                        "state": state,
                    }
                )
    return sorted(rows, key=lambda row: _WORST_FIRST.index(str(row["state"])))


def counts(
    topics: Iterable[TopicDescription], min_isr: Mapping[str, int | None]
) -> dict[str, object]:
    """Returns how many partitions there are of each kind; one may be of several."""
    offline = under = under_min = at_min = elsewhere = total = 0
    for topic in topics:
        least = min_isr.get(topic.name)
        for each in topic.partitions:
            total += 1
            offline += each.leader == NO_LEADER
            under += len(each.isr) < len(each.replicas)
            elsewhere += each.is_led_elsewhere
            if least is not None:
                under_min += len(each.isr) < min(least, len(each.replicas))
                at_min += len(each.isr) == min(least, len(each.replicas))
    return {
        "partitions": total,
        "partitions_offline": offline,
        "partitions_under_replicated": under,
        "partitions_under_min_isr": under_min,
        "partitions_at_min_isr": at_min,
        "partitions_led_elsewhere": elsewhere,
    }


def _state(partition: PartitionDescription, least: int | None) -> str | None:
    if partition.leader == NO_LEADER:
        return _OFFLINE
    in_sync, replicas = len(partition.isr), len(partition.replicas)
    if least is not None and in_sync < min(least, replicas):
        return _UNDER_MIN_ISR
    if in_sync < replicas:
        return _AT_MIN_ISR if in_sync == least else _UNDER_REPLICATED
    return _LED_ELSEWHERE if partition.is_led_elsewhere else None
