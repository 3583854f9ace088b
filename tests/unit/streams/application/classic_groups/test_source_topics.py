"""What the members of a classic group subscribe to, and the topics of a task that they were given."""

from __future__ import annotations

import pytest

from millstream.streams import Materialized, StreamsBuilder
from millstream.streams.application.group.classic.source_topics import SourceTopics
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import string

REPARTITION = "app-by-value-repartition"
EXISTING = ["words", "in-1", "in-2", "app-counts-changelog", REPARTITION, "out"]


def sources(*patterns: str, name: str = "words") -> SourceTopics:
    """A stream of a topic, one of each pattern, and a count over a repartition topic of all of them."""
    builder = StreamsBuilder()
    stream = builder.stream(name, key=string(), value=string())
    for pattern in patterns:
        stream = stream.merge(builder.stream(pattern=pattern, key=string(), value=string()))
    grouped = stream.group_by(lambda _, v: v, key=string(), value=string(), name="by-value")
    grouped.count(materialized=Materialized("counts")).to_stream().to("out")
    builder.global_table("everywhere", key=string(), value=string())
    return SourceTopics(builder.build(), "app")


def test_without_patterns_all_names_are_subscribed_to() -> None:
    assert sources().subscription([]) == {"words", REPARTITION}
    assert not sources().has_patterns
    assert sources().external == {"words"}


def test_a_source_topic_that_serves_as_a_changelog_is_not_the_applications_own() -> None:
    builder = StreamsBuilder(optimization="all")
    kept: Materialized[str, str] = Materialized("rows")
    builder.table("rows", key=string(), value=string(), materialized=kept).to_stream().to("out")
    assert SourceTopics(builder.build(), "app").external == {"rows"}


def test_with_patterns_what_exists_of_names_and_matches_is_subscribed_to() -> None:
    given = sources("in-.*")
    assert given.subscription(EXISTING) == {"words", "in-1", "in-2", REPARTITION}
    assert given.subscription(["in-1", "xin-1", "in-1x"]) == {"in-1", "in-1x"}


def test_no_pattern_matches_what_the_application_makes_for_itself() -> None:
    assert sources("(app|in)-.*").matched(EXISTING) == {"in-1", "in-2"}


def test_a_topic_of_two_patterns_is_refused() -> None:
    with pytest.raises(TopologyError, match=r"topic in-1 matches pattern .* narrow one of them"):
        sources("in-.*", ".*1").subscription(EXISTING)


def test_the_topics_of_a_task_are_in_the_order_of_its_sources() -> None:
    given = sources("in-.*")
    assert given.of_task(0, ["in-2", "words", "in-1"]) == ("words", "in-1", "in-2")
    assert given.of_task(0, ["in-2"]) == ("in-2",)
    assert given.of_task(1, [REPARTITION]) == (REPARTITION,)


@pytest.mark.parametrize(
    ("sub_topology", "topic"), [(0, "other"), (0, REPARTITION), (1, "in-1"), (2, "in-1")]
)
def test_a_topic_that_no_source_of_the_task_reads_is_refused(sub_topology: int, topic: str) -> None:
    with pytest.raises(TopologyError, match=f"topic {topic} was assigned .* different topologies"):
        sources("in-.*").of_task(sub_topology, [topic])
