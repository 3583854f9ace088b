"""A new version of a topology on Spark goes on where the one before was, or says why it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.errors import ConfigError
from millstream.spark import Progress, RunnerOptions, SparkStreams
from millstream.streams import Materialized, StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import long, string

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


class Versions:
    """Words are counted; later versions also copy another topic, which is read before."""

    def __init__(self, spark: Any, topics: Any, directory: Path, store: str | None) -> None:
        self.spark, self.topics, self.directory, self.store = spark, topics, directory, store
        self.words, self.other = topics.new("words", 2), topics.new("other", 2)
        self.counts, self.copies = topics.new("counts"), topics.new("copies")
        self.application_id = f"app-{self.words}"
        self.restored = 0

    def put(self, *words: str) -> None:
        self.topics.put(self.words, [{"key": word.encode(), "value": b""} for word in words])

    def application(self, *, has_other: bool) -> SparkStreams:
        builder = StreamsBuilder()
        if has_other:
            builder.stream(self.other, key=string(), value=string()).to(self.copies)
        words = builder.stream(self.words, key=string(), value=string()).group_by_key()
        named = None if self.store is None else Materialized(self.store)
        words.count(materialized=named).to_stream().to(self.counts, value=long())
        options = RunnerOptions(
            bootstrap_servers=self.topics.bootstrap_servers, directory=str(self.directory)
        )
        config = StreamsConfig(self.application_id)
        return SparkStreams(builder.build(), config, self.spark, options)

    def run(self, *, has_other: bool) -> None:
        with self.application(has_other=has_other) as application:
            application.run_available(self.note)

    def note(self, progress: Progress) -> None:
        self.restored += progress.restored_records

    def counted(self) -> list[tuple[str, int]]:
        rows = self.topics.get(self.counts)
        return sorted((row["key"].decode(), int.from_bytes(row["value"], "big")) for row in rows)


def test_nothing_is_restored_when_a_stream_is_added_in_front(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    versions = Versions(spark, topics, tmp_path / "application", "counts")
    versions.put("a", "b", "c", "a")
    versions.run(has_other=False)
    topics.put(versions.other, [{"value": b"x"}])
    versions.put("a", "b")
    versions.run(has_other=True)
    assert versions.restored == 0
    assert versions.counted() == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("c", 1)]
    assert [row["value"] for row in topics.get(versions.copies)] == [b"x"]


def test_a_store_whose_generated_name_has_shifted_is_named_and_nothing_is_created(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    versions = Versions(spark, topics, tmp_path / "application", None)
    versions.put("a")
    versions.run(has_other=False)
    old = "KSTREAM-AGGREGATE-STATE-STORE-0000000001"
    with pytest.raises(ConfigError, match=rf"its name of before, {old} \("):
        versions.application(has_other=True)
    versions.store = old
    versions.put("a")
    versions.run(has_other=True)
    assert versions.counted() == [("a", 1), ("a", 2)]
