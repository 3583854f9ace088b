"""The application as functions in the process of a stream thread see it: an object that they hold is replaced
by what can ask for its end.

An application is never sent to another process. In its place there comes one of these, bound to the
process that it is unpickled in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from millstream.clients.core.illegal_state import IllegalState

_REQUEST_CLOSE: Final = ContextVar[Callable[[], None]]("request_close")


@contextmanager
def asking_with(request_close: Callable[[], None]) -> Iterator[None]:
    """Binds the applications that are unpickled meanwhile to what asks for the end. It may be called in any thread."""
    token = _REQUEST_CLOSE.set(request_close)
    try:
        yield
    finally:
        _REQUEST_CLOSE.reset(token)


class OuterApplication:
    """Stands for a `KafkaStreams`. Raises IllegalState where it is unpickled by others than its stream threads."""

    def __init__(self, application_id: str) -> None:
        request_close = _REQUEST_CLOSE.get(None)
        if request_close is None:
            raise IllegalState(
                f"application {application_id} is not one of this process: only its own stream threads can be sent to others"
            )
        self._application_id = application_id
        self._request_close = request_close

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._application_id}>"

    def request_close(self) -> None:
        """Has the application end soon, and returns at once. Idempotent."""
        self._request_close()


class OuterBlockingApplication(OuterApplication):
    """Stands for a blocking `KafkaStreams`."""

    def close(self, timeout_s: float | None = None) -> bool:
        """Asks for the end and returns False at once, as in each function that the application calls."""
        if timeout_s is not None and timeout_s < 0:
            raise ValueError(f"close: timeout_s must not be negative, but is {timeout_s}")
        self.request_close()
        return False
