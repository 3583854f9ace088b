"""Errors of the format as Spark tells them: in one line, without the traceback of the worker that raised them.

Spark puts all that a worker prints of an exception into its message, some thirty lines around one sentence. Other
exceptions keep their traceback, and so do ours while the logger of this module is at DEBUG.
"""

from __future__ import annotations

import logging
import os
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
