"""The topology as the coordinator of a group is told it: topics by their real names, co-partitioned ones by their places."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.protocol.generated.streams_group_heartbeat import CopartitionGroup, TopicInfo
from millstream.streams import JoinWindows, Materialized, StreamsBuilder, StreamsConfig
from millstream.streams.application.group.topology_description import describe
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import string


def names(topics: list[TopicInfo]) -> list[tuple[str, int]]:
    return [(topic.name, topic.partitions) for topic in topics]


def test_a_count_over_a_repartition_topic_is_two_sub_topologies() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=string(), value=string()).group_by(
        lambda _, value: value, key=string(), value=string(), name="by-value"
    ).count(name="counts")
    told = describe(builder.build(), "app")
    assert told.epoch == 0
    writing, counting = told.subtopologies
    assert (writing.subtopology_id, writing.source_topics) == ("0", ["in"])
    assert writing.repartition_sink_topics == ["app-by-value-repartition"]
    assert (counting.subtopology_id, counting.source_topics) == ("1", [])
    assert names(counting.repartition_source_topics) == [("app-by-value-repartition", 0)]
    assert [name for name, count in names(counting.state_changelog_topics) if not count] == [
        topic.name for topic in counting.state_changelog_topics
    ]
    (changelog,) = counting.state_changelog_topics
    assert changelog.replication_factor == -1
    assert {each.key: each.value for each in changelog.topic_configs}["cleanup.policy"] == "compact"


def test_a_source_topic_that_is_a_changelog_counts_as_state() -> None:
    builder = StreamsBuilder(optimization="all")
    kept: Materialized[str, str] = Materialized("rows")
    rows = builder.table("rows", key=string(), value=string(), materialized=kept)
    rows.to_stream().to("out")
    (told,) = describe(builder.build(), "app").subtopologies
    assert told.source_topics == ["rows"]
    assert names(told.state_changelog_topics) == [("rows", 0)]


def test_but_not_where_another_source_may_have_more_partitions() -> None:
    builder = StreamsBuilder(optimization="all")
    kept: Materialized[str, str] = Materialized("rows")
    rows = builder.table("rows", key=string(), value=string(), materialized=kept)
    rows.to_stream().merge(builder.stream("more", key=string(), value=string())).to("out")
    (told,) = describe(builder.build(), "app").subtopologies
    assert (told.source_topics, told.state_changelog_topics) == (["more", "rows"], [])
    joined = StreamsBuilder(optimization="all")
    rows = joined.table("rows", key=string(), value=string())
    joined.stream("more", key=string(), value=string()).join(rows, lambda x, y: x + y).to("out")
    (told,) = describe(joined.build(), "app").subtopologies
    assert names(told.state_changelog_topics) == [("rows", 0)]


def test_topics_that_are_joined_are_told_by_their_places() -> None:
    builder = StreamsBuilder()
    left = builder.stream("b", key=string(), value=string())
    right = builder.stream("a", key=string(), value=string())
    left.join(right, lambda x, y: x + y, windows=JoinWindows.of(timedelta(seconds=1)))
    (joining,) = describe(builder.build(), "app").subtopologies
    assert joining.source_topics == ["a", "b"]
    assert joining.copartition_groups == [CopartitionGroup([0, 1], [], [])]


def test_sources_by_pattern_are_refused_with_a_way_out() -> None:
    builder = StreamsBuilder()
    builder.stream(pattern="in-.*", key=string(), value=string(), name="all").to("out")
    topology = builder.build()
    with pytest.raises(TopologyError, match=r'all reads .* \(in-\.\*\).*group_protocol="classic"'):
        KafkaStreams(topology, StreamsConfig("app"), {"bootstrap.servers": "localhost:1"})
    config = StreamsConfig("app", group_protocol="classic")
    assert KafkaStreams(topology, config, {"bootstrap.servers": "localhost:1"}).error is None
