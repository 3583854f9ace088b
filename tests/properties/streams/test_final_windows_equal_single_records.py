"""Windows that are given out when they close close after the same record, however long the batches are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.streams import (
    EmitStrategy,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import long, session_windowed, string, time_windowed
from millstream.streams.state import in_memory_stores


def ms(count: int) -> timedelta:
    return timedelta(milliseconds=count)


@pytest.mark.parametrize("interval_ms", [0, 1000])
@pytest.mark.parametrize(
    "windows",
    [
        TimeWindows.tumbling(ms(10), grace=ms(5)),
        TimeWindows.hopping(ms(10), ms(4), grace=ms(3)),
        SlidingWindows.of(ms(10), grace=ms(5)),
        SessionWindows.of(ms(6), grace=ms(5)),
    ],
)
@settings(max_examples=25, deadline=None)
@given(
    records=st.lists(
        st.tuples(st.sampled_from([b"a", b"b", None]), st.integers(0, 120)), min_size=1, max_size=40
    )
)
def test_a_window_closes_after_the_same_record(windows, interval_ms: int, records) -> None:
    builder = StreamsBuilder()
    windowed = builder.stream("in").group_by_key().windowed_by(windows)
    table = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count()
    is_session = isinstance(windows, SessionWindows)
    key = session_windowed(string()) if is_session else time_windowed(string(), windows.size_ms)
    table.to_stream().to("out", key=key, value=long())
    topology = builder.build()
    keys, timestamps = (list(column) for column in zip(*records, strict=True))
    headers = [(("record", str(number).encode()),) for number in range(len(keys))]

    def run(batch_max: int):
        config = StreamsConfig(
            "app",
            default_key=string(),
            default_value=string(),
            batch_records_max=batch_max,
            window_emit_interval_ms=interval_ms,
        )
        task = StreamTask(topology, 0, 0, in_memory_stores(), config)
        task.add("in", RawBatch(keys, [b"v"] * len(keys), timestamps, range(len(keys)), headers))
        output = task.process(5_000)
        written = [
            (b.keys, b.values, b.timestamps, b.headers)
            for batches in (output.sinks, output.changelogs)
            for b in batches.values()
        ]
        return written, (task.dropped.total, task.dropped.take())

    one_by_one = run(1)
    assert run(7) == one_by_one
    assert run(1000) == one_by_one
