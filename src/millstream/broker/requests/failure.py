"""Makes the responses to requests that failed as a whole, for APIs whose response has an error at its top.

The other APIs say the error in every item that they were asked for: their handler module has a function `failed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.errors import KafkaError, ProtocolError
from millstream.protocol.api import ApiKey, Message, response_class

Request = Any  # Any: the generated class of one API key; no type joins a key to its classes
Failed = Callable[[Request, int, KafkaError], Message]
"""From a request, its version and the error."""


class NoAnswer(ProtocolError):
    """Raised when a request failed and its client wants no answer: its connection is closed instead."""


def error_at_the_top(key: ApiKey) -> Failed:
    """Builds the response of API `key` that has nothing but `error_code` and, where there is one, `error_message`."""

    def failed(_request: Message, _version: int, error: KafkaError) -> Message:
        response: Any = response_class(key)()  # Any: every class that comes here has an error_code
        response.error_code = error.code
        if hasattr(response, "error_message"):
            response.error_message = str(error)
        return response  # type: ignore[no-any-return]  # it is an instance of response_class(key)

    return failed
