"""A failure is one sentence; its details are there for whoever looks for them."""

from __future__ import annotations

import logging
import pickle
import traceback

import pytest

from millstream.streams import StreamsBuilder
from millstream.streams.errors import ProcessingError
from millstream.streams.failure_reports import keep_place, log_failure, without_causes
from millstream.streams.serdes import string
from millstream.testing import TopologyTestDriver

LOGGER = logging.getLogger("millstream.tests")


def half(value: str) -> str:
    return str(1 // (len(value) - 1))


def failure() -> ProcessingError:
    builder = StreamsBuilder()
    words = builder.stream("words", key=string(), value=string())
    words.map_values(half).to("halves", value=string())
    with TopologyTestDriver(builder.build()) as driver:
        topic = driver.input_topic("words", key=string(), value=string())
        with pytest.raises(ProcessingError) as raised:
            topic.pipe("k", "x")
    return raised.value


def test_the_log_has_the_sentence_and_the_line_of_the_function_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = failure()
    with caplog.at_level(logging.INFO):
        log_failure(LOGGER, "stream-thread [a] has failed", error)
    line = half.__code__.co_firstlineno + 1
    assert caplog.messages == [
        f"stream-thread [a] has failed: ProcessingError: {error} (raised in half, {__file__}:{line})"
    ]
    assert caplog.records[0].exc_info is None


def test_the_traceback_is_in_the_log_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        log_failure(LOGGER, "stream-thread [a] has failed", failure())
    assert "ZeroDivisionError: " in caplog.text.rsplit("DEBUG", 1)[1]


def test_the_line_comes_along_from_another_process(caplog: pytest.LogCaptureFixture) -> None:
    error = failure()
    keep_place(error)
    log_failure(LOGGER, "failed", pickle.loads(pickle.dumps(error)))
    assert "(raised in half, " in caplog.messages[0]


def test_what_is_raised_to_the_program_has_the_sentence_and_no_other_traceback() -> None:
    error = failure()
    with pytest.raises(ProcessingError) as raised:
        raise without_causes(error)
    shown = "".join(traceback.format_exception(raised.value))
    assert (shown.count("Traceback"), str(raised.value)) == (1, str(error))
    assert isinstance(error.__cause__, ZeroDivisionError), (
        "who has the error itself finds its cause"
    )


def test_a_mistake_without_a_sentence_keeps_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    error = ZeroDivisionError("division by zero")
    log_failure(LOGGER, "failed", error)
    assert caplog.records[0].exc_info is not None
    assert without_causes(error) is error


@pytest.mark.timeout(20)
def test_causes_that_come_round_again_are_followed_once(caplog: pytest.LogCaptureFixture) -> None:
    """A program may say `raise error from error`."""
    itself, first, second = (ProcessingError(name) for name in ("itself", "first", "second"))
    itself.__cause__ = itself
    first.__cause__, second.__cause__ = second, first
    for error in (itself, first):
        log_failure(LOGGER, "failed", error)
    assert caplog.messages == ["failed: ProcessingError: itself", "failed: ProcessingError: first"]
