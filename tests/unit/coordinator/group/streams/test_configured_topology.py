"""A topology set against the topics that exist (KIP-1071, "Topology initialization"), with the numbers Kafka derives."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from millstream.coordinator.group.streams.configured_topology import (
    ConfiguredTopology,
    configure_topology,
)
from millstream.coordinator.group.streams.topology import StreamsTopology, topology_value
from millstream.errors import StreamsInvalidTopology
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.streams_group_heartbeat import Subtopology
from tests.support.coordinators.coordinator import topics_image
from tests.support.coordinators.streams_group import subtopology, topology


def configure(sizes: Mapping[str, int], *subtopologies: Subtopology) -> ConfiguredTopology:
    value = topology_value(topology(*subtopologies))
    return configure_topology(StreamsTopology.from_value(value), topics_image(sizes), 7)


def problem(configured: ConfiguredTopology) -> tuple[StreamsGroupStatus, str]:
    assert configured.problem is not None
    return configured.problem.code, configured.problem.detail


def missing(configured: ConfiguredTopology) -> dict[str, int]:
    return {topic.name: topic.partitions for topic in configured.missing_topics.values()}


def test_a_subtopology_has_a_task_for_each_partition_of_its_largest_source() -> None:
    configured = configure({"a": 2, "b": 5}, subtopology(sources=["a", "b"]))
    assert configured.is_ready
    assert configured.subtopologies["0"].task_count == 5


def test_missing_source_topics_are_named_up_to_three() -> None:
    configured = configure({}, subtopology(sources=["d", "b", "a", "c"]))
    assert problem(configured) == (
        StreamsGroupStatus.MISSING_SOURCE_TOPICS,
        "Source topics a, b, c and 1 additional topics are missing.",
    )
    assert missing(configured) == {}


def test_a_changelog_gets_a_partition_for_each_task() -> None:
    configured = configure({"a": 4}, subtopology(sources=["a"], changelogs=["store-changelog"]))
    assert problem(configured) == (
        StreamsGroupStatus.MISSING_INTERNAL_TOPICS,
        "Internal topics are missing: store-changelog",
    )
    assert missing(configured) == {"store-changelog": 4}


def test_a_repartition_topic_follows_the_sources_of_whoever_writes_to_it() -> None:
    configured = configure(
        {"a": 3},
        subtopology("0", sources=["a"], sinks=["r"]),
        subtopology("1", repartitions={"r": 0}, changelogs=["c"]),
    )
    assert missing(configured) == {"r": 3, "c": 3}


def test_a_chain_of_repartition_topics_is_followed_to_its_end() -> None:
    configured = configure(
        {"a": 3},
        subtopology("2", repartitions={"s": 0}, changelogs=["c"]),
        subtopology("1", repartitions={"r": 0}, sinks=["s"]),
        subtopology("0", sources=["a"], sinks=["r"]),
    )
    assert missing(configured) == {"r": 3, "s": 3, "c": 3}


def test_a_fixed_number_of_partitions_is_kept() -> None:
    configured = configure(
        {"a": 3},
        subtopology("0", sources=["a"], sinks=["r"]),
        subtopology("1", repartitions={"r": 6}, changelogs=["c"]),
    )
    assert missing(configured) == {"r": 6, "c": 6}


def test_a_repartition_topic_that_nobody_writes_to_is_refused() -> None:
    with pytest.raises(StreamsInvalidTopology, match="never used as a sink"):
        configure({"a": 3}, subtopology("0", sources=["a"], repartitions={"r": 0}))


def test_repartition_topics_that_only_feed_each_other_are_refused() -> None:
    with pytest.raises(StreamsInvalidTopology, match="loops"):
        configure(
            {},
            subtopology("0", repartitions={"r": 0}, sinks=["s"]),
            subtopology("1", repartitions={"s": 0}, sinks=["r"]),
        )


def test_a_subtopology_without_sources_is_refused() -> None:
    with pytest.raises(StreamsInvalidTopology, match="No source topics found for subtopology 0"):
        configure({}, subtopology("0", changelogs=["c"]))


def test_copartitioned_source_topics_must_have_one_size() -> None:
    configured = configure(
        {"a": 2, "b": 3}, subtopology(sources=["b", "a"], copartitioned=[["a", "b"]])
    )
    assert problem(configured) == (
        StreamsGroupStatus.INCORRECTLY_PARTITIONED_TOPICS,
        "Following topics do not have the same number of partitions: [{a=2, b=3}]",
    )


def test_a_repartition_topic_takes_the_size_of_the_topic_it_is_joined_with() -> None:
    configured = configure(
        {"a": 2, "b": 5},
        subtopology("0", sources=["a"], sinks=["r"]),
        subtopology("1", sources=["b"], repartitions={"r": 0}, copartitioned=[["b", "r"]]),
    )
    assert missing(configured) == {"r": 5}


def test_copartitioned_repartition_topics_take_the_largest_size() -> None:
    configured = configure(
        {"a": 2, "b": 5},
        subtopology("0", sources=["a"], sinks=["r"]),
        subtopology("1", sources=["b"], sinks=["s"]),
        subtopology("2", repartitions={"r": 0, "s": 0}, copartitioned=[["r", "s"]]),
    )
    assert missing(configured) == {"r": 5, "s": 5}


def test_a_fixed_size_decides_for_all_that_are_copartitioned_with_it() -> None:
    configured = configure(
        {"a": 2, "b": 5},
        subtopology("0", sources=["a"], sinks=["r"]),
        subtopology("1", sources=["b"], sinks=["s"]),
        subtopology("2", repartitions={"r": 3, "s": 0}, copartitioned=[["r", "s"]]),
    )
    assert missing(configured) == {"r": 3, "s": 3}


def test_a_fixed_size_that_contradicts_a_joined_source_is_told() -> None:
    configured = configure(
        {"a": 2, "b": 5},
        subtopology("0", sources=["a"], sinks=["r"]),
        subtopology("1", sources=["b"], repartitions={"r": 3}, copartitioned=[["b", "r"]]),
    )
    assert problem(configured) == (
        StreamsGroupStatus.INCORRECTLY_PARTITIONED_TOPICS,
        (
            "Number of partitions [3] of repartition topic [r] doesn't match "
            "number of partitions [5] of the source topic."
        ),
    )


def test_fixed_sizes_that_contradict_each_other_are_told() -> None:
    configured = configure(
        {"a": 2},
        subtopology("0", sources=["a"], sinks=["r", "s"]),
        subtopology("1", repartitions={"r": 3, "s": 4}, copartitioned=[["r", "s"]]),
    )
    assert problem(configured) == (
        StreamsGroupStatus.INCORRECTLY_PARTITIONED_TOPICS,
        "Following topics do not have the same number of partitions: [{r=3, s=4}]",
    )


def test_an_internal_topic_that_exists_with_another_size_is_told() -> None:
    configured = configure({"a": 4, "c": 2}, subtopology(sources=["a"], changelogs=["c"]))
    assert problem(configured) == (
        StreamsGroupStatus.INCORRECTLY_PARTITIONED_TOPICS,
        "Existing topic c has different number of partitions: expected 4, found 2",
    )


def test_a_topology_is_ready_when_its_internal_topics_exist() -> None:
    configured = configure({"a": 4, "c": 4}, subtopology(sources=["a"], changelogs=["c"]))
    assert configured.is_ready
    assert configured.subtopologies["0"].is_stateful


def test_a_copartition_group_must_name_topics_of_its_subtopology() -> None:
    wrong = subtopology(sources=["a"], copartitioned=[["a"]])
    wrong.copartition_groups[0].source_topics = [1]
    with pytest.raises(StreamsInvalidTopology):
        configure({"a": 1}, wrong)


def test_an_internal_topic_is_created_with_its_configs_and_the_default_replication() -> None:
    sub = subtopology(sources=["a"], changelogs=["c"])
    creatable = configure({"a": 2}, sub).missing_topics["c"].creatable()
    assert (creatable.name, creatable.num_partitions, creatable.replication_factor) == ("c", 2, -1)
