"""Errors of the format in Spark's workers: one line of ours, and all there is of others."""

from __future__ import annotations

import inspect
import io
import logging
import os
from collections.abc import Iterator

import pytest
from pyspark.serializers import read_int
from pyspark.util import handle_worker_exception

from millstream.errors import ConfigError
from millstream.spark.source.stream_reader import StreamReader
from millstream.spark.told_errors import in_one_line, rows_in_one_line

HIDE = "SPARK_HIDE_TRACEBACK"


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those of a worker of Spark; and none is left behind."""
    monkeypatch.setenv("PYTHON_WORKER_FACTORY_SOCK_DIR", "/tmp")
    monkeypatch.delenv(HIDE, raising=False)
    yield
    os.environ.pop(HIDE, None)


class Reader:
    @in_one_line
    def plan(self, error: Exception | None) -> int:
        if error is not None:
            raise error from ValueError("the cause")
        return 7

    @rows_in_one_line
    def read(self, error: Exception) -> Iterator[int]:
        yield 1
        raise error


def told(error: Exception) -> str:
    """What a worker writes to Spark of an exception, behind its mark and its length."""
    out = io.BytesIO()
    try:
        Reader().plan(error)
    except Exception as raised:  # noqa: BLE001 - as a worker of Spark
        handle_worker_exception(raised, out)
    out.seek(0)
    read_int(out)
    return out.read()[4:].decode()


def test_an_error_of_ours_is_one_line() -> None:
    assert told(ConfigError("topic a is not there")) == (
        "millstream.errors.ConfigError: topic a is not there\n"
    )


def test_other_errors_keep_their_traceback() -> None:
    text = told(KeyError("x"))
    assert text.startswith("ValueError: the cause")
    assert "in plan" in text
    assert text.endswith("KeyError: 'x'\n")


def test_at_debug_ours_keep_it_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "millstream.spark.told_errors")
    assert "in plan" in told(ConfigError("topic a is not there"))


def test_rows_are_told_of_when_spark_asks_for_them() -> None:
    rows = Reader().read(ConfigError("no row"))
    assert next(rows) == 1
    assert HIDE not in os.environ
    with pytest.raises(ConfigError):
        next(rows)
    assert os.environ[HIDE] == "1"


def test_a_program_that_is_no_worker_keeps_its_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHON_WORKER_FACTORY_SOCK_DIR")
    for name in [name for name in os.environ if name.startswith("PYTHON_WORKER_FACTORY_")]:
        monkeypatch.delenv(name)
    with pytest.raises(ConfigError):
        Reader().plan(ConfigError("x"))
    assert HIDE not in os.environ
    assert Reader().plan(None) == 7


def test_spark_sees_the_signature_by_which_it_tells_the_kinds_of_sources_apart() -> None:
    assert list(inspect.signature(StreamReader.latestOffset).parameters) == [
        "self",
        "start",
        "limit",
    ]


@pytest.mark.parametrize(
    "name",
    ["initialOffset", "prepareForTriggerAvailableNow", "latestOffset", "partitions", "read"],
)
def test_a_stream_that_may_not_read_says_so_in_one_line_wherever_spark_asks_first(
    name: str,
) -> None:
    assert hasattr(getattr(StreamReader, name), "__wrapped__")
