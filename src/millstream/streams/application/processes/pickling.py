"""Takes what an application is made of, its answers and its errors from process to process."""

from __future__ import annotations

import pickle

import cloudpickle  # type: ignore[import-untyped]  # it has no types

from millstream.errors import ConfigError, MillstreamError


class ThreadProcessFailed(MillstreamError):
    """The process of a stream thread has ended, or an error in it could not be sent as it was."""


def pickled(value: object) -> bytes:
    """Returns a value with the functions and classes that it needs. Raises what they raise."""
    return bytes(cloudpickle.dumps(value))


def unpickled(data: bytes) -> object:
    """Returns what `pickled` was given."""
    value: object = pickle.loads(data)  # noqa: S301  # the other end is our own process
    return value


def pickled_application(value: object) -> bytes:
    """Raises ConfigError where an application holds what cannot be sent to another process."""
    try:
        return pickled(value)
    except Exception as error:
        raise ConfigError(
            f"the application cannot be sent to the processes of its stream threads: {error}. Functions, serdes, settings and client "
            "suppliers must not hold what belongs to one process, as connections, locks and open files do: make these where they "
            "are used, or leave use_processes at False"
        ) from error


def pickled_error(error: BaseException) -> bytes:
    """Returns an error; one that does not survive the way is replaced by its text."""
    try:
        data = pickled(error)
        unpickled(data)
    except Exception:  # noqa: BLE001  # whatever an exception of one's own does when it is copied
        return pickled(ThreadProcessFailed(f"{type(error).__name__}: {error}"))
    return data


def unpickled_error(data: bytes) -> Exception:
    """Returns what `pickled_error` was given."""
    try:
        error = unpickled(data)
    except Exception as failure:  # noqa: BLE001  # a class that is not here, for example
        return ThreadProcessFailed(f"the error of the thread cannot be read here: {failure}")
    return error if isinstance(error, Exception) else ThreadProcessFailed(repr(error))
