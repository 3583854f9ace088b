"""Queries that are stopped because their streams have ended."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Any

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types

from millstream.spark.source.ended_queries import EndedQueries, have_all_ended
from millstream.spark.source.options import SourceOptions, parse_source_options

ENDED = json.dumps({"v": 1, "endOfStream": {"scope": "query", "ends": {"t": {"0": 5}}}})
IN_PART = json.dumps({"v": 1, "endOfStream": {"scope": "partition", "ends": {"t": {"0": 5}}}})
RUNNING = json.dumps({"v": 1, "offsets": {}})


@pytest.mark.parametrize("other", [RUNNING, IN_PART, None, "17", "[1]", "not JSON"])
def test_a_query_has_ended_when_all_its_sources_have(other: str | None) -> None:
    assert have_all_ended([ENDED, ENDED])
    assert not have_all_ended([ENDED, other])
    assert not have_all_ended([])


@dataclass
class Option:
    """Scala's."""

    value: str | None

    def isDefined(self) -> bool:  # noqa: N802 - Spark's name
        return self.value is not None

    def get(self) -> Option:
        return self

    def json(self) -> str | None:
        return self.value


@dataclass
class JavaQuery:
    """A query with a source for each document, as py4j has it."""

    documents: list[str | None]
    calls: list[str] = field(default_factory=list)
    error: Exception | None = None

    def id(self) -> str:
        return "the id"

    def streamingQuery(self) -> JavaQuery:  # noqa: N802 - Spark's name
        if self.error is not None:
            raise self.error
        return self

    def sources(self) -> JavaQuery:
        return self

    committedOffsets = sources  # noqa: N815 - Spark's name

    def size(self) -> int:
        return len(self.documents)

    def apply(self, number: int) -> int:
        return number

    def get(self, number: int) -> Option:
        return Option(self.documents[number])

    def stop(self) -> None:
        self.calls.append("stop")


def source(**more: str) -> SourceOptions:
    return parse_source_options({"bootstrap.servers": "b:1", "subscribe": "t"} | more)


ENDING = {"endOfStream": "os.path:isabs", "endOfStreamScope": "query"}


def told_of(query: Any, *sources: SourceOptions) -> EndedQueries:
    queries = EndedQueries()
    queries.add("run", query, sources)
    return queries


def test_an_idle_query_is_stopped_once_its_stream_has_ended() -> None:
    query = JavaQuery([None])
    queries = told_of(query, source(**ENDING))
    for document in (None, RUNNING):
        query.documents = [document]
        queries.stop_if_ended("run")
    assert query.calls == []
    query.documents = [ENDED]
    queries.stop_if_ended("another run")
    assert query.calls == []
    queries.stop_if_ended("run")
    assert query.calls == ["stop"]


def test_only_a_query_with_the_scope_query_is_asked() -> None:
    query = JavaQuery([ENDED])
    by_partition = ENDING | {"endOfStreamScope": "partition"}
    told_of(query, source(), source(**by_partition)).stop_if_ended("run")
    assert query.calls == []


def test_a_query_that_has_ended_is_forgotten() -> None:
    query = JavaQuery([ENDED])
    queries = told_of(query, source(**ENDING))
    queries.forget("run")
    queries.stop_if_ended("run")
    assert query.calls == []


def test_a_spark_that_keeps_offsets_elsewhere_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    query = JavaQuery([ENDED], error=Py4JError("no such method"))
    queries = told_of(query, source(**ENDING))
    with caplog.at_level(logging.WARNING):
        queries.stop_if_ended("run")
        queries.stop_if_ended("run")
    assert caplog.text.count("is not stopped at the end of its stream") == 1
