"""Transformers of table values: their stores, their life, what they may not do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millstream.streams import PunctuationType, StreamsBuilder, StreamsConfig
from millstream.streams.errors import StreamsError
from millstream.streams.processor import ProcessorContext
from millstream.streams.serdes import string
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

CONFIG = StreamsConfig("app", default_key=string(), default_value=string())


class Upper:
    """Upper case, and a word for null; notes when it is closed."""

    closed = 0

    def transform(self, _key: str, value: str | None) -> str:
        return "none" if value is None else value.upper()

    def close(self) -> None:
        type(self).closed += 1


def test_a_transformer_is_called_for_null_and_closed_with_the_task() -> None:
    class Mine(Upper):
        closed = 0

    builder = StreamsBuilder()
    builder.table("in").transform_values(Mine).to_stream().to("out")
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        rows = driver.input_topic("in")
        rows.pipe("k", "a", at=1)
        rows.pipe("k", None, at=2)
        assert [each.value for each in driver.output_topic("out").read()] == ["A", "none"]
    assert Mine.closed == 1


def test_a_reader_of_a_table_without_a_store_has_a_transformer_of_its_own() -> None:
    class Mine(Upper):
        closed = 0

    builder = StreamsBuilder()
    table = builder.table("in").transform_values(Mine)
    builder.stream("lookups").join(table, lambda left, right: left + right).to("out")
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        driver.input_topic("in").pipe("k", "a", at=1)
        driver.input_topic("lookups").pipe("k", "x", at=2)
        assert [each.value for each in driver.output_topic("out").read()] == ["xA"]
    assert Mine.closed == 2


def test_a_transformer_cannot_schedule() -> None:
    class Scheduling(Upper):
        def init(self, context: ProcessorContext) -> None:
            context.schedule(timedelta(seconds=1), PunctuationType.STREAM_TIME, _ignore)

    builder = StreamsBuilder()
    builder.table("in").transform_values(Scheduling)
    with pytest.raises(StreamsError, match="cannot schedule"):
        TopologyTestDriver(builder.build(), CONFIG)


def _ignore(_time: int) -> Any:  # Any: a punctuation's result is not looked at
    return None
