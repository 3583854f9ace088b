"""The names of tasks that outlive an upgrade."""

from __future__ import annotations

from dataclasses import replace

from millstream.streams import Materialized, StreamsBuilder, StreamsConfig
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.task_names import sub_topology_name, task_name, transactional_id
from millstream.streams.serdes import string
from millstream.streams.topology import Topology


def names(builder: StreamsBuilder | Topology, application_id: str = "app") -> list[str]:
    topology = builder if isinstance(builder, Topology) else builder.build()
    return [sub_topology_name(topology, group, application_id) for group in topology.sub_topologies]


def counting(builder: StreamsBuilder, topic: str, *, repartition: str | None = None) -> None:
    words = builder.stream(topic, key=string(), value=string())
    grouped = words.group_by(lambda _, word: word, key=string(), value=string(), name=repartition)
    grouped.count(materialized=Materialized(f"counts-of-{topic}"))


def test_a_stream_that_is_added_in_front_shifts_numbers_and_no_names() -> None:
    before, after = StreamsBuilder(), StreamsBuilder()
    counting(before, "words", repartition="by-word")
    after.stream("front", key=string(), value=string()).to("out")
    counting(after, "words", repartition="by-word")
    assert names(before) == ["words", "app-by-word-repartition"]
    assert names(after) == ["front", "words", "app-by-word-repartition"]


def test_the_first_topic_by_name_counts_however_sources_are_ordered() -> None:
    builder = StreamsBuilder()
    later = builder.stream(["orders", "returns"], key=string(), value=string())
    later.merge(builder.stream("cards", key=string(), value=string())).to("out")
    assert names(builder) == ["cards"]


def test_topics_of_the_user_go_before_internal_topics_and_patterns() -> None:
    builder = StreamsBuilder()
    words = builder.stream("words", key=string(), value=string()).repartition(name="a")
    words.merge(builder.stream("zoo", key=string(), value=string())).merge(
        builder.stream(pattern="b.*", key=string(), value=string())
    ).to("out")
    assert names(builder) == ["words", "zoo"]


def test_a_pattern_is_told_from_the_topic_that_is_called_like_it() -> None:
    builder = StreamsBuilder()
    builder.stream(pattern="eu[.].+/", key=string(), value=string()).to("out")
    (name,) = names(builder)
    assert name == "eu..~90005e184a708ae6"
    matched = builder.build().with_pattern_topics(["eu.a", "eu.b"])
    assert names(matched) == [name], "whatever it matches now"


def test_names_that_are_too_long_for_a_file_differ_nevertheless() -> None:
    builder = StreamsBuilder()
    for last in "ab":
        builder.stream("t" * 248 + last, key=string(), value=string()).to("out")
    first, second = names(builder)
    assert first != second
    assert first.startswith("t" * 183 + "~")
    assert len(first) == len(second) == 200


def test_applications_whose_ids_begin_alike_share_no_transactional_id() -> None:
    assert transactional_id("orders", "eu-words", 0) == "orders@eu-words_0"
    assert transactional_id("orders-eu", "words", 0) == "orders-eu@words_0"


def test_a_task_has_its_stores_in_a_directory_of_its_name() -> None:
    builder = StreamsBuilder()
    counting(builder, "words", repartition="by-word")
    spec = TaskSpec(
        topology=builder.build(),
        sub_topology=0,
        config=StreamsConfig("app"),
        state_directory="/state/app",
    )
    assert str(spec.stores_path(3)) == "/state/app/words_3"
    assert spec.transactional_id(3) == "app@words_3"
    assert spec.task_id(3) == "0_3", "what people see stays Kafka Streams' id"
    assert replace(spec, sub_topology=1).task_name(0) == task_name("app-by-word-repartition", 0)
