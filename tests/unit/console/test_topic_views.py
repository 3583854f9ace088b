from __future__ import annotations

from millstream.clients import OffsetAndTimestamp
from millstream.clients.admin import (
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    Results,
    TopicDescription,
)
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.console.views.configs import ConfigRow, config_rows
from millstream.console.views.offsets import PartitionOffsets, offset_ranges, total
from millstream.console.views.paging import Page
from millstream.console.views.records import RecordsView
from millstream.console.views.topic import topic_view
from millstream.console.views.topics import TopicRow, topics_view
from millstream.errors import LeaderNotAvailable, TopicAuthorizationFailed, UnknownTopicOrPartition
from millstream.model import ZERO_UUID, TopicPartition

FLIGHTS = TopicDescription(
    "flights",
    ZERO_UUID,
    False,
    [
        PartitionDescription(0, 1, 4, (1, 2), (1, 2)),
        PartitionDescription(1, -1, 5, (1, 2), ()),
    ],
)
PAGE = Page("", 1, 1, 1)
DEFAULT = ConfigEntry("segment.bytes", "1", ConfigSource.DEFAULT_CONFIG, False, False)
SET = ConfigEntry("retention.ms", "9", ConfigSource.TOPIC_CONFIG, False, False)
OF_ALL_BROKERS = ConfigEntry(
    "min.insync.replicas", "1", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, False, False
)
"""A new cluster of Kafka 4 has it; nobody set it for any topic."""
SECRET = ConfigEntry("a.password", "x", ConfigSource.STATIC_BROKER_CONFIG, True, False)


def at(offset: int) -> OffsetAndTimestamp:
    return OffsetAndTimestamp(offset, -1)


def test_a_range_counts_end_minus_start() -> None:
    zero = TopicPartition("flights", 0)
    assert offset_ranges({zero: at(10)}, {zero: at(25)}) == {zero: PartitionOffsets(10, 25, 15)}


def test_a_range_says_why_an_offset_is_missing() -> None:
    zero, one = TopicPartition("flights", 0), TopicPartition("flights", 1)
    gone = LeaderNotAvailable("no leader")
    assert offset_ranges({zero: gone, one: at(3)}, {zero: gone, one: gone}) == {
        zero: PartitionOffsets(None, None, None, "no leader"),
        one: PartitionOffsets(3, None, None, "no leader"),
    }


def test_a_total_with_an_unknown_part_is_unknown() -> None:
    assert total([1, 2]) == 3
    assert total([]) == 0
    assert total([1, None]) is None


def test_configs_that_were_set_come_first_and_secrets_are_hidden() -> None:
    assert config_rows([DEFAULT, SET, SECRET]) == (
        ConfigRow("a.password", None, "broker, configuration file", False, True),
        ConfigRow("retention.ms", "9", "topic", False, False),
        ConfigRow("segment.bytes", "1", "default", True, False),
    )


def test_the_list_shows_totals_and_only_what_was_set_for_the_topic() -> None:
    ranges = {
        TopicPartition("flights", 0): PartitionOffsets(0, 5, 5),
        TopicPartition("flights", 1): PartitionOffsets(2, 4, 2),
    }
    configs = Results(
        {
            ConfigResource(ConfigResourceType.TOPIC, "flights"): {
                "segment.bytes": DEFAULT,
                "retention.ms": SET,
                "min.insync.replicas": OF_ALL_BROKERS,
            }
        }
    )
    view = topics_view(["flights"], PAGE, Results({"flights": FLIGHTS}), ranges, configs)
    assert view.topics == (
        TopicRow(
            "flights",
            partition_count=2,
            replication_factor=2,
            under_replicated_count=1,
            record_count=7,
            changed_configs=(ConfigRow("retention.ms", "9", "topic", False, False),),
        ),
    )


def test_a_topic_that_cannot_be_described_keeps_its_place_in_the_list() -> None:
    view = topics_view(
        ["gone"], PAGE, Results({"gone": UnknownTopicOrPartition("gone: deleted")}), {}, Results()
    )
    assert view.topics == (TopicRow("gone", error="gone: deleted"),)


def test_one_topic_shows_its_partitions_also_where_offsets_are_unknown() -> None:
    view = topic_view(
        FLIGHTS,
        {TopicPartition("flights", 0): PartitionOffsets(0, 5, 5)},
        TopicAuthorizationFailed("may not"),
        RecordsView(0, ()),
    )
    assert [
        (row.partition, row.leader, row.out_of_sync, row.offsets.end) for row in view.partitions
    ] == [
        (0, 1, (), 5),
        (1, -1, (1, 2), None),
    ]
    assert view.record_count is None
    assert (view.configs, view.configs_error) == ((), "may not")


def test_who_fell_out_who_may_lead_and_who_should_lead_is_told() -> None:
    described = FLIGHTS._replace(
        partitions=[
            PartitionDescription(0, 2, 4, (1, 2, 3), (2,), (), (3,)),
            PartitionDescription(1, 1, 4, (1, 2, 3), (1, 2, 3), (), None),
        ]
    )
    rows = topic_view(described, {}, {}, RecordsView(0, ())).partitions
    assert [(row.out_of_sync, row.eligible, row.is_led_elsewhere) for row in rows] == [
        ((1, 3), (3,), True),
        ((), (), False),
    ]
