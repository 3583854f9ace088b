"""MockProcessorContext, used as a test of a processor uses it (KIP-267)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.errors import ConfigError
from millstream.streams import (
    ContextualProcessor,
    ProcessorContext,
    PunctuationType,
    Record,
    RecordContext,
    StreamsConfig,
)
from millstream.streams.errors import InvalidStoreError, StreamsError
from millstream.streams.metrics import MetricName
from millstream.streams.serdes import long, string
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing import CapturedForward, MockProcessorContext

COUNTS = StoreSpec("counts", StoreKind.KEY_VALUE, key=string(), value=long())
SECOND = timedelta(seconds=1)


class WordCount(ContextualProcessor):
    """Counts words, and sends the counts every second of stream time."""

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self._counts = context.store("counts")
        self._schedule = context.schedule(SECOND, PunctuationType.STREAM_TIME, self._send)

    def process(self, record: Record) -> None:
        for word in record.value.split():
            self._counts.put(word, (self._counts.get(word) or 0) + 1)
        self.context.commit()

    def _send(self, time_ms: int) -> None:
        for word, count in self._counts.all():
            self.context.forward(Record(word, count, time_ms), "big" if count > 1 else None)


def test_a_processor_is_tested_with_a_store_and_a_punctuation_fired_by_hand() -> None:
    with MockProcessorContext() as context:
        context.add_store(COUNTS)
        processor = WordCount()
        processor.init(context)
        processor.process(Record("line", "to be or not to be", 5))
        assert context.store("counts").get("be") == 2
        assert context.committed
        assert context.forwarded() == []

        (punctuator,) = context.scheduled_punctuators
        assert (punctuator.interval, punctuator.start_ms) == (SECOND, None)
        assert punctuator.kind is PunctuationType.STREAM_TIME
        punctuator.fire(1_000)
        assert context.forwarded() == [
            CapturedForward(Record("be", 2, 1_000), "big"),
            CapturedForward(Record("not", 1, 1_000)),
            CapturedForward(Record("or", 1, 1_000)),
            CapturedForward(Record("to", 2, 1_000), "big"),
        ]


def test_a_child_gets_what_is_sent_to_it_and_to_all() -> None:
    context = MockProcessorContext()
    for number, child in enumerate((None, "a", "b")):
        context.forward(Record("k", number, 0), child)
    assert [each.record.value for each in context.forwarded("a")] == [0, 1]
    assert [each.record.value for each in context.forwarded("c")] == [0]
    context.reset_forwards()
    assert context.forwarded() == []


def test_forwards_keep_headers() -> None:
    context = MockProcessorContext()
    context.forward(Record("k", "v", 3, (("h", b"1"),)))
    assert context.forwarded()[0].record.headers == (("h", b"1"),)


def test_commit_is_remembered_until_it_is_reset() -> None:
    context = MockProcessorContext()
    assert not context.committed
    context.commit()
    assert context.committed
    context.reset_commit()
    assert not context.committed


def test_metadata_and_times_are_what_the_test_sets() -> None:
    context = MockProcessorContext()
    assert context.record_metadata() is None
    with pytest.raises(StreamsError, match="set_current_stream_time_ms"):
        context.current_stream_time_ms()
    with pytest.raises(StreamsError, match="set_current_system_time_ms"):
        context.current_system_time_ms()
    context.set_record_metadata("in", 1, 2, timestamp=7)
    context.set_current_stream_time_ms(5)
    context.set_current_system_time_ms(6)
    assert context.record_metadata() == RecordContext("in", 1, 2, 7)
    assert (context.current_stream_time_ms(), context.current_system_time_ms()) == (5, 6)


def test_settings_serdes_and_directory() -> None:
    config = StreamsConfig("app", string(), settings={"mine.depth": 3})
    context = MockProcessorContext(config, task_id="1_2", state_dir="/somewhere")
    assert (context.application_id, context.task_id) == ("app", "1_2")
    assert context.key_serde is string()
    assert context.app_configs()["application.id"] == "app"
    assert context.app_configs_with_prefix("mine.") == {"depth": 3}
    assert context.state_dir == "/somewhere"
    with pytest.raises(ConfigError, match="default_value"):
        _ = context.value_serde
    with pytest.raises(StreamsError, match="state_dir"):
        _ = MockProcessorContext().state_dir


def test_metrics_of_the_processor_can_be_read() -> None:
    context = MockProcessorContext()
    context.set_current_system_time_ms(0)
    context.metrics.add_rate_total_sensor("mine", "it", "seen").record()
    tags = (("mine-id", "it"), ("task-id", "0_0"))
    assert context.metrics.metrics()[MetricName("stream-mine-metrics", "seen-total", tags)] == 1


def test_a_cancelled_punctuation_cannot_be_fired() -> None:
    context = MockProcessorContext()
    context.schedule(SECOND, PunctuationType.WALL_CLOCK_TIME, print, start_ms=3).cancel()
    (punctuator,) = context.scheduled_punctuators
    assert (punctuator.cancelled, punctuator.start_ms) == (True, 3)
    with pytest.raises(StreamsError, match="cancelled"):
        punctuator.fire(1)


@pytest.mark.parametrize(("interval", "start_ms"), [(timedelta(0), None), (SECOND, -1)])
def test_schedules_that_a_task_refuses_are_refused(
    interval: timedelta, start_ms: int | None
) -> None:
    with pytest.raises(ValueError, match="schedules"):
        MockProcessorContext().schedule(
            interval, PunctuationType.STREAM_TIME, print, start_ms=start_ms
        )


def test_a_store_that_was_not_added_is_refused_by_name() -> None:
    with pytest.raises(InvalidStoreError, match="add_store\\(StoreSpec\\('counts'"):
        MockProcessorContext().store("counts")


def test_anything_may_stand_for_a_store() -> None:
    context = MockProcessorContext()
    context.add_state_store("counts", {"a": 1})
    assert context.store("counts")["a"] == 1
