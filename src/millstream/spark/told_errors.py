"""Errors of the format as Spark tells them: in one line, without the traceback of the worker that raised them.

Spark puts all that a worker prints of an exception into its message, some thirty lines around one sentence. Other
exceptions keep their traceback, and so do ours while the logger of this module is at DEBUG.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from millstream.errors import MillstreamError

_P = ParamSpec("_P")
_Result = TypeVar("_Result")

_LOGGER: Final = logging.getLogger(__name__)
_HIDE: Final = "SPARK_HIDE_TRACEBACK"
"""Spark sets it in workers for spark.sql.execution.pyspark.udf.hideTraceback.enabled, and they look
when they tell an exception."""
_OF_WORKERS: Final = "PYTHON_WORKER_FACTORY_"
"""Variables that Spark gives its workers begin so. Such a process ends with the exception,
so that nothing else is hidden."""


def in_one_line(function: Callable[_P, _Result]) -> Callable[_P, _Result]:
    """Has errors of ours that a method raises, which Spark calls in a worker, told in one line."""

    @wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _Result:
        with _told_in_one_line():
            return function(*args, **kwargs)

    return called


def rows_in_one_line(
    function: Callable[_P, Iterator[_Result]],
) -> Callable[_P, Iterator[_Result]]:
    """Does the same for a method whose rows Spark asks for one after the other."""

    @wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> Iterator[_Result]:
        with _told_in_one_line():
            yield from function(*args, **kwargs)

    return called


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    try:
        yield
    except MillstreamError:
        is_worker = any(name.startswith(_OF_WORKERS) for name in os.environ)
        if is_worker and not _LOGGER.isEnabledFor(logging.DEBUG):
            os.environ[_HIDE] = "1"
        raise


_ERROR_LINE: Final = re.compile(r"(?P<module>(?:[a-z_]\w*\.)*)[A-Z]\w+(?:: |$)")
_NO_ERRORS: Final = ("Traceback", "SQLSTATE")
_OURS: Final = "millstream."
_OURS_AFTER_SPARKS: Final = re.compile(r"\[[A-Z_]+\] .*?: (millstream\.(?:\w+\.)*[A-Z]\w+: .*)")
_NO_MORE: Final = re.compile(r"\s+at [\w.$]+\(|=== Streaming Query ===")
"""A frame of the JVM, or Spark's description of the query."""
_CALL_OF_THE_JVM: Final = "An error occurred while calling "
"""What py4j writes above an error of the JVM."""


def cause(text: str) -> str:
    """`module.Error: what to do`: our own last word where we had one, else the last error of the Python traceback.

    Kernel and clients chain their errors, `ZeroDivisionError` and then the one that says at which node and offset; the
    last one knows most. What follows the first frame of the JVM repeats it, or describes the query.
    """
    lines = [_last_part(line.strip(": ")) for line in _of_the_error(text) if line.strip()]
    errors = [
        (match["module"], line)
        for line in lines
        if (match := _ERROR_LINE.match(line)) and not line.startswith(_NO_ERRORS)
    ]
    ours = [line for module, line in errors if module.startswith(_OURS)]
    python = [line for module, line in errors if not module.startswith(("org.", "java."))]
    return (ours or python or lines or ["no reason given"])[-1 if ours or python else 0]


def _last_part(line: str) -> str:
    """A line in which Spark's own words stand before our error, which it was told without a traceback."""
    found = _OURS_AFTER_SPARKS.match(line) if line.startswith("[") else None
    return line if found is None else found[1]


def _of_the_error(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.startswith(_CALL_OF_THE_JVM)]
    end = next((i for i, line in enumerate(lines) if _NO_MORE.match(line)), len(lines))
    return lines[:end]
