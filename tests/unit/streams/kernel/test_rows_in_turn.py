"""Rows that go on in their turn: each is written when it goes on, whichever source its record came from."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.streams import (
    Materialized,
    SessionWindows,
    StreamsBuilder,
    StreamsConfig,
)
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import long, string
from millstream.streams.state import in_memory_stores


def session_task(*topics: str) -> StreamTask:
    """Sessions of two topics; records of one of these look the sessions up as well."""
    builder = StreamsBuilder()
    streams = {topic: builder.stream(topic) for topic in topics}
    grouped = streams["adds"].merge(streams["asks"]).group_by_key()
    sessions = grouped.windowed_by(
        SessionWindows.of(timedelta(milliseconds=10), grace=timedelta(seconds=1))
    ).count(materialized=Materialized("sessions", value=long()))
    streams["asks"].filter(lambda _key, _value: False).join(sessions, max).to("never")
    config = StreamsConfig("app", default_key=string(), default_value=string())
    return StreamTask(builder.build(), 0, 0, in_memory_stores(), config)


@pytest.mark.parametrize("topics", [("adds", "asks"), ("asks", "adds")])
def test_a_session_is_written_when_its_record_is_through_whichever_source_came_first(
    topics: tuple[str, str],
) -> None:
    task = session_task(*topics)
    for offset, at in enumerate((0, 8, 100)):
        task.add("adds", RawBatch([b"k"], [b"v"], [at], [offset]))
        task.process(0)
        rows = [(each.start_ms, each.end_ms, n) for each, n in task.stores["sessions"].fetch("k")]
        assert rows == [[(0, 0, 1)], [(0, 8, 2)], [(0, 8, 2), (100, 100, 1)]][offset]
