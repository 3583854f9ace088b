"""`processing_guarantee`: what it may be, and what it changes in the test driver."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.streams import ProcessorContext, Record, StreamsBuilder
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.errors import ProcessingError
from millstream.streams.serdes import string
from millstream.testing import TopologyTestDriver


def test_it_is_the_runners_or_a_name() -> None:
    assert StreamsConfig("app").processing_guarantee is None
    assert StreamsConfig("app").as_settings()["processing.guarantee"] == "at_least_once"
    config = StreamsConfig("app", processing_guarantee="exactly_once_v2")
    assert config.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2
    assert config.as_settings()["processing.guarantee"] == "exactly_once_v2"


@pytest.mark.parametrize("given", ["exactly_once", "exactly_once_beta"])
def test_names_that_kafka_has_removed_are_told_of_the_new_one(given: str) -> None:
    sentence = f"must be at_least_once or exactly_once_v2, not '{given}'; .*write exactly_once_v2"
    with pytest.raises(ConfigError, match=sentence):
        StreamsConfig("app", processing_guarantee=given)


@pytest.mark.parametrize("given", ["AT_LEAST_ONCE", "", 2])
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match=r"must be at_least_once or exactly_once_v2, not [^;]*$"):
        StreamsConfig("app", processing_guarantee=given)  # type: ignore[arg-type]  # that is the point


class FailsOnBad:
    def init(self, context: ProcessorContext) -> None:
        self.context = context

    def process(self, record: Record) -> None:
        self.context.forward(record.with_value(f"1{record.value}"))
        if record.value == "bad":
            raise ValueError(record.value)
        self.context.forward(record.with_value(f"2{record.value}"))


@pytest.mark.parametrize(
    ("guarantee", "seen"),
    [
        ("at_least_once", ["1bad", "1good", "2good"]),
        ("exactly_once_v2", ["1good", "2good"]),
    ],
)
def test_what_a_failed_record_had_sent_is_seen_as_in_kafkas_driver(
    guarantee: str, seen: list[str]
) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=string(), value=string()).process(FailsOnBad).to(
        "out", key=string(), value=string()
    )
    config = StreamsConfig("app", processing_guarantee=guarantee)
    with TopologyTestDriver(builder.build(), config) as driver:
        given = driver.input_topic("in", key=string(), value=string())
        out = driver.output_topic("out", key=string(), value=string())
        with pytest.raises(ProcessingError):
            given.pipe("k", "bad")
        assert out.read_values() == []
        given.pipe("k", "good")
        assert out.read_values() == seen
