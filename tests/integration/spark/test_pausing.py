"""An application that is paused from another process, and one that is paused before it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.spark import Progress, RunnerOptions, SparkStreams
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.runtime.reset import pause_topic
from millstream.streams.serdes import string
from tests.patience import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def application(spark: Any, topics: Any, source: str, out: str, directory: Path) -> SparkStreams:
    builder = StreamsBuilder()
    builder.stream(source, key=string(), value=string()).to(out)
    options = RunnerOptions(
        bootstrap_servers=topics.bootstrap_servers, directory=str(directory / "application")
    )
    return SparkStreams(builder.build(), StreamsConfig(f"app-{source}"), spark, options)


def test_an_application_that_is_paused_elsewhere_does_nothing_until_it_is_resumed(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source, out = topics.new("in"), topics.new("out")
    marker = pause_topic(f"app-{source}")
    read: list[tuple[int, bool]] = []
    is_resumed = False

    def note(progress: Progress) -> None:
        if progress.input_records:
            read.append((progress.input_records, is_resumed))

    with application(spark, topics, source, out, tmp_path) as running:
        running.on_progress(note)
        running.start()
        topics.put(source, [{"value": b"before"}])
        wait_until(lambda: len(topics.get(out)) == 1)
        topics.create(marker)
        wait_until(lambda: running.is_paused)
        other = application(spark, topics, source, out, tmp_path)
        with other, pytest.raises(IllegalState, match="is paused: `millstream pipeline resume`"):
            other.run_available()
        topics.put(source, [{"value": b"meanwhile"}])
        is_resumed = True
        topics.admin(lambda admin: admin.delete_topics([marker]))
        wait_until(lambda: len(topics.get(out)) == 2)
        assert not running.is_paused
    assert read == [(1, False), (1, True)]
