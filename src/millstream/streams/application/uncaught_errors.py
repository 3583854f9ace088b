"""The answers of an application to a stream thread that has failed for good. Pure."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class OnUncaughtError(StrEnum):
    """The answers to a failed stream thread (StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse)."""

    REPLACE_THREAD = "REPLACE_THREAD"
    SHUTDOWN_CLIENT = "SHUTDOWN_CLIENT"
    SHUTDOWN_APPLICATION = "SHUTDOWN_APPLICATION"


UncaughtErrorHandler = Callable[[Exception], OnUncaughtError]


def shut_down_client(_error: Exception) -> OnUncaughtError:
    """Ends this instance, as ERROR. The handler of an application that has none of its own."""
    return OnUncaughtError.SHUTDOWN_CLIENT
