"""An application that a function holds comes to the process of a stream thread as what can ask for its end."""

from __future__ import annotations

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.streams import StreamsBuilder, StreamsConfig, blocking
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.processes.outer_application import (
    OuterApplication,
    OuterBlockingApplication,
    asking_with,
)
from millstream.streams.application.processes.pickling import pickled, unpickled


@pytest.mark.parametrize(
    ("kind", "outer"),
    [(KafkaStreams, OuterApplication), (blocking.KafkaStreams, OuterBlockingApplication)],
)
def test_an_application_in_a_closure_asks_for_the_end_where_it_is_unpickled(
    kind: type[KafkaStreams | blocking.KafkaStreams], outer: type[OuterApplication]
) -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    app = kind(builder.build(), StreamsConfig("app"), {"bootstrap.servers": "x:1"})
    asked: list[str] = []
    with asking_with(lambda: asked.append("here")):
        held = unpickled(pickled(lambda: app))
    assert callable(held)
    there = held()
    assert type(there) is outer
    assert repr(there) == f"<{outer.__name__} app>"
    there.request_close()
    assert asked == ["here"]
    if isinstance(there, OuterBlockingApplication):
        assert there.close() is False
        assert there.close(timeout_s=5) is False
        assert asked == ["here"] * 3
        with pytest.raises(ValueError, match="must not be negative"):
            there.close(-1)
        assert isinstance(app, blocking.KafkaStreams)
        app.close()


def test_an_application_is_sent_to_no_other_process() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    app = KafkaStreams(builder.build(), StreamsConfig("app"), {"bootstrap.servers": "x:1"})
    data = pickled(app)
    with pytest.raises(IllegalState, match="only its own stream threads"):
        unpickled(data)
