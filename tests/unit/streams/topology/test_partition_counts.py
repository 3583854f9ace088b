"""How many partitions repartition topics get, and which topics must have equally many."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.streams import KStream, StreamsBuilder, Topology
from millstream.streams.errors import TopologyError
from millstream.streams.topology.partition_counts import partition_counts


def both(left: object, right: object) -> object:
    return left, right


def rekeyed(builder: StreamsBuilder, topic: str) -> KStream:
    return builder.stream(topic).select_key(lambda _key, value: value)


def topology(calls: Callable[[StreamsBuilder], object]) -> Topology:
    builder = StreamsBuilder()
    calls(builder)
    return builder.build()


def join(builder: StreamsBuilder) -> None:
    builder.stream("left").join(builder.table("right"), both).to("out")


def repartitioned(partitions: int | None) -> Callable[[StreamsBuilder], object]:
    return lambda b: (
        b.stream("left")
        .repartition(name="mine", partitions=partitions)
        .join(b.table("right"), both)
        .to("out")
    )


def test_a_repartition_topic_is_as_wide_as_the_widest_source_of_its_writers() -> None:
    counts = partition_counts(
        topology(
            lambda b: rekeyed(b, "left").merge(rekeyed(b, "right")).group_by_key(name="g").count()
        ),
        "app",
        {"left": 2, "right": 5, "unread": 9},
    )
    assert counts == {"left": 2, "right": 5, "app-g-repartition": 5}


def test_a_repartition_topic_that_is_there_keeps_its_count_unless_another_is_asked_for() -> None:
    """Kafka Streams refuses the other: nobody would learn that what was asked for has no effect."""

    def rekeys(partitions: int | None) -> Topology:
        return topology(lambda b: b.stream("in").repartition(name="r", partitions=partitions))

    existing = {"in": 8, "app-r-repartition": 2}
    for asked in (None, 2):
        assert partition_counts(rekeys(asked), "app", existing)["app-r-repartition"] == 2
    with pytest.raises(
        TopologyError, match="app-r-repartition has 2 partitions, the topology asks for 4"
    ):
        partition_counts(rekeys(4), "app", existing)


def test_a_chain_of_repartition_topics_is_followed() -> None:
    chain = topology(lambda b: b.stream("in").repartition(name="z").repartition(name="a").to("out"))
    assert partition_counts(chain, "app", {"in": 3}) == {
        "in": 3,
        "app-z-repartition": 3,
        "app-a-repartition": 3,
    }


def test_joined_topics_need_equal_counts() -> None:
    with pytest.raises(TopologyError) as refused:
        partition_counts(topology(join), "app", {"left": 4, "right": 2})
    assert str(refused.value) == (
        "topics that are joined need equal partition counts, these have {'left': 4, 'right': 2}: "
        "repartition one of the streams, or create the topics again"
    )


def test_a_repartition_topic_gets_the_count_of_what_it_is_joined_with() -> None:
    counts = partition_counts(topology(repartitioned(None)), "app", {"left": 8, "right": 2})
    assert counts["app-mine-repartition"] == 2


def test_an_enforced_count_must_be_that_of_what_it_is_joined_with() -> None:
    assert (
        partition_counts(topology(repartitioned(2)), "app", {"left": 8, "right": 2})[
            "app-mine-repartition"
        ]
        == 2
    )
    with pytest.raises(
        TopologyError, match=r"these have \{'app-mine-repartition': 3, 'right': 2\}"
    ):
        partition_counts(topology(repartitioned(3)), "app", {"left": 8, "right": 2})


@pytest.mark.parametrize(("left", "right", "wanted"), [(None, None, 7), (3, None, 3), (3, 3, 3)])
def test_repartition_topics_alone_have_the_enforced_count_or_the_largest(
    left: int | None, right: int | None, wanted: int
) -> None:
    calls = topology(
        lambda b: (
            b.stream("left")
            .repartition(name="l", partitions=left)
            .join(b.stream("right").repartition(name="r", partitions=right).to_table(), both)
        )
    )
    counts = partition_counts(calls, "app", {"left": 7, "right": 2})
    assert (counts["app-l-repartition"], counts["app-r-repartition"]) == (wanted, wanted)


def test_two_enforced_counts_must_agree() -> None:
    calls = topology(
        lambda b: (
            b.stream("left")
            .repartition(name="l", partitions=3)
            .join(b.stream("right").repartition(name="r", partitions=4).to_table(), both)
        )
    )
    with pytest.raises(TopologyError, match=r"'app-l-repartition': 3, 'app-r-repartition': 4"):
        partition_counts(calls, "app", {"left": 7, "right": 2})


def test_groups_are_closed_by_the_topics_they_share() -> None:
    calls = topology(
        lambda b: (
            middle := b.stream("b"),
            middle.join(b.table("a"), both).to("out"),
            middle.join(b.table("c"), both).to("out"),
        )
    )
    with pytest.raises(TopologyError, match=r"\{'a': 1, 'b': 1, 'c': 2\}"):
        partition_counts(calls, "app", {"a": 1, "b": 1, "c": 2})


def test_foreign_key_and_global_joins_need_no_equal_counts() -> None:
    calls = topology(
        lambda b: (
            b.table("left").join(b.table("right"), both, foreign_key=lambda value: value),
            b.stream("in").join(b.global_table("g"), both, on=lambda key, _value: key).to("out"),
        )
    )
    assert partition_counts(calls, "app", {"left": 4, "right": 3, "in": 5, "g": 2})["left"] == 4


def test_a_source_topic_that_does_not_exist_is_named() -> None:
    with pytest.raises(TopologyError) as refused:
        partition_counts(topology(join), "app", {"left": 4})
    assert str(refused.value) == (
        "source topic right does not exist: create it before the topology is started"
    )
