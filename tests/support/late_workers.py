"""Spark gives the Python process that plans the reads of a stream ten seconds to start, and a busy machine may need more.

`MicroBatchRunner.run_available` starts again by itself; who starts a query by hand has to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")
_STARTS_MAX = 30
_WORKER_IS_LATE = "Python worker failed to connect back"


def is_worth_another_start(text: str) -> bool:
    """Whether a query has failed with nothing else than that."""
    return _WORKER_IS_LATE in text


def started(start: Callable[[], Result]) -> Result:
    """`start` starts a query and waits for its first work; it is called again while the process comes too late."""
    for starts_left in reversed(range(_STARTS_MAX)):
        try:
            return start()
        except Exception as error:
            if not (starts_left and is_worth_another_start(str(error))):
                raise
    raise AssertionError("the last start returns or raises")
