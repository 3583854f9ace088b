"""Topics of a pattern, and partitions of a source, that come before an application starts and while it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from millstream.spark import PipelineFailed, RunnerOptions, SparkStreams
from millstream.streams import OffsetReset, StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import long, string
from millstream.streams.topology import Topology
from tests.patience import LONG_ENOUGH_S, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1000)]


def application(spark: Any, topics: Any, topology: Topology, directory: Path) -> SparkStreams:
    options = RunnerOptions(
        bootstrap_servers=topics.bootstrap_servers,
        directory=str(directory),
        discovery_interval_ms=200,
    )
    return SparkStreams(
        topology, StreamsConfig(application_id=f"app-{directory.name}"), spark, options
    )


def counted(pattern: str, out: str) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream(pattern=pattern, key=string(), value=string())
    stream.group_by_key().count().to_stream().to(out, value=long())
    return builder.build()


def copied(*sources: str, out: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(sources, key=string(), value=string(), reset=OffsetReset.EARLIEST).to(out)
    return builder.build()


def all_of(pattern: str, out: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(pattern=pattern, key=string(), value=string()).to(out)
    return builder.build()


def counts(topics: Any, out: str) -> dict[bytes, int]:
    return {r["key"]: int.from_bytes(r["value"], "big") for r in topics.get(out)}


def test_a_pattern_takes_up_topics_that_come(spark: Any, topics: Any, tmp_path: Path) -> None:
    stem = f"pattern-{os.getpid()}"
    out = topics.new("counts", 2)
    with application(spark, topics, counted(f"{stem}-.*", out), tmp_path) as running:
        assert [each.tasks for each in running.plan.sub_topologies] == [0]
        running.run_available()
        topics.create(f"{stem}-b", 2)
        topics.put(f"{stem}-b", [{"key": b"k", "value": b"1"}])
        running.run_available()
        assert counts(topics, out) == {b"k": 1}

        running.start()
        topics.create(f"{stem}-a", 2)  # before the other one in the order of names
        topics.put(f"{stem}-a", [{"key": b"k", "value": b"2"}, {"key": b"l", "value": b"3"}])
        wait_until(lambda: counts(topics, out) == {b"k": 2, b"l": 1})
        assert [each.sources for each in running.plan.sub_topologies] == [
            (f"{stem}-a", f"{stem}-b")
        ]
    with application(spark, topics, counted(f"{stem}-.*", out), tmp_path) as again:
        topics.put(f"{stem}-b", [{"key": b"l", "value": b"4"}])
        again.run_available()
    assert counts(topics, out) == {b"k": 2, b"l": 2}


def test_new_partitions_of_a_stateless_source_are_read_from_their_start(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source, wider, out = topics.new("in"), topics.new("in", 2), topics.new("out")
    topics.put(source, [{"value": b"0"}])
    topics.put(wider, [{"value": b"w", "partition": 1}])
    with application(spark, topics, copied(source, wider, out=out), tmp_path) as running:
        running.start()
        wait_until(lambda: len(topics.get(out)) == 2)
        topics.admin(lambda admin: admin.create_partitions({source: 3}))
        topics.put(source, [{"value": b"%d" % p, "partition": p} for p in (1, 2, 0)])
        wait_until(lambda: len(topics.get(out)) == 5)
        topics.put(source, [{"value": b"3", "partition": 2}])
        wait_until(lambda: len(topics.get(out)) == 6)
    found = sorted(record["value"] for record in topics.get(out))
    assert found == [b"0", b"0", b"1", b"2", b"3", b"w"]


def test_a_pattern_goes_on_without_a_topic_that_is_deleted(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    stem = f"deleted-{os.getpid()}"
    out = topics.new("out")
    for letter in "ab":
        topics.create(f"{stem}-{letter}")
        topics.put(f"{stem}-{letter}", [{"value": letter.encode()}])
    with application(spark, topics, all_of(f"{stem}-.*", out), tmp_path) as running:
        running.start()
        wait_until(lambda: len(topics.get(out)) == 2)
        topics.admin(lambda admin: admin.delete_topics([f"{stem}-a"]))
        topics.put(f"{stem}-b", [{"value": b"c"}])
        wait_until(lambda: len(topics.get(out)) == 3)
        wait_until(lambda: running.plan.sub_topologies[0].sources == (f"{stem}-b",))
        topics.put(f"{stem}-b", [{"value": b"d"}])
        wait_until(lambda: len(topics.get(out)) == 4)


def test_new_partitions_of_a_source_with_state_end_the_application(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source = topics.new("in")
    running = application(spark, topics, counted(source, topics.new("out")), tmp_path)
    running.start()
    topics.admin(lambda admin: admin.create_partitions({source: 2}))
    with pytest.raises(
        PipelineFailed, match="has 1 partition, the topology needs 2: a source topic"
    ):
        running.await_termination(LONG_ENOUGH_S)
    running.close()
