"""The facts that tasks are made from."""

from __future__ import annotations

from datetime import timedelta

from millstream.streams import OffsetReset, StreamsBuilder, StreamsConfig
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.serdes import string


def test_topics_of_a_pattern_begin_where_their_source_says() -> None:
    builder = StreamsBuilder()
    hour = timedelta(hours=1)
    named = builder.stream("named", key=string(), value=string(), reset=OffsetReset.LATEST)
    matched = builder.stream(pattern="a.*", key=string(), value=string(), reset=hour)
    named.merge(matched).to("out", key=string(), value=string())
    spec = TaskSpec(
        topology=builder.build(),
        sub_topology=0,
        config=StreamsConfig("app"),
        state_directory="",
        topics=("abc", "named"),
    )
    resets = {topic: spec.reset_of(topic) for topic in ("abc", "named", "ba")}
    assert resets == {"abc": hour, "named": OffsetReset.LATEST, "ba": OffsetReset.EARLIEST}
    assert spec.sources == ("abc", "named")


def test_without_topics_of_its_own_a_task_reads_all_that_are_named() -> None:
    builder = StreamsBuilder()
    builder.stream(["a", "b"], key=string(), value=string()).to("out")
    spec = TaskSpec(
        topology=builder.build(), sub_topology=0, config=StreamsConfig("app"), state_directory=""
    )
    assert spec.sources == ("a", "b")
